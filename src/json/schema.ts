import { readRegularFile } from "../process/regular-file.ts"
import { HooklineError } from "../errors.ts"
import { whyUnreadable } from "../process/paths.ts"
import { boundedPattern, type Pattern } from "./bounded-pattern.ts"
import { findFlaw } from "./check.ts"
import { findDuplicateName } from "./duplicates.ts"
import { asBuffer, startOfText } from "./tokens.ts"

export const SCHEMA_RULES = ["schema_mismatch", "duplicate_member"] as const

export interface Mismatch {
  readonly rule: (typeof SCHEMA_RULES)[number]
  /** Follows "The body ". */
  readonly problem: string
}

/** Validates a valid JSON text; undefined: it matches. */
export type FindMismatch = (json: Uint8Array) => Mismatch | undefined

/** The drafts that are validated, as `$schema` names them. */
const DRAFTS = {
  "2020-12": "https://json-schema.org/draft/2020-12/schema",
  "2019-09": "https://json-schema.org/draft/2019-09/schema",
  "draft-07": "http://json-schema.org/draft-07/schema",
} as const

/** A JSON Schema and those that its `$ref`s name. */
export interface SchemaSet {
  readonly schema: unknown
  readonly references: readonly { readonly name: string; readonly schema: unknown }[]
}

/**
 * Reads and compiles a JSON Schema as `compileSchema` does, without `$schema` of draft 2020-12.
 *
 * @param path an absolute path
 * @param warn receives unknown keywords, which may be misspelled
 * @throws HooklineError `config`: unreadable or not such a schema
 */
export function loadSchema(path: string, warn: (message: string) => void): FindMismatch {
  const schema = readSchema(path)
  try {
    return compileSchema({ schema, references: [] }, "2020-12", warn)
  } catch (error) {
    const reason = (error as Error).message
    throw new HooklineError("config", `${path} is not a usable JSON Schema: ${reason}`, { cause: error })
  }
}

/**
 * Compiles a schema of the draft that its `$schema` names: 2020-12, 2019-09 or draft-07. `format` is not asserted, unknown
 * keywords are annotations. A `$ref` must resolve within the set, and patterns must match in bounded time. What can't be
 * evaluated as the draft has it makes the schema unusable.
 *
 * @param set its schemas are changed
 * @param draft that of a schema without `$schema`
 * @throws Error: the keyword that makes it unusable, with its place as a JSON pointer
 */
export function compileSchema(
  { schema, references }: SchemaSet,
  draft: keyof typeof DRAFTS,
  warn: (message: string) => void,
): FindMismatch {
  for (const it of [schema, ...references.map((reference) => reference.schema)]) prepare(it)
  const root = schema as SchemaObject
  // loaded where there is a schema
  const { lint, validator } = require("@exodus/schemasafe") as typeof import("@exodus/schemasafe")
  const functions = calledFunctions()
  const options = {
    mode: "spec",
    isJSON: true,
    $schemaDefault: DRAFTS[draft],
    schemas: byAddress(root, references),
  } as const
  const conforms = inBoundedTime(validator(root, options), functions)
  const explain = inBoundedTime(validator(root, { ...options, includeErrors: true }), functions)
  for (const { message } of lint(root, { ...options, allowUnusedKeywords: false }))
    if (message.startsWith(UNKNOWN)) warn(`unknown keyword${message.slice(UNKNOWN.length)}`)
  return findMismatchBy(conforms, explain)
}

const UNKNOWN = "Keyword not supported"

interface Validate {
  (value: unknown): boolean
  errors?: readonly { readonly keywordLocation: string; readonly instanceLocation: string }[]
}

function findMismatchBy(conforms: Validate, explain: Validate): FindMismatch {
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
      explain(parsed)
    } catch (error) {
      // recursive schemas recurse; the engine limits the depth
      if (error instanceof RangeError) return mismatch("is nested too deeply to be validated")
      throw error
    }
    return mismatch(describe(explain.errors![0]!))
  }
}

/** What generated validators call, with the names that their source has for it. */
function calledFunctions(): object {
  const functions = require("@exodus/schemasafe/src/scope-functions.js") as { [name: string]: object }
  for (const [name, it] of Object.entries(functions))
    Object.assign(it, { [Symbol.for("toJayString")]: `functions.${name}` })
  return functions
}

/**
 * The validator with its patterns matched by `boundedPattern`: its source is evaluated with another `RegExp`. The source names
 * the library's functions, instead of repeating theirs, which a bundler may have changed.
 *
 * @throws SyntaxError, or Unbounded
 */
