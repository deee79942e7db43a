import { expect, test } from "bun:test"
import { toOutline, toShownUrl } from "./shown-url.ts"

test.each([
  [
    "https://user:pass@example.com:8443/in?token=x#y",
    "https://example.com:8443/in?…",
    "https://…@example.com:8443/in?token=…#y",
  ],
  ["https://TOKEN@example.com", "https://example.com", "https://…@example.com"],
  ["https://user:p@ss@example.com/in", "https://example.com/in", "https://…@example.com/in"],
  ["https://example.com/in@x?a=1&b&=c", "https://example.com/in@x?…", "https://example.com/in@x?a=…&…&=…"],
  ["https://h/in?a?b=secret=more&c", "https://h/in?…", "https://h/in?a?b=…&…"],
  ["/in?s3cret", "/in?…", "/in?…"],
  ["https://h/in?", "https://h/in", "https://h/in?"],
  ["https://h/in", "https://h/in", "https://h/in"],
  ["", "", ""],
])("%s is printed as %s, or as %s", (url, shown, outline) => {
  expect(toShownUrl(url)).toBe(shown)
  expect(toOutline(url)).toBe(outline)
})
