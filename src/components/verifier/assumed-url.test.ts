import { expect, test } from "bun:test"
import { assumedUrl } from "./step.ts"

test.each([
  ["https://h/in?a=secret&b=secret", "https://h/in?a=…&b=…"],
  ["https://h/in?a?b=secret=more&c", "https://h/in?a?b=…&…"],
  ["https://user:secret@h/in?secret", "https://…@h/in?…"],
  ["https://h/in", "https://h/in"],
])("%s is logged as %s", (url, shown) => {
  expect(assumedUrl(url)).toBe(shown)
})

test("a long query is shortened in time of its length", () => {
  const url = `https://h/in?${"a=b&?".repeat(200_000)}`
  expect(assumedUrl(url)).toHaveLength(501)
})
