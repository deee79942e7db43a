import { readFileSync } from "node:fs"
import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js"
import { HooklineError } from "../errors.ts"
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
  const conforms = compile(path, readSchema(path), warn)
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
    // "toString" is not a property of {}
    ownProperties: true,
    code: { regExp: Object.assign(boundedPattern, { code: "boundedPattern" }) },
    logger: { log: warn, warn, error: warn },
  })
  try {
    return ajv.compile(schema)
  } catch (error) {
    const reason = (error as Error).message
    throw new HooklineError("config", `${path} is not a usable JSON Schema (2020-12): ${reason}`, {
      cause: error,
    })
  }
}

/** May quote member names of the body, shortened, never values. */
function describe({ instancePath, keyword, message }: ErrorObject): string {
  const path = instancePath.length > 200 ? `${instancePath.slice(0, 200)}...` : instancePath
  const location = path === "" ? "the object" : path
  return `does not match the schema: ${location} ${message ?? "is invalid"} (${keyword})`
}
