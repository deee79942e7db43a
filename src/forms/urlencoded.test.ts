import { expect, test } from "bun:test"
import { MOST_FIELDS } from "./field.ts"
import { parseUrlencoded } from "./urlencoded.ts"

/** @param body with a character for each byte */
const parse = (body: string): unknown => {
  const fields = parseUrlencoded(Buffer.from(body, "latin1"))
  return !Array.isArray(fields) ? fields.rule : fields.map(({ name, value }) => [name, value])
}

test.each<[body: string, fields: [string, string][]]>([
  ["", []],
  ["&&", []],
  ["=", [["", ""]]],
  ["a", [["a", ""]]],
  [
    "a=1=2&b=",
    [
      ["a", "1=2"],
      ["b", ""],
    ],
  ],
  [
    "b=1&a=2&b=3",
    [
      ["b", "1"],
      ["a", "2"],
      ["b", "3"],
    ],
  ],
  [
    "7=a&__proto__=b&1=c",
    [
      ["7", "a"],
      ["__proto__", "b"],
      ["1", "c"],
    ],
  ],
  ["a+b=%2B+%20", [["a b", "+  "]]],
  [
    "%=%4&a=%zz%4G%41",
    [
      ["%", "%4"],
      ["a", "%zz%4GA"],
    ],
  ],
  ["a=%c3%A9\xc3\xa9", [["a", "éé"]]],
  ["a=%EF%BB%BFx", [["a", "\ufeffx"]]],
  ["a=%00%0A", [["a", "\0\n"]]],
])("%p", (body, fields) => {
  expect(parse(body)).toEqual(fields)
})

test.each(["a=%ff", "%e9=1", "a=\xe9", "a=%ed%a0%80", "a=1&b=%c3"])("%p is not UTF-8", (body) => {
  expect(parse(body)).toBe("invalid_utf8")
})

test("a thousand fields are the most", () => {
  expect(parse("a=1&".repeat(MOST_FIELDS))).toHaveLength(MOST_FIELDS)
  expect(parse("a=1&".repeat(MOST_FIELDS + 1))).toBe("too_many_fields")
})
