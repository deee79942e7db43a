import { isAbsolute, resolve } from "node:path"

/**
 * An option, declared once: its declaration is its parser, its type, its line in docs/reference.md and what
 * `hookline check` says of a wrong value.
 */
export interface Option<T> {
  /** Reads the file's text. Throws WrongValue. */
  readonly parse: (text: string, context: ParseContext) => Exclude<T, undefined>
  /** Says what is wrong with a value given in code, in the words of `parse`; undefined when it is right. */
  readonly wrong: (value: Exclude<T, undefined>) => string | undefined
  readonly presence: "required" | "optional" | "default"
  /** The default as the file would spell it. */
  readonly defaultText: string | undefined
  /** What kind of value it is, in a few words, for the reference and for errors. */
  readonly form: string
  readonly doc: string
  /** Never printed. */
  readonly secret: boolean
}

export interface ParseContext {
  /** Absolute path that relative paths in the value start from. */
  readonly baseDir: string
}

/** The value does not have the option's form. The message says what would be right, without repeating the key. */
export class WrongValue extends Error {
  /** The message for a value that must not be printed. Without it, it is told that the value is not of the form. */
  readonly unquoted: string | undefined

  constructor(message: string, unquoted?: string) {
    super(message)
    this.unquoted = unquoted
  }
}

// oxlint-disable-next-line no-explicit-any
type AnyOption = Option<any>
export type OptionSet = { readonly [key: string]: AnyOption }
/** The values of a set of options, by key. */
export type Values<O extends OptionSet> = {
  readonly [K in keyof O]: O[K] extends Option<infer T> ? T : never
}

interface Described {
  doc: string
  secret?: boolean
}
interface WithDefault extends Described {
  /** As the file would spell it. */
  default: string
}
interface Optional extends Described {
  optional: true
}
/** Required when there is neither a default nor `optional`. */
type Declared = Described | WithDefault | Optional

type Parsed<T, D extends Declared> = D extends Optional ? Option<T | undefined> : Option<T>

/** Builds an option of a form. `read` throws WrongValue; `wrong` checks a value given in code. */
function option<T, D extends Declared>(
  form: string,
  declared: D,
  read: (text: string, context: ParseContext) => T,
  wrong: (value: T) => string | undefined,
): Parsed<T, D> {
  const defaultText = "default" in declared ? declared.default : undefined
  const made = {
    parse: read,
    wrong,
    presence: "optional" in declared ? "optional" : defaultText === undefined ? "required" : "default",
    defaultText,
    form,
    doc: declared.doc,
    secret: declared.secret ?? false,
  }
  return made as unknown as Parsed<T, D>
}

/** A value as messages quote it: on one line, and not longer than a line. */
export function quote(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 80 ? `${value.slice(0, 79)}…` : value)
  if (Array.isArray(value)) return "a list"
  return typeof value === "function" || (typeof value === "object" && value !== null)
    ? `a value of type ${typeof value}`
    : String(value)
}

const notA = (form: string, text: string): WrongValue =>
  new WrongValue(`${quote(text)} is not ${form}`, `is not ${form}`)

const outOf = (bounds: string, text: string): WrongValue => new WrongValue(`${quote(text)} ${bounds}`, bounds)

/** Checks a value given in code by its type and a test, with the same words as a text of the file. */
const guard =
  <T>(form: string, fits: (value: T) => boolean) =>
  (value: T): string | undefined =>
    fits(value) ? undefined : `${quote(value)} is not ${form}`

/** Any text, or one that `pattern` or `accepts` takes; `form` says which. Not empty unless its default is. */
export function text<
  D extends Declared & { pattern?: RegExp; accepts?: (text: string) => boolean; form?: string },
>(declared: D): Parsed<string, D> {
  const { pattern, accepts, form = "a text" } = declared
  const mayBeEmpty = "default" in declared && declared.default === ""
  const fits = (value: string): boolean =>
    typeof value === "string" &&
    (value === "" ? mayBeEmpty : (pattern?.test(value) ?? true) && (accepts?.(value) ?? true))
  return option(
    form,
    declared,
    (value) => {
      if (!fits(value)) throw notA(form, value)
      return value
    },
    guard(form, fits),
  )
}

/** A whole number within bounds. */
export function integer<D extends Declared & { min: number; max: number }>(declared: D): Parsed<number, D> {
  const form = `a whole number from ${declared.min} to ${declared.max}`
  const fits = (value: number): boolean =>
    Number.isInteger(value) && value >= declared.min && value <= declared.max
  return option(
    form,
    declared,
    (value) => {
      const number = /^[+-]?\d+$/.test(value) ? Number(value) : Number.NaN
      if (!fits(number)) throw notA(form, value)
      return number
    },
    guard(form, fits),
  )
}

/** One of a few words; the file may spell them in any case. */
export function oneOf<const W extends string, D extends Declared>(
  words: readonly W[],
  declared: D,
): Parsed<W, D> {
  const form = words.length === 2 ? words.join(" or ") : `one of ${words.join(", ")}`
  return option<W, D>(
    form,
    declared,
    (value) => {
      const word = words.find((word) => word.toLowerCase() === value.toLowerCase())
      if (word === undefined) throw notA(form, value)
      return word
    },
    guard<W>(form, (value) => words.includes(value)),
  )
}

