import { expect, test } from "bun:test"
import { indented, isJsonType, jsonProblem } from "./json-check.ts"

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
