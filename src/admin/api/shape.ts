/*
 * Shapes of what the API accepts and answers: each is a JSON Schema, which stands in the OpenAPI document, with the type of
 * its values. Only what the API needs of JSON Schema exists here: a library for all of it takes longer to load than the rest
 * of Hookline.
 */

/** What may be said of values next to their type. */
interface Details {
  readonly description?: string
  readonly default?: unknown
  readonly minimum?: number
  readonly maximum?: number
  readonly maxLength?: number
  readonly pattern?: string
}

declare const VALUE: unique symbol
const OPTIONAL = Symbol("optional")

/** A schema, and the type of its values. */
export interface Shape<Value = unknown> extends Details {
  readonly type?: "string" | "number" | "integer" | "boolean" | "null" | "array" | "object"
  readonly enum?: readonly string[]
  readonly anyOf?: readonly Shape[]
  readonly items?: Shape
  readonly properties?: Members
  readonly required?: readonly string[]
  readonly [VALUE]?: Value
}

export interface Members {
  readonly [name: string]: Shape
}

/** The type of a shape's values. */
export type Static<S> = S extends Shape<infer Value> ? Value : never

export interface Optional<Value> extends Shape<Value> {
  readonly [OPTIONAL]: true
}

type OptionalNames<M> = { [Name in keyof M]: M[Name] extends Optional<unknown> ? Name : never }[keyof M]
type ObjectOf<M> = { [Name in Exclude<keyof M, OptionalNames<M>>]: Static<M[Name]> } & {
  [Name in OptionalNames<M>]?: Static<M[Name]>
}

export interface ObjectShape<M extends Members = Members> extends Shape<ObjectOf<M>> {
  readonly properties: M
}

const primitive =
  <Value>(type: NonNullable<Shape["type"]>) =>
  (details: Details = {}): Shape<Value> => ({ type, ...details })

export const Type = {
  String: primitive<string>("string"),
  Number: primitive<number>("number"),
  Integer: primitive<number>("integer"),
  Boolean: primitive<boolean>("boolean"),
  Null: primitive<null>("null"),
  Array: <Value>(items: Shape<Value>, details: Details = {}): Shape<Value[]> => ({
    type: "array",
    items,
    ...details,
  }),
  Union: <S extends Shape>(anyOf: readonly S[], details: Details = {}): Shape<Static<S>> => ({
    anyOf,
    ...details,
  }),
  /** A member that may be missing. */
  Optional: <Value>(shape: Shape<Value>): Optional<Value> => ({ ...shape, [OPTIONAL]: true }),
  Object<M extends Members>(properties: M, details: Details = {}): ObjectShape<M> {
    const required = Object.keys(properties).filter((name) => !(OPTIONAL in properties[name]!))
    return { type: "object", ...(required.length > 0 && { required }), properties, ...details }
  },
}

export const nullable = <Value>(shape: Shape<Value>): Shape<Value | null> => Type.Union([shape, Type.Null()])

/** One of several texts. */
export const oneOf = <const Text extends string>(...texts: Text[]): Shape<Text> => ({
  type: "string",
  enum: texts,
})

export const count = Type.Integer({ minimum: 0 })
export const time = Type.Number({ description: "Milliseconds since 1970." })
/** The replica of a row. */
export const replica = Type.Optional(
  Type.String({ description: "The address of its replica; missing: it is of the one that answers." }),
)
export const Header = Type.Object({ name: Type.String(), value: Type.String() })

/**
 * What of a value, from JSON, does not fit its shape; undefined: it fits.
 *
 * @returns as `, from.topic: must be string`, where `at` is the place of the value
 */
export function misfit(value: unknown, shape: Shape, at = ""): string | undefined {
  const problem = problemOfOne(value, shape)
  if (problem !== undefined) return `${at && `, ${at}`}: ${problem}`
  const within: [name: string | number, value: unknown, shape: Shape][] = []
  if (shape.items !== undefined)
    for (const [index, item] of (value as unknown[]).entries()) within.push([index, item, shape.items])
  for (const [name, member] of Object.entries(shape.properties ?? {}))
    if (Object.hasOwn(value as object, name))
      within.push([name, (value as Record<string, unknown>)[name], member])
  for (const [name, one, of] of within) {
    const found = misfit(one, of, at === "" ? `${name}` : `${at}.${name}`)
    if (found !== undefined) return found
  }
  return undefined
}

/** As `misfit`, of a value without its members. */
function problemOfOne(value: unknown, shape: Shape): string | undefined {
  const { type, anyOf, minimum = -Infinity, maximum = Infinity, maxLength = Infinity, pattern } = shape
  if (anyOf?.every((one) => misfit(value, one) !== undefined) === true) return "fits none of its shapes"
  if (type !== undefined && !IS_OF[type](value)) return `must be ${type}`
  if (typeof value === "number" && value < minimum) return `must be at least ${minimum}`
  if (typeof value === "number" && value > maximum) return `must be at most ${maximum}`
  if (typeof value === "string") {
    if (shape.enum?.includes(value) === false) return `must be one of ${shape.enum.join(", ")}`
    if (value.length > maxLength) return `must not have more than ${maxLength} characters`
    if (pattern !== undefined && !new RegExp(pattern).test(value)) return `must match ${pattern}`
  }
  const missing = shape.required?.find((name) => !Object.hasOwn(value as object, name))
  return missing === undefined ? undefined : `${missing} is missing`
}

const IS_OF: { readonly [type in NonNullable<Shape["type"]>]: (value: unknown) => boolean } = {
  string: (it) => typeof it === "string",
  number: (it) => typeof it === "number",
  integer: Number.isInteger,
  boolean: (it) => typeof it === "boolean",
  null: (it) => it === null,
  array: Array.isArray,
  object: (it) => typeof it === "object" && it !== null && !Array.isArray(it),
}
