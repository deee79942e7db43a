import { isAbsolute, resolve } from "node:path"
import { isHeaderName } from "../../headers.ts"
import { message, ofFile } from "../../message.ts"
import { custom, notA, quote, uniform, WrongValue } from "./option.ts"
import type { Declared, Option, Parsed, ParseContext } from "./option.ts"
import { slipOfPath } from "./slips.ts"

export { custom, WrongValue, type Option, type OptionSet, type Values } from "./option.ts"

/**
 * Any text, or one that `pattern` or `accepts` allows, named by `form`. Not empty unless its default is. `meant` says what to
 * write in the place of a text that is refused; undefined: it does not know.
 */
export function text<
  D extends Declared & {
    pattern?: RegExp
    accepts?: (text: string) => boolean
    form?: string
    meant?: (text: string) => string | undefined
  },
>(declared: D): Parsed<string, D> {
  const { pattern, accepts, form = "a text", meant } = declared
  const mayBeEmpty = "default" in declared && declared.default === ""
  const fits = (value: string): boolean =>
    typeof value === "string" &&
    (value === "" ? mayBeEmpty : (pattern?.test(value) ?? true) && (accepts?.(value) ?? true))
  const read = (value: string): string => {
    const other = meant === undefined || fits(value) ? undefined : meant(value)
    if (other !== undefined) throw new WrongValue(`${quote(value)} is ${other}`, `is ${other}`)
    return value
  }
  return uniform(form, declared, read, fits)
}

/** The name of a header of requests. */
export const headerName = <D extends Declared>(declared: D): Parsed<string, D & { form: string }> =>
  text({
    ...declared,
    form: "a header's name such as X-Signature, without spaces or a colon",
    accepts: isHeaderName,
  })

type Bounded = Declared & { min: number; max: number }

export function integer<D extends Bounded>(declared: D): Parsed<number, D> {
  const { min, max } = declared
  const read = (value: string): number => (/^[+-]?\d+$/.test(value) ? Number(value) : Number.NaN)
  const fits = (value: number): boolean => Number.isInteger(value) && value >= min && value <= max
  return uniform(`a whole number from ${min} to ${max}`, declared, read, fits)
}

/** A number within bounds, with or without decimals. */
export function number<D extends Bounded>(declared: D): Parsed<number, D> {
  const { min, max } = declared
  const read = (value: string): number => (/^\d+(?:\.\d+)?$/.test(value) ? Number(value) : Number.NaN)
  const fits = (value: number): boolean => typeof value === "number" && value >= min && value <= max
  return uniform(`a number from ${min} to ${max}`, declared, read, fits)
}

/** One of a few words, in any case in the file. Of `true` and `false` code may give the boolean. */
export function oneOf<const W extends string, D extends Declared>(
  words: readonly W[],
  declared: D,
): Parsed<W, D, WordInCode<W>> {
  const form = words.length === 2 ? words.join(" or ") : `one of ${words.join(", ")}`
  return custom<W, D, WordInCode<W>>(
    form,
    declared,
    (value) => {
      const word = words.find((word) => word.toLowerCase() === value.toLowerCase())
      if (word === undefined) throw notA(form, value)
      return word
    },
    (given) => {
      const word = (typeof given === "boolean" ? String(given) : given) as W
      if (words.includes(word)) return word
      throw new WrongValue(`${quote(given)} is not ${form}`)
    },
  )
}

type WordInCode<W extends string> = W | (W extends "true" | "false" ? boolean : never)

const DURATION = {
  form: "a duration such as 500ms, 5s, 2m, 24h or 7d",
  unit: "milliseconds",
  factors: { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 },
  range: (min: number, max: number) => `${showDuration(min)} to ${showDuration(max)}`,
} as const

/** A length of time as text: `500ms`, `5s`, `24h`. */
export type DurationText = `${number}${keyof (typeof DURATION)["factors"]}`

/** A length of time, in milliseconds; code gives milliseconds, or a text as the file does. */
export function duration<D extends Declared & { minMs?: number; maxMs?: number }>(
  declared: D,
): Parsed<number, D, number | DurationText> {
  return quantity(DURATION, declared, declared.minMs, declared.maxMs)
}

function showDuration(ms: number): string {
  const unit = (["d", "h", "m", "s"] as const).find((it) => ms > 0 && ms % DURATION.factors[it] === 0)
  return unit === undefined ? `${ms}ms` : `${ms / DURATION.factors[unit]}${unit}`
}

