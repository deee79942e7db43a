import { describe, expect, test } from "bun:test"
import * as fc from "fast-check"
import { indented, isJsonType, jsonProblem, parseJson, type JsonNode } from "./parse.ts"

/** Without blanks. */
function toText(node: JsonNode): string {
  if (node.kind === "array") return `[${node.items.map(toText).join(",")}]`
  if (node.kind === "object")
    return `{${node.members.map(({ name, value }) => `${name}:${toText(value)}`).join(",")}}`
  return node.text
}

test.each([
  "12345678901234567890",
  "1e400",
  "-0.10",
  '"\\ud800"',
  '{"a":1,"a":2,"\\u0061":3}',
  '{"2":1,"1":2}',
  "[]",
  "{}",
  '[[],{},[{"a":[null,true,false]}]]',
])("%s stays as it is spelled", (text) => {
  expect(toText(parseJson(text)!)).toBe(text)
})

test("blanks between tokens and a byte-order mark are left out", () => {
  expect(toText(parseJson('\ufeff {\n "a" : [ 1 ,\t2 ] }\r\n')!)).toBe('{"a":[1,2]}')
})

test.each([
  "",
  "{",
  "// a\n1",
  "[1]\u00a0",
  "+1",
  ".5",
  "1.",
  "'a'",
  "-",
  '"a\nb"',
  "[1,]",
  '{"a":}',
  '{"a" 1}',
  "{1:2}",
  "01",
  "1 2",
  "[1}",
  "nul",
  '"\u0001"',
  '"\\x"',
  "{,}",
  "[,1]",
  '{"a":1,}',
])("%j is not JSON", (text) => expect(parseJson(text)).toBeUndefined())

test("nesting of a thousand is shown, and nesting of a million is shown as the text that it is", () => {
  const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth)
  expect(parseJson(nested(1000))).toBeDefined()
  expect(parseJson(nested(1_000_000))).toBeUndefined()
})

describe("the viewer's parser agrees with JSON.parse", () => {
  test("JSON.parse and the viewer accept the same texts, with the same values", () =>
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(JSON.parse(toText(parseJson(text)!))).toEqual(JSON.parse(text))
      }),
    ))

  test("the viewer refuses the texts that JSON.parse refuses", () =>
    fc.assert(
      fc.property(fc.json(), fc.nat(), fc.constantFrom(...'{}[]:,"0-.e\\ u'), (text, at, inserted) => {
        const mutated = text.slice(0, at % (text.length + 1)) + inserted + text.slice(at % (text.length + 1))
        let isValid = true
        try {
          JSON.parse(mutated)
        } catch {
          isValid = false
        }
        expect(parseJson(mutated) !== undefined).toBe(isValid)
      }),
    ))
})

test.each([
  ['{"a":1}', undefined],
  ["[1]", "JSON, but not an object"],
  ["null", "JSON, but not an object"],
])("%s: %p", (text, problem) => {
  expect(jsonProblem(text)).toBe(problem)
})

test("what is not JSON has the parser's words", () => {
  expect(jsonProblem('{"a":}')).toContain("JSON")
})

test.each([
  ["application/json", true],
  ["application/json; charset=utf-8", true],
  ["application/cloudevents+json", true],
  ["application/x-www-form-urlencoded", false],
  ["text/plain", false],
])("%s is JSON: %p", (type, expected) => {
  expect(isJsonType(type)).toBe(expected)
})

test.each([
  ['{"a":[1]}', '{\n  "a": [\n    1\n  ]\n}'],
  ['{"n":12345678901234567890}', '{"n":12345678901234567890}'],
  ['{"n":1.0}', '{"n":1.0}'],
  ["a=1&b=2", "a=1&b=2"],
])("%s is edited as %s", (text, edited) => {
  expect(indented(text)).toBe(edited)
})
