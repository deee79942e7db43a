import { expect, test } from "bun:test"
import * as fc from "fast-check"
import { compilePattern } from "./pattern.ts"

const matches = (pattern: string, value: string): boolean => compilePattern(pattern)(Buffer.from(value))

test.each<[pattern: string, yes: string[], no: string[]]>([
  ["invoice.paid", ["invoice.paid"], ["invoice.paid2", "xinvoice.paid", "invoiceXpaid", "Invoice.paid", ""]],
  ["invoice.*", ["invoice.", "invoice.paid", "invoice.a.b", "invoice.*"], ["invoice", "xinvoice.paid"]],
  ["*.created", ["a.created", ".created"], ["created", "a.created2"]],
  ["*", ["", "a", "line\nbreak", "ä"], []],
  ["a*b*c", ["abc", "a1b2c", "abbcc", "abcbc"], ["ab", "acb", "xabc", "abcx"]],
  ["aba*aba", ["abaaba", "aba-aba"], ["aba", "ababa"]],
  ["*ab*ab*", ["abab", "xabyabz"], ["ab", "aab"]],
  ["**", ["", "a"], []],
  ["a.c+(x|y)[z]?", ["a.c+(x|y)[z]?"], ["abc", "acx"]],
  ["é*", ["école".normalize("NFC")], ["e"]],
])("%s", (pattern, yes, no) => {
  for (const value of yes) expect([value, matches(pattern, value)]).toEqual([value, true])
  for (const value of no) expect([value, matches(pattern, value)]).toEqual([value, false])
})

test("a pattern matches what the same regular expression does", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 12 })
  const pattern = fc.string({ unit: fc.constantFrom("a", "b", "*"), maxLength: 8 })
  fc.assert(
    fc.property(pattern, text, (it, value) => {
      const regular = new RegExp(`^${it.replaceAll("*", ".*")}$`)
      return matches(it, value) === regular.test(value)
    }),
    { numRuns: 5000 },
  )
})

test("what makes a backtracking matcher exponential ends", () => {
  const value = Buffer.from("a".repeat(1024 * 1024))
  expect(compilePattern(`${"*a".repeat(500)}*b`)(value)).toBe(false)
  const part = `${"a".repeat(400_000)}b`
  expect(compilePattern(`*${part}*${part}*`)(value)).toBe(false)
})
