import { expect, test } from "bun:test"
import * as fc from "fast-check"
import { escapeControls, escapeLine } from "./escape-controls.ts"

test.each([
  ["text as it is", "a\tb\nc\r\nd é 😀 語 \u200d", "a\tb\nc\r\nd é 😀 語 \u200d"],
  ["escape sequences", "\u001b[2J\u001b]0;title\u0007", "\\u001b[2J\\u001b]0;title\\u0007"],
  ["their C1 forms, DEL and NUL", "\u009b2J\u007f\u0000", "\\u009b2J\\u007f\\u0000"],
  ["a carriage return that would write over the line", "good\rbad", "good\\u000dbad"],
  ["text that is turned around", "a\u202eb\u2066c\u200f", "a\\u202eb\\u2066c\\u200f"],
])("escapes %s", (_, text, escaped) => {
  expect(escapeControls(text)).toBe(escaped)
})

test("a line stays one", () => {
  expect(escapeLine("a\r\nb\nc")).toBe("a\\u000d\\u000ab\\u000ac")
})

test("JSON stays the same value", () => {
  const controls = fc.string({
    unit: fc.integer({ min: 0, max: 0x20ff }).map((code) => String.fromCharCode(code)),
  })
  fc.assert(
    fc.property(controls, (text) => {
      const json = escapeControls(JSON.stringify({ [text]: text }))
      expect(JSON.parse(json)).toEqual({ [text]: text })
      expect(json).toMatch(/^[\x20-\x7e\u00a0-\uffff]*$/)
    }),
  )
})
