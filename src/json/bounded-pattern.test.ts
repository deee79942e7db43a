import { describe, expect, test } from "bun:test"
import * as fc from "fast-check"
import { boundedPattern, Unbounded } from "./bounded-pattern.ts"
import { cases } from "../../test/support/cases.ts"

test.each([
  ["exponential", "^(a+)+$", "a"],
  ["exponential by alternatives", "^(a|a|b)*$", "a"],
  ["quadratic, at the end", "\\s+$", " "],
  ["quadratic, two parts", "^a*a*$", "a"],
  ["cubic", "^a*a*a*$", "a"],
  ["an address of e-mail", "^([\\w.+-]+)+@[\\w-]+\\.[\\w.-]+$", "a"],
  ["counted", "^(a{1,20}){1,40}$", "a"],
  ["one way", "^[a-z0-9_-]+$", "a"],
])(
  "a pattern that is %s on JavaScript's engine takes time of the text's length",
  (_name, pattern, letter) => {
    const { test: matches } = boundedPattern(pattern)
    const text = `${letter.repeat(1_000_000)}!`
    expect(matches.call(boundedPattern(pattern), text)).toBe(false)
  },
)

test.each([
  ["a(?=b)", "it has (?="],
  ["a(?!b)", "it has (?!"],
  ["(?<=b)a", "it has (?<="],
  ["(?<!b)a", "it has (?<!"],
  ["(a)\\1", "RE2 rejects it"],
  ["(?<n>a)\\k<n>", "it has a backreference"],
  ["(a{0,2000})", "RE2 rejects it"],
  ["(\\p{Letter})", "RE2 rejects it"],
])("%s is rejected: %s", (pattern, why) => {
  expect(() => boundedPattern(pattern)).toThrow(Unbounded)
  expect(() => boundedPattern(pattern)).toThrow(why)
})

test.each(["(", "[", "a**", "\\-", "a{2,1}", "\\p{Nothing}"])("%s is a SyntaxError", (pattern) => {
  expect(() => boundedPattern(pattern)).toThrow(SyntaxError)
})

describe("compared with JavaScript's engine", () => {
  /** What may stand within a class, and next to one. */
  const character = fc.constantFrom(
    ..."abxyz09 -_.,:;@/!",
    ..."\u00e9\u00df\u03a9\u0416\u4e2d\u{1f600}\u00a0\u2028\ufeff",
  )
  const escape = fc.constantFrom(
    ..."\\d \\D \\w \\W \\s \\S \\n \\t \\r \\f \\v \\0 \\. \\/ \\^ \\$ \\[ \\] \\( \\) \\{ \\} \\| \\* \\+ \\?".split(
      " ",
    ),
    ..."\\x41 \\u0041 \\u00e9 \\u{1f600} \\ud83d\\ude00 \\cJ \\p{L} \\P{L} \\p{Lu} \\p{N} \\p{Script=Greek} \\p{sc=Han}".split(
      " ",
    ),
  )
  const inClass = fc.oneof(
    character.filter((it) => it !== "-"),
    escape,
    fc.constantFrom("a-z", "0-9", "\\-", "\\b", "[", "^", "[:", "."),
  )
  const cls = fc
    .tuple(fc.constantFrom("[", "[^"), fc.array(inClass, { maxLength: 4 }))
    .map(([open, parts]) => `${open}${parts.join("")}]`)
  const { pattern } = fc.letrec<{ pattern: string; atom: string; sequence: string }>((tie) => ({
    atom: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      character.map((it) => (/[.|/]/.test(it) ? "." : it)),
      escape,
      cls,
      fc.constantFrom("^", "$", "\\b", "\\B", "."),
      tie("pattern").map((it) => `(${it})`),
      tie("pattern").map((it) => `(?:${it})`),
      tie("pattern").map((it) => `(?<n>${it})`),
    ),
    sequence: fc
      .array(
        fc.tuple(tie("atom"), fc.constantFrom("", "", "", "*", "+", "?", "{2}", "{1,3}", "{0,}", "+?")),
        {
          maxLength: 4,
        },
      )
      .map((parts) => parts.map((part) => part.join("")).join("")),
    pattern: fc.array(tie("sequence"), { minLength: 1, maxLength: 3 }).map((all) => all.join("|")),
  }))
  const text = fc
    .array(
      fc.oneof(
        character,
        fc.constantFrom("\n", "\r", "\u0000", "\b", "\u180e", "\ud800", "\ude00", "[", "^"),
      ),
      {
        maxLength: 6,
      },
    )
    .map((it) => it.join(""))

  test("bounded patterns match the same texts as RegExp", () => {
    const numRuns = cases(4000)
    let compared = 0
    fc.assert(
      fc.property(pattern, fc.array(text, { minLength: 5, maxLength: 5 }), (source, texts) => {
        let native: RegExp
        try {
          native = new RegExp(source, "u")
        } catch {
          expect(() => boundedPattern(source)).toThrow(SyntaxError)
          return
        }
        let bounded
        try {
          bounded = boundedPattern(source)
        } catch (error) {
          expect(error).toBeInstanceOf(Unbounded)
          return
        }
        compared++
        for (const one of texts)
          expect([source, one, bounded.test(one)]).toEqual([source, one, native.test(one)])
      }),
      { numRuns },
    )
    // some three of ten are, give or take
    expect(compared).toBeGreaterThan(numRuns / 8)
  })
})
