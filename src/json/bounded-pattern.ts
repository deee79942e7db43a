// Hot path where a schema has patterns.
import { RE2JS } from "re2js"

/*
 * The patterns of a JSON Schema are ECMA-262 regular expressions, and the text that they are matched with is a stranger's.
 * JavaScript's engine tries one way after the other: with `\s+$` a text of 80 KB took 5.6 s, during which nothing else
 * runs. So a pattern runs on RE2's algorithm, whose time is the text's length times the pattern's: 100,000 letters against
 * `^(a+)+$` take 35 ms. A short text takes 1.7 us there and 0.04 us here; so patterns that have but one way to go at each
 * place stay with JavaScript's engine.
 *
 * What RE2 reads otherwise than ECMA-262 (with the flag u) is written for it as it is meant; what it lacks (lookaround,
 * backreferences, long names of Unicode properties, repetitions over 1,000) is refused.
 */

export interface Pattern {
  test(text: string): boolean
  /** Patterns of one name are alike: ajv keeps them apart by it. */
  toString(): string
}

/** The pattern is one, but not one whose time is bounded. The message says why. */
export class Unbounded extends Error {}

/**
 * Compiles a pattern so that matching takes a time that is bounded by the text's length.
 *
 * @param pattern of ECMA-262, with the flag u
 * @throws SyntaxError when it is no pattern, Unbounded when it can't be bounded
 */
export function boundedPattern(pattern: string): Pattern {
  const native = new RegExp(pattern, "u")
  if (goesOneWay(pattern)) return native
  const source = forRe2(pattern)
  let compiled: RE2JS
  try {
    compiled = RE2JS.compile(source)
  } catch (error) {
    throw unbounded(pattern, `RE2 does not take it (${(error as Error).message.split("\n", 1)[0]})`)
  }
  return { test: (text) => compiled.test(text), toString: () => `/${pattern}/u by RE2` }
}

const unbounded = (pattern: string, why: string): Unbounded =>
  new Unbounded(
    `the pattern ${pattern} can't be matched in bounded time: ${why}; write it without lookahead, lookbehind, backreferences and repetitions over 1000`,
  )

/** The end of a pattern is tried at each place of a text: it is to be short. */
const LONGEST_END = 64

/**
 * Whether a pattern has one way to go at each place, so that JavaScript's engine takes a time of the text's length, times
 * its own: no groups or alternatives, and at most one part that repeats from so often to so often, which stands behind `^`.
 */
function goesOneWay(pattern: string): boolean {
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
  return length <= LONGEST_END && (varying === 0 || (varying === 1 && pattern.startsWith("^")))
}

/** What `\s` is in ECMA-262, and what it is not; RE2's is ASCII. */
const SPACE = String.raw`\t-\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`
const NOT_SPACE = String.raw`\x{0}-\x{8}\x{e}-\x{1f}!-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff}`

/** A token of a pattern that RE2 reads otherwise. */
const TOKEN =
  /\\u\{([0-9a-f]+)\}|\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})|\\u([0-9a-f]{4})|\\c([a-z])|\\[pP]\{(?:Script|sc)=(\w+)\}|\\(?:.)|\(\?(?:<[=!]|<|:|.)?|\[\^?\]?|./gisu

/** A pattern of ECMA-262 as RE2 is to read it. */
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
    switch (token) {
      case "\\s":
        return inClass ? SPACE : `[${SPACE}]`
      case "\\S":
        return inClass ? NOT_SPACE : `[${NOT_SPACE}]`
      case "\\k":
        throw unbounded(pattern, "it has a backreference")
      case "\\b":
        return inClass ? hex(8) : token
      case "\\0":
        return hex(0)
      case ".":
        return inClass ? "\\." : String.raw`[^\n\r\x{2028}\x{2029}]`
      case "[]":
      case "[^]":
        if (inClass) break
        return token === "[]" ? String.raw`[^\x{0}-\x{10ffff}]` : String.raw`[\x{0}-\x{10ffff}]`
    }
    if (token.startsWith("[")) {
      if (inClass) {
        // a bracket within a class is one of its characters; what follows it may end the class
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