const DURATION_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** A length of time, in milliseconds in code. */
export function duration<D extends Declared & { minMs?: number; maxMs?: number }>(
  declared: D,
): Parsed<number, D> {
  const minMs = declared.minMs ?? 0
  const maxMs = declared.maxMs ?? Number.MAX_SAFE_INTEGER
  const form = "a duration such as 500ms, 5s, 2m, 24h or 7d"
  const bounds = (ms: number): string | undefined =>
    ms < minMs || ms > maxMs ? `must be from ${showDuration(minMs)} to ${showDuration(maxMs)}` : undefined
  return option(
    form,
    declared,
    (value) => {
      const match = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)$/i.exec(value)
      if (match === null) throw notA(form, value)
      const ms = Math.round(
        Number(match[1]) * DURATION_MS[match[2]!.toLowerCase() as keyof typeof DURATION_MS],
      )
      const outside = bounds(ms)
      if (outside !== undefined) throw outOf(outside, value)
      return ms
    },
    (ms) => {
      if (typeof ms !== "number" || !(ms >= 0)) return `${quote(ms)} is not a number of milliseconds`
      const outside = bounds(ms)
      return outside && `${ms} milliseconds ${outside}`
    },
  )
}

function showDuration(ms: number): string {
  for (const unit of ["d", "h", "m", "s"] as const) {
    if (ms >= DURATION_MS[unit] && ms % DURATION_MS[unit] === 0) return `${ms / DURATION_MS[unit]}${unit}`
  }
  return `${ms}ms`
}

const SIZE_BYTES = {
  b: 1,
  kib: 1024,
  mib: 1024 ** 2,
  gib: 1024 ** 3,
  tib: 1024 ** 4,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
} as const

/** A number of bytes. */
export function size<D extends Declared & { min?: number; max?: number }>(declared: D): Parsed<number, D> {
  const min = declared.min ?? 0
  const max = declared.max ?? Number.MAX_SAFE_INTEGER
  const form = "a size such as 512KiB, 1MiB or 2GiB"
  const bounds = (bytes: number): string | undefined =>
    bytes < min || bytes > max ? `must be from ${min} to ${max} bytes` : undefined
  return option(
    form,
    declared,
    (value) => {
      const match = /^(\d+(?:\.\d+)?)\s*([kmgt]?i?b)?$/i.exec(value)
      const unit = (match?.[2]?.toLowerCase() ?? "b") as keyof typeof SIZE_BYTES
      if (match === null || !(unit in SIZE_BYTES)) throw notA(form, value)
      const bytes = Math.round(Number(match[1]) * SIZE_BYTES[unit])
      const outside = bounds(bytes)
      if (outside !== undefined) throw outOf(outside, value)
      return bytes
    },
    (bytes) => {
      if (!Number.isInteger(bytes) || bytes < 0) return `${quote(bytes)} is not a number of bytes`
      const outside = bounds(bytes)
      return outside && `${bytes} ${outside}`
    },
  )
}

/** Several values of one form, by comma or line. */
export function list<T, D extends Declared>(of: Option<T>, declared: D): Parsed<readonly T[], D> {
  const form = `a list, by comma or line, of which each is ${of.form}`
  return option<readonly T[], D>(
    form,
    declared,
    (value, context) => {
      const items = splitList(value)
      if (items.length === 0) throw notA(form, value)
      return items.map((item) => of.parse(item, context) as T)
    },
    (items) => {
      if (!Array.isArray(items) || items.length === 0)
        return `${quote(items)} ${Array.isArray(items) ? "without items " : ""}is not ${form}`
      for (const item of items) {
        const problem = of.wrong(item as Exclude<T, undefined>)
        if (problem !== undefined) return problem
      }
      return undefined
    },
  )
}

/** Items of a list, by comma or line, trimmed, without empty ones. */
export function splitList(value: string): string[] {
  return value
    .split(/[,\n]/)
    .map((item) => item.trim())
    .filter((item) => item !== "")
}

/** A path of a file or folder; relative ones start from the configuration file's folder. Whether it is there is seen at start. */
export function path<D extends Declared>(declared: D): Parsed<string, D> {
  const form = "a path"
  const fits = (value: string): boolean => typeof value === "string" && value !== "" && !value.includes("\0")
  return option(
    form,
    declared,
    (value, { baseDir }) => {
      if (!fits(value)) throw notA(form, value)
      return isAbsolute(value) ? value : resolve(baseDir, value)
    },
    guard(form, fits),
  )
}

/** A form of its own: `read` throws WrongValue, `wrong` checks a value given in code. */
export function custom<T, D extends Declared>(
  form: string,
  declared: D,
  read: (text: string, context: ParseContext) => T,
  wrong: (value: T) => string | undefined,
): Parsed<T, D> {
  return option(form, declared, read, wrong)
}