function inBoundedTime(validate: { toModule(): string }, functions: object): Validate {
  const patterns = new Map<string, Pattern>()
  const BoundedRegExp = function (pattern: string): Pattern {
    return patterns.getOrInsertComputed(pattern, boundedPattern)
  }
  // eslint-disable-next-line no-new-func -- as the library evaluates it
  return new Function("RegExp", "functions", `return ${validate.toModule()}`)(
    BoundedRegExp,
    functions,
  ) as Validate
}

/** By name, and by what the name is relative to the `$id`s. */
function byAddress(root: SchemaObject, references: SchemaSet["references"]): { [address: string]: object } {
  const schemas = [root, ...references.map(({ schema }) => schema as SchemaObject)]
  const bases = schemas.flatMap(({ $id }) => (typeof $id === "string" && URL.canParse($id) ? [$id] : []))
  return Object.fromEntries(
    references.flatMap(({ name, schema }) =>
      [name, ...bases.map((base) => new URL(name, base).href)].map((address) => [address, schema as object]),
    ),
  )
}

type SchemaObject = { [keyword: string]: unknown }

/** Members of a schema whose names are not keywords. */
const MAPS = "properties patternProperties dependentSchemas dependencies $defs definitions".split(" ")
/** Members of a schema that hold any JSON. */
const DATA = ["const", "enum", "default", "examples"]

/** Removes each `format`, and finds what can't be validated. @throws Error */
function prepare(schema: unknown): void {
  if (typeof schema !== "object" || schema === null || Array.isArray(schema))
    throw new Error("it is not a JSON object")
  const found = new Map<string, string>()
  for (const [at, keywords] of schemasIn(schema, "#")) {
    delete keywords["format"]
    for (const name of Object.keys(keywords)) if (!found.has(name)) found.set(name, at)
    const $schema = keywords["$schema"]
    const named = typeof $schema === "string" ? $schema.replace(/#$/, "") : $schema
    if (named !== undefined && !Object.values<unknown>(DRAFTS).includes(named))
      throw new Error(`its $schema at ${at} is none of the drafts 2020-12, 2019-09 and draft-07`)
    const patterns = [keywords["pattern"], ...Object.keys(keywords["patternProperties"] ?? {})]
    for (const pattern of patterns) if (typeof pattern === "string") checkPattern(pattern, at)
  }
  for (const dynamic of ["$dynamicRef", "$recursiveRef"])
    for (const unevaluated of ["unevaluatedProperties", "unevaluatedItems"])
      if (found.has(dynamic) && found.has(unevaluated))
        throw new Error(
          `${dynamic} at ${found.get(dynamic)} is not supported in a schema with ${unevaluated}; use $ref`,
        )
}

function checkPattern(pattern: string, at: string): void {
  try {
    boundedPattern(pattern)
  } catch (error) {
    throw new Error(`${(error as Error).message} (at ${at})`, { cause: error })
  }
}

/** The schemas in a schema, itself included, each with its place. */
function* schemasIn(value: unknown, at: string, isMap = false): Generator<[at: string, SchemaObject]> {
  if (typeof value !== "object" || value === null) return
  const isSchema = !isMap && !Array.isArray(value)
  if (isSchema) yield [at, value as SchemaObject]
  for (const [name, inner] of Object.entries(value)) {
    if (isSchema && DATA.includes(name)) continue
    const token = name.replaceAll("~", "~0").replaceAll("/", "~1")
    yield* schemasIn(inner, `${at}/${token}`, isSchema && MAPS.includes(name))
  }
}

function readSchema(path: string): object {
  let bytes
  try {
    bytes = readRegularFile(path)
  } catch (error) {
    throw new HooklineError("config", `can't read the JSON Schema ${path}: it ${whyUnreadable(error)}`, {
      cause: error,
    })
  }
  const flaw = findFlaw(bytes)
  if (flaw !== undefined) throw new HooklineError("config", `the JSON Schema ${path} ${flaw.problem}`)
  return JSON.parse(bytes.subarray(startOfText(bytes)).toString()) as object
}

/** May quote member names of the body, shortened, never values. */
function describe({ instanceLocation, keywordLocation }: NonNullable<Validate["errors"]>[number]): string {
  const shorten = (text: string): string => (text.length > 200 ? `${text.slice(0, 200)}...` : text)
  const location = instanceLocation === "#" ? "the object" : shorten(instanceLocation.slice(1))
  const rule = shorten(keywordLocation)
  return `does not match the schema: ${location} ${rule.endsWith("/required") ? `is missing (${rule})` : `does not satisfy ${rule}`}`
}
