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

test("a long query is shortened at once", () => {
  const url = `https://h/in?${"a=b&?".repeat(4000)}`
  const startMs = performance.now()
  for (let n = 0; n < 50; n++) expect(assumedUrl(url)).toHaveLength(501)
  expect(performance.now() - startMs).toBeLessThan(1000)
})
