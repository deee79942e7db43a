import { isAbsolute, resolve } from "node:path"
import { custom, guard, notA, outOf, quote, type Declared, type Option, type Parsed } from "./option.ts"

export { custom, WrongValue, type Option, type OptionSet, type Values } from "./option.ts"

/** Any text, or one that `pattern` or `accepts` takes; `form` says which. Not empty unless its default is. */
export function text<
  D extends Declared & { pattern?: RegExp; accepts?: (text: string) => boolean; form?: string },
>(declared: D): Parsed<string, D> {
  const { pattern, accepts, form = "a text" } = declared
  const mayBeEmpty = "default" in declared && declared.default === ""
  const fits = (value: string): boolean =>
    typeof value === "string" &&
    (value === "" ? mayBeEmpty : (pattern?.test(value) ?? true) && (accepts?.(value) ?? true))
  return custom(
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
  return custom(
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

/** A number within bounds, with or without decimals. */
export function number<D extends Declared & { min: number; max: number }>(declared: D): Parsed<number, D> {
  const form = `a number from ${declared.min} to ${declared.max}`
  const fits = (value: number): boolean => value >= declared.min && value <= declared.max
  return custom(
    form,
    declared,
    (value) => {
      const number = /^\d+(?:\.\d+)?$/.test(value) ? Number(value) : Number.NaN
      if (!fits(number)) throw notA(form, value)
      return number
    },
    guard(form, (value) => typeof value === "number" && fits(value)),
  )
}

/** One of a few words; the file may spell them in any case. */
export function oneOf<const W extends string, D extends Declared>(
  words: readonly W[],
  declared: D,
): Parsed<W, D> {
  const form = words.length === 2 ? words.join(" or ") : `one of ${words.join(", ")}`
  return custom<W, D>(
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
  return custom(
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
  return custom(
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
  return custom<readonly T[], D>(
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
function splitList(value: string): string[] {
  return value
    .split(/[,\n]/)
    .map((item) => item.trim())
    .filter((item) => item !== "")
}

/** A path of a file or folder; relative ones start from the configuration file's folder. Whether it is there is seen at start. */
export function path<D extends Declared>(declared: D): Parsed<string, D> {
  const form = "a path"
  const fits = (value: string): boolean => typeof value === "string" && value !== "" && !value.includes("\0")
  return custom(
    form,
    declared,
    (value, { baseDir }) => {
      if (!fits(value)) throw notA(form, value)
      return isAbsolute(value) ? value : resolve(baseDir, value)
    },
    guard(form, fits),
  )
}

/** A path of a file that is read at start, and again at each reload. */
export function file<D extends Declared>(declared: D): Parsed<string, D & { isInput: true }> {
  return path({ ...declared, isInput: true })
}
