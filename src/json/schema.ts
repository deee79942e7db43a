import { readFileSync } from "node:fs"
import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js"
import { HooklineError } from "../errors.ts"
import { boundedPattern } from "./bounded-pattern.ts"
import { findFlaw } from "./check.ts"
import { findDuplicateName } from "./duplicates.ts"
import { asBuffer, startOfText } from "./bytes.ts"

/** How a JSON text breaks a schema. */
export interface Mismatch {
  readonly rule: "schema_mismatch" | "duplicate_member"
  /** What can follow "The body ". */
  readonly problem: string
}

/** Says how a valid JSON text breaks the schema; undefined when it does not. */
export type FindMismatch = (json: Uint8Array) => Mismatch | undefined

/**
 * Reads and compiles a JSON Schema (2020-12). As that version has it, `format` asserts nothing and unknown keywords are
 * annotations. Nothing is fetched: a `$ref` has to resolve within the file. A pattern has to be one that can be matched in bounded time.
 *
 * @param path an absolute path
 * @param warn is told of keywords that are not known: they may be misspelled
 * @throws HooklineError `config`: the file can't be read or is not such a schema
 */
export function loadSchema(path: string, warn: (message: string) => void): FindMismatch {
  const conforms = compile(path, readSchema(path), warn)
  const mismatch = (problem: string): Mismatch => ({ rule: "schema_mismatch", problem })
  return (json) => {
    try {
      const parsed: unknown = JSON.parse(asBuffer(json.subarray(startOfText(json))).toString())
      const position = findDuplicateName(json, parsed)
      if (position !== undefined) {
        const problem = `has a duplicate member name at byte ${position}: what was checked may not be what is read`
        return { rule: "duplicate_member", problem }
      }
      if (conforms(parsed)) return undefined
    } catch (error) {
      // Schemas that refer to themselves are checked by recursion; how deep it can go is the engine's secret.
      if (error instanceof RangeError)
        return mismatch("is nested too deeply to be checked against the schema")
      throw error
    }
    return mismatch(describe(conforms.errors![0]!))
  }
}

function readSchema(path: string): object {
  let bytes
  try {
    bytes = readFileSync(path)
  } catch (error) {
    throw new HooklineError("config", `can't read the JSON Schema ${path}: ${(error as Error).message}`, {
      cause: error,
    })
  }
  const flaw = findFlaw(bytes)
  if (flaw !== undefined) throw new HooklineError("config", `the JSON Schema ${path} ${flaw.problem}`)
  return JSON.parse(bytes.subarray(startOfText(bytes)).toString()) as object
}

function compile(path: string, schema: object, warn: (message: string) => void): ValidateFunction {
  if ("$async" in schema)
    throw new HooklineError("config", `the JSON Schema ${path} has $async, which is not supported`)
  const ajv = new Ajv2020({
    strict: false,
    strictSchema: "log",
    validateFormats: false,
    // "toString" is missing from {}, whatever its prototype has.
    ownProperties: true,
    code: { regExp: Object.assign(boundedPattern, { code: "boundedPattern" }) },
    logger: { log: warn, warn, error: warn },
  })
  try {
    return ajv.compile(schema)
  } catch (error) {
    throw new HooklineError(
      "config",
      `${path} is not a usable JSON Schema (2020-12): ${(error as Error).message}`,
      {
        cause: error,
      },
    )
  }
}

/** Names of the body may stand in the pointer, its values never. A name can be as long as the body. */
function describe({ instancePath, keyword, message }: ErrorObject): string {
  const where =
    instancePath === ""
      ? "the object"
      : instancePath.length > 200
        ? `${instancePath.slice(0, 200)}...`
        : instancePath
  return `does not match the schema: ${where} ${message ?? "is wrong"} (${keyword})`
}