const SIZE = {
  form: "a size such as 512KiB, 1MiB or 2GiB",
  unit: "bytes",
  factors: {
    "": 1,
    b: 1,
    kib: 1024,
    mib: 1024 ** 2,
    gib: 1024 ** 3,
    tib: 1024 ** 4,
    kb: 1e3,
    mb: 1e6,
    gb: 1e9,
    tb: 1e12,
  },
  range: (min: number, max: number) => `${min} to ${max} bytes`,
} as const

/** A number of bytes as text: `512KiB`, `1MiB`, `2GB`. */
export type SizeText = `${number}${"" | "B" | `${"K" | "M" | "G" | "T"}${"iB" | "B"}`}`

/** A number of bytes; code gives the number, or a text as the file does. */
export function size<D extends Declared & { min?: number; max?: number }>(
  declared: D,
): Parsed<number, D, number | SizeText> {
  return quantity(SIZE, declared, declared.min, declared.max)
}

/** An amount with a unit: in the file a text, in code that or the number. */
function quantity<D extends Declared, Text extends string>(
  { form, unit, factors, range }: typeof DURATION | typeof SIZE,
  declared: D,
  min = 0,
  max = Number.MAX_SAFE_INTEGER,
): Parsed<number, D, number | Text> {
  const bounds = `must be from ${range(min, max)}`
  const fits = (value: number): boolean => value >= min && value <= max
  const byLetters = new Map<string, number>(Object.entries(factors))
  const parse = (text: string): number => {
    const [, amount, letters = ""] = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i.exec(text) ?? []
    const value = Math.round(Number(amount) * (byLetters.get(letters.toLowerCase()) ?? Number.NaN))
    if (Number.isNaN(value)) throw notA(form, text)
    if (!fits(value)) throw new WrongValue(`${quote(text)} ${bounds}`, bounds)
    return value
  }
  return custom(form, declared, parse, (given: number | Text) => {
    if (typeof given === "string") return parse(given)
    if (typeof given !== "number" || !(given >= 0) || (unit === "bytes" && !Number.isInteger(given)))
      throw new WrongValue(`${quote(given)} is not a number of ${unit}, or ${form}`)
    if (!fits(given)) throw new WrongValue(`${given} ${unit} ${bounds}`)
    return given
  })
}

/** Several values of one form: in the file by comma or line, in code an array. */
export function list<T, C, D extends Declared>(
  of: Option<T, C>,
  declared: D,
): Parsed<readonly T[], D, readonly C[]> {
  const form = message`a list${ofFile(" (commas or lines)")}, each item ${of.form}`
  return custom<readonly T[], D, readonly C[]>(
    form,
    declared,
    (value, context) => {
      const items = splitList(value)
      if (items.length === 0) throw notA(form, value)
      return items.map((item) => of.parse(item, context) as T)
    },
    (given) => {
      if (!Array.isArray(given))
        throw new WrongValue(message`${quote(given)} is not an array, each item ${of.form}`)
      if (given.length === 0) throw new WrongValue(`is an empty array; give it items, or leave it out`)
      return (given as readonly C[]).map((item) => of.fromCode(item) as T)
    },
  )
}

function splitList(value: string): string[] {
  return value
    .split(/[,\n]/)
    .map((item) => item.trim())
    .filter((item) => item !== "")
}

/** A path, relative to the configuration file's folder. It need not exist. */
export function path<D extends Declared>(declared: D): Parsed<string, D> {
  const fits = (value: string): boolean => typeof value === "string" && value !== "" && !value.includes("\0")
  const read = (value: string, { baseDir }: ParseContext): string =>
    value === "" || isAbsolute(literalPath(value)) ? value : resolve(baseDir, value)
  return uniform("a path", declared, read, fits)
}

/** Refuses what only a shell would replace, quotes and comments. @throws WrongValue */
export function literalPath(text: string): string {
  const slip = slipOfPath(text)
  if (slip === undefined) return text
  throw new WrongValue(
    `${quote(text)} ${slip.what}; ${slip.remedy}`,
    `${slip.what}; ${slip.hiddenRemedy ?? slip.remedy}`,
  )
}

/** A path of a file that is read at start and at each reload. */
export function file<D extends Declared>(declared: D): Parsed<string, D & { isInput: true }> {
  return path({ ...declared, isInput: true })
}
