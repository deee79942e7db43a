import { expect, test } from "bun:test"
import { spells, toName } from "./name.ts"

test.each([
  ['"source"', "source", true],
  ['"\\u0073ource"', "source", true],
  ['"sourc\\u0065"', "source", true],
  ['"\\u005F\\u005f"', "__", true],
  ['"\\u0073ourcf"', "source", false],
  ['"\\u0173ource"', "source", false],
  ['"\\u1073ource"', "source", false],
  ['"\\\\u0073ource"', "source", false],
  ['"\\nource"', "source", false],
  ['"source\\u0022"', "source", false],
  ['"sourc"', "source", false],
  ['"\\u0073ourc"', "source", false],
  ['"sourcee"', "source", false],
  ['"a/b"', "a/b", true],
  ['"a\\/b"', "a/b", true],
  ['"a\\u002Fb"', "a/b", true],
  ['"é"', "é", true],
  ['"\\u00e9"', "é", true],
  ['"\\u00E9"', "é", true],
  ['"e\\u0301"', "é", false],
  ['"\\ud83d\\ude00"', "😀", true],
  ['"😀"', "😀", true],
  ['"\\u001F"', "\u001f", true],
  ['"\\u000a"', "\n", true],
  ['"\\n"', "\n", true],
  ['"\\""', '"', true],
  ['"\\u0022"', '"', true],
  ['"\\u005c"', "\\", true],
  ['""', "", true],
  ['"\\u0000"', "", false],
  ['"\\u0000"', "\0", true],
])("%s spells %p: %p", (spelling, text, expected) => {
  const bytes = Buffer.from(`{${spelling}:1}`)
  expect(spells(bytes, 1, bytes.length - 3, toName(text))).toBe(expected)
  expect(JSON.parse(spelling) === text).toBe(expected)
})
