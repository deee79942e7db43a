import { join } from "node:path"
import { endingWithThisProcess, runToEnd } from "./child.ts"
import { PythonPackages } from "./python-packages.ts"
import { HANG_MS } from "./hang.ts"

/** Confluent's client for Python with its JSON Schema deserializer. */
const PACKAGES = new PythonPackages("confluent-kafka[json,schemaregistry]==2.15.0")

/** Whether `consumeJsonSchema` can work here. */
export const canConsumeJsonSchema = (): Promise<boolean> => PACKAGES.areHere()

/** Reads the first records of a topic in a group, and resolves with their values as the deserializer gives them. */
export async function consumeJsonSchema(settings: {
  readonly bootstrap: string
  readonly topic: string
  readonly count: number
  /** Configuration of Confluent's SchemaRegistryClient. */
  readonly registry: { readonly [key: string]: string }
}): Promise<readonly unknown[]> {
  const program = join(import.meta.dir, "json-schema-consumer.py")
  const command = endingWithThisProcess("python3", program, JSON.stringify(settings))
  const { status, stdout, stderr } = await runToEnd(command, { env: PACKAGES.env, timeout: HANG_MS })
  if (status !== 0) throw new Error(`the consumer ended with ${status}: ${stderr}`)
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown)
}
