// Hot path where a schema has patterns.
import type { RE2JS } from "re2js"

/*
 * JSON Schema patterns are ECMA-262 regular expressions, matched with untrusted text. JavaScript's engine backtracks: with
 * `\s+$` a text of 80 KB blocked the process for 5.6 s. RE2 takes time linear in text and pattern: 100,000 letters against
 * `^(a+)+$` take 35 ms. A short text takes 1.7 us there and 0.04 us in JavaScript's engine, which therefore keeps the
 * patterns that can't backtrack.
 *
 * Syntax that RE2 reads differently from ECMA-262 (with the flag u) is translated; syntax that it lacks (lookaround,
 * backreferences, long names of Unicode properties, repetitions over 1,000) is rejected.
 */

export interface Pattern {
  test(text: string): boolean
  /** ajv's key for the compiled pattern. */
  toString(): string
}

/** A valid pattern whose matching time is not bounded. */
export class Unbounded extends Error {}

/** Compiles an ECMA-262 pattern (flag u) to match in linear time. @throws SyntaxError, or Unbounded */
export function boundedPattern(pattern: string): Pattern {
  const native = new RegExp(pattern, "u")
  if (isLinear(pattern)) return native
  const source = forRe2(pattern)
  let compiled: RE2JS
  try {
    // loaded where a pattern needs it: its tables are large
    compiled = (require("re2js") as typeof import("re2js")).RE2JS.compile(source)
  } catch (error) {
    throw unbounded(pattern, `RE2 rejects it (${(error as Error).message.split("\n", 1)[0]})`)
  }
  return { test: (text) => compiled.test(text), toString: () => `/${pattern}/u by RE2` }
}

const unbounded = (pattern: string, why: string): Unbounded =>
  new Unbounded(
    `the pattern ${pattern} can't be matched in bounded time: ${why}; write it without lookahead, lookbehind, backreferences and repetitions over 1000`,
  )

/** Such a pattern is tried at each position of a text, so it must be short. */
const LONGEST_PATTERN = 64

/** Whether a pattern can't backtrack: no groups or alternatives, at most one variable count, anchored by `^`. */
function isLinear(pattern: string): boolean {
  if (/[|(]/.test(pattern.replaceAll(/\\./gu, ""))) return false
  const parts = [
    ...pattern.matchAll(
      /(\\(?:u\{[^}]*\}|p\{[^}]*\}|P\{[^}]*\}|.)|\[(?:\\.|[^\]\\])*\]|.)(\*|\+|\?|\{\d+(?:,\d*)?\})?\??/gsu,
    ),
  ]
  const varies = ([, , times = ""]: RegExpExecArray): boolean => times !== "" && !/^\{\d+\}$/.test(times)
  const length = parts.reduce(
    (sum, [, , times]) => sum + Number(/^\{(\d+)\}$/.exec(times ?? "")?.[1] ?? 1),
    0,
  )
  const varying = parts.filter(varies).length
  return length <= LONGEST_PATTERN && (varying === 0 || (varying === 1 && pattern.startsWith("^")))
}

/** ECMA-262's `\s` and its complement; RE2's is ASCII only. */
const SPACE = String.raw`\t-\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`
const NOT_SPACE = String.raw`\x{0}-\x{8}\x{e}-\x{1f}!-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff}`

/** What RE2 reads differently, in a class in brackets and outside. */
const IN_CLASS: { readonly [token: string]: string } = {
  "\\s": SPACE,
  "\\S": NOT_SPACE,
  "\\b": "\\x{8}",
  "\\0": "\\x{0}",
  ".": "\\.",
}
const OUTSIDE: { readonly [token: string]: string } = {
  "\\s": `[${SPACE}]`,
  "\\S": `[${NOT_SPACE}]`,
  "\\0": "\\x{0}",
  ".": String.raw`[^\n\r\x{2028}\x{2029}]`,
  "[]": String.raw`[^\x{0}-\x{10ffff}]`,
  "[^]": String.raw`[\x{0}-\x{10ffff}]`,
}

const TOKEN =
  /\\u\{([0-9a-f]+)\}|\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})|\\u([0-9a-f]{4})|\\c([a-z])|\\[pP]\{(?:Script|sc)=(\w+)\}|\\(?:.)|\(\?(?:<[=!]|<|:|.)?|\[\^?\]?|./gisu

function forRe2(pattern: string): string {
  let inClass = false
  return pattern.replaceAll(TOKEN, (token, brace, high, low, unit, control, script) => {
    const hex = (code: number): string => `\\x{${code.toString(16)}}`
    if (brace !== undefined) return hex(Number.parseInt(brace as string, 16))
    if (high !== undefined) {
      const [lead, trail] = [high, low].map((it) => Number.parseInt(it as string, 16)) as [number, number]
      return hex(0x10000 + ((lead - 0xd800) << 10) + (trail - 0xdc00))
    }
    if (unit !== undefined) return hex(Number.parseInt(unit as string, 16))
    if (control !== undefined) return hex((control as string).toUpperCase().charCodeAt(0) - 64)
    if (script !== undefined) return `${token.slice(0, 3)}${script as string}}`
    if (token.startsWith("(?")) {
      if (token === "(?:" || token === "(?<") return token
      throw unbounded(pattern, `it has ${token}`)
    }
    if (token === "\\k") throw unbounded(pattern, "it has a backreference")
    const translated = (inClass ? IN_CLASS : OUTSIDE)[token]
    if (translated !== undefined) return translated
    if (token.startsWith("[")) {
      if (inClass) {
        // within a class, a bracket is a character; the rest of the token may end the class
        const rest = token.slice(1)
        if (rest.endsWith("]")) inClass = false
        return `\\[${rest.startsWith("^") ? `\\^${rest.slice(1)}` : rest}`
      }
      inClass = true
      return token
    }
    if (token === "]") inClass = false
    return token
  })
}
