import { expect, test } from "bun:test"
import { enumerate, nearest, suggest } from "./words.ts"

const KEYS = ["topic", "connection", "key", "headers"]

test.each([
  ["topics", "topic"],
  ["Topic", "topic"],
  ["tpoic", "topic"],
  ["conection", "connection"],
  ["kye", "key"],
  ["header", "headers"],
])("the nearest word to %s is %s", (word, meant) => {
  expect(nearest(word, KEYS)).toBe(meant)
})

test.each(["queue", "", "to", "retention"])("nothing is near to %p", (word) => {
  expect(nearest(word, KEYS)).toBeUndefined()
})

test("the nearest of two names is suggested", () => {
  expect(nearest("ssl_key_locatio", ["ssl_ca_location", "ssl_key_location"])).toBe("ssl_key_location")
})

test("without a near name all are listed", () => {
  expect(suggest("queue", ["topic", "key"], (name) => `<${name}>`)).toBe("; expected <topic> or <key>")
  expect(suggest("queue", [], String)).toBe("")
})

const MANY = [
  "port",
  "path",
  "host",
  "max_body_bytes",
  "rate_limit",
  "rate_burst",
  "tls_key",
  "allow",
  "directory",
  "id",
]

test.each([
  ["dir", "directory, id and port"],
  ["maximum_body_size", "max_body_bytes, rate_burst and rate_limit"],
  ["limit_of_rate", "rate_limit, rate_burst and port"],
])("of many names the nearest three to %s are named", (word, three) => {
  expect(suggest(word, MANY, String)).toBe(`; the nearest of 10 are ${three}`)
})

test("words are joined as in a sentence", () => {
  expect(enumerate([])).toBe("")
  expect(enumerate(["a"])).toBe("a")
  expect(enumerate(["a", "b"])).toBe("a and b")
  expect(enumerate(["a", "b", "c"], "or")).toBe("a, b or c")
})
