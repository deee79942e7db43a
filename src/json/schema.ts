import { readFileSync } from "node:fs"
import { Ajv2020, type ErrorObject, type Options } from "ajv/dist/2020.js"
import { HooklineError } from "../errors.ts"
import { whyUnreadable } from "../paths.ts"
import { boundedPattern } from "./bounded-pattern.ts"
import { findFlaw } from "./check.ts"
import { findDuplicateName } from "./duplicates.ts"
import { asBuffer, startOfText } from "./bytes.ts"

export const SCHEMA_RULES = ["schema_mismatch", "duplicate_member"] as const

export interface Mismatch {
  readonly rule: (typeof SCHEMA_RULES)[number]
  /** Follows "The body ". */
  readonly problem: string
}

/** Validates a valid JSON text; undefined: it matches. */
export type FindMismatch = (json: Uint8Array) => Mismatch | undefined

/**
 * Reads and compiles a JSON Schema (2020-12): `format` is not asserted, unknown keywords are annotations. A `$ref` must resolve
 * within the file, and patterns must match in bounded time.
 *
 * @param path an absolute path
 * @param warn receives unknown keywords, which may be misspelled
 * @throws HooklineError `config`: unreadable or not such a schema
 */
export function loadSchema(path: string, warn: (message: string) => void): FindMismatch {
  const schema = readSchema(path)
  if ("$async" in schema)
    throw new HooklineError("config", `the JSON Schema ${path} has $async, which is not supported`)
  try {
    return compile(Ajv2020, schema, warn)
  } catch (error) {
    const reason = (error as Error).message
    throw new HooklineError("config", `${path} is not a usable JSON Schema (2020-12): ${reason}`, {
      cause: error,
    })
  }
}

/** A JSON Schema and those that its `$ref`s name. */
export interface SchemaSet {
  readonly schema: unknown
  readonly references: readonly { readonly name: string; readonly schema: unknown }[]
}

/**
 * Compiles a schema as `loadSchema` does, of the draft that its `$schema` names: 2020-12, 2019-09 or draft-07; without one it
 * is of draft-07, as Confluent's serializers take it.
 *
 * @throws Error: it is of another draft, or unusable
 */
export async function compileSchema(
  { schema, references }: SchemaSet,
  warn: (message: string) => void,
): Promise<FindMismatch> {
  for (const it of [schema, ...references.map((reference) => reference.schema)])
    if (typeof it !== "object" || it === null || Array.isArray(it) || "$async" in it)
      throw new Error("it is not a JSON object, or has $async")
  const draft = (schema as { $schema?: unknown }).$schema
  return compile(await draftOf(draft), schema as object, warn, references)
}

/** Ajv for one of the drafts. */
type ValidatorClass = new (options: Options) => Pick<Ajv2020, "addSchema" | "compile">

/** On demand: pipelines without a registry need none of the older ones. */
async function draftOf($schema: unknown): Promise<ValidatorClass> {
  switch (typeof $schema === "string" ? $schema.replace(/#$/, "") : $schema) {
    case "https://json-schema.org/draft/2020-12/schema":
      return Ajv2020
    case "https://json-schema.org/draft/2019-09/schema":
      return (await import("ajv/dist/2019.js")).Ajv2019
    case undefined:
    case "http://json-schema.org/draft-07/schema":
      return (await import("ajv")).Ajv
    default:
      throw new Error("its $schema is none of the drafts 2020-12, 2019-09 and draft-07")
  }
}

function compile(
  Ajv: ValidatorClass,
  schema: object,
  warn: (message: string) => void,
  references: SchemaSet["references"] = [],
): FindMismatch {
  const ajv = new Ajv({ ...OPTIONS, logger: { log: warn, warn, error: warn } })
  for (const reference of references) ajv.addSchema(reference.schema as object, reference.name)
  const conforms = ajv.compile(schema)
  const mismatch = (problem: string): Mismatch => ({ rule: "schema_mismatch", problem })
  return (json) => {
    try {
      const parsed: unknown = JSON.parse(asBuffer(json.subarray(startOfText(json))).toString())
      const position = findDuplicateName(json, parsed)
      if (position !== undefined) {
        const problem = `has a duplicate member name at byte ${position}: consumers may read the other value`
        return { rule: "duplicate_member", problem }
      }
      if (conforms(parsed)) return undefined
    } catch (error) {
      // recursive schemas recurse; the engine limits the depth
      if (error instanceof RangeError) return mismatch("is nested too deeply to be validated")
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
    throw new HooklineError("config", `can't read the JSON Schema ${path}: it ${whyUnreadable(error)}`, {
      cause: error,
    })
  }
  const flaw = findFlaw(bytes)
  if (flaw !== undefined) throw new HooklineError("config", `the JSON Schema ${path} ${flaw.problem}`)
  return JSON.parse(bytes.subarray(startOfText(bytes)).toString()) as object
}

const OPTIONS: Options = {
  strict: false,
  strictSchema: "log",
  validateFormats: false,
  // "toString" is not a property of {}
  ownProperties: true,
  code: { regExp: Object.assign(boundedPattern, { code: "boundedPattern" }) },
}

/** May quote member names of the body, shortened, never values. */
function describe({ instancePath, keyword, message }: ErrorObject): string {
  const path = instancePath.length > 200 ? `${instancePath.slice(0, 200)}...` : instancePath
  const location = path === "" ? "the object" : path
  return `does not match the schema: ${location} ${message ?? "is invalid"} (${keyword})`
}
