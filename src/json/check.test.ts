import { describe, expect, test } from "bun:test"
import * as fc from "fast-check"
import { findFlaw, type Rule } from "./check.ts"
import { cases } from "../../test/support/cases.ts"

const bytes = (...parts: (string | number[])[]): Uint8Array =>
  Buffer.concat(parts.map((part) => Buffer.from(part as string)))

const BOM = [0xef, 0xbb, 0xbf]

describe("an object is accepted", () => {
  test.each([
    ["{}"],
    [' \t\r\n{ "a" : [ ] , "b" : { } } \n'],
    ['{"a":1,"a":2}'],
    ['{"a":[0,-0,1.5,-1E+5,1e-5,1e400,12345678901234567890]}'],
    ['{"a":[true,false,null]}'],
    ['{"a":"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD800"}'],
    ['{"a":"\u2028\u007f\u{1f600}ÿ"}'],
    ['{"":""}'],
    ['{"__proto__":{}}'],
  ])("%j", (text) => {
    expect(findFlaw(bytes(text))).toBeUndefined()
  })

  test("after one byte-order mark", () => {
    expect(findFlaw(bytes(BOM, "{}"))).toBeUndefined()
  })

  test("in a view that does not begin where its buffer does", () => {
    expect(findFlaw(bytes('x{"a":1}x').subarray(1, -1))).toBeUndefined()
  })

  test.each([2, 31, 32, 33, 64, 65, 100_000])("%d levels deep, objects and arrays mixed", (depth) => {
    const kinds = Array.from({ length: depth }, (_, level) => level === 0 || Math.sin(level * level) > 0)
    const open = kinds.map((isObject) => (isObject ? '{"a":' : "[")).join("")
    const close = kinds.toReversed().map((isObject) => (isObject ? "}" : "]"))
    expect(findFlaw(bytes(open, "1", close.join("")))).toBeUndefined()
    for (const level of [0, 1, 30, 31, 32, 33, 63, 64].filter((level) => level < depth)) {
      const at = depth - 1 - level
      const wrong = close.with(at, close[at] === "}" ? "]" : "}").join("")
      expect(findFlaw(bytes(open, "1", wrong))?.offset).toBe(open.length + 1 + at)
    }
  })
})

describe("a flaw has a rule, an exact position and words without the body", () => {
  const cases: [name: string, body: Uint8Array, rule: Rule, offset: number, problem: string][] = [
    ["an empty body", bytes(""), "empty_body", 0, "is empty"],
    ["a byte-order mark alone", bytes(BOM), "empty_body", 3, "is empty"],
    ["white space alone", bytes("  "), "invalid_json", 2, "expected a value"],
    ["two byte-order marks", bytes(BOM, BOM, "{}"), "invalid_json", 3, "expected a value"],
    ["half a byte-order mark", bytes([0xef, 0xbb]), "invalid_utf8", 2, "UTF-8"],
    ["an invalid byte in a string", bytes('{"a":"', [0xff], '"}'), "invalid_utf8", 6, "UTF-8"],
    ["a lone continuation byte", bytes('{"a":"', [0x80], '"}'), "invalid_utf8", 6, "UTF-8"],
    ["an overlong slash", bytes('{"a":"', [0xc0, 0xaf], '"}'), "invalid_utf8", 6, "UTF-8"],
    [
      "an overlong form of three bytes",
      bytes('{"a":"', [0xe0, 0x80, 0xaf], '"}'),
      "invalid_utf8",
      7,
      "UTF-8",
    ],
    [
      "an overlong form of four bytes",
      bytes('{"a":"', [0xf0, 0x8f, 0xbf, 0xbf], '"}'),
      "invalid_utf8",
      7,
      "UTF-8",
    ],
    ["a surrogate in UTF-8", bytes('{"a":"', [0xed, 0xa0, 0x80], '"}'), "invalid_utf8", 7, "UTF-8"],
    [
      "a character beyond U+10FFFF",
      bytes('{"a":"', [0xf4, 0x90, 0x80, 0x80], '"}'),
      "invalid_utf8",
      7,
      "UTF-8",
    ],
    ["a truncated character in a string", bytes('{"a":"', [0xe2, 0x82], '"}'), "invalid_utf8", 8, "UTF-8"],
    ["a truncated last character", bytes('{"a":"', [0xf0, 0x9f, 0x98]), "invalid_utf8", 9, "UTF-8"],
    [
      "an invalid byte after the bounds of UTF-8",
      bytes("\u{80}\u{7ff}\u{800}\u{d7ff}\u{e000}\u{ffff}\u{10000}\u{10ffff}", [0xff]),
      "invalid_utf8",
      24,
      "UTF-8",
    ],
    ["Latin-1", bytes('{"a":"gr', [0xfc, 0xdf], 'e"}'), "invalid_utf8", 8, "UTF-8"],
    ["UTF-16", bytes([0xff, 0xfe, 0x7b, 0, 0x7d, 0]), "invalid_utf8", 0, "UTF-8"],
    ["NaN", bytes('{"a":NaN}'), "invalid_json", 5, "expected a value"],
    ["Infinity", bytes('{"a":-Infinity}'), "invalid_json", 6, "expected a digit"],
    ["a comment", bytes('{"a":1 /* one */}'), "invalid_json", 7, "expected , or }"],
    ["a comma after the last member", bytes('{"a":1,}'), "invalid_json", 7, "expected a name in quotes"],
    ["a comma after the last element", bytes('{"a":[1,]}'), "invalid_json", 8, "expected a value"],
    ["two documents", bytes("{}{}"), "invalid_json", 2, "expected the end"],
    ["a NUL after the document", bytes("{}\0"), "invalid_json", 2, "expected the end"],
    ["a NUL in place of a value", bytes('{"a":\0}'), "invalid_json", 5, "expected a value"],
    ["a no-break space", bytes("{\u00a0}"), "invalid_json", 1, "expected a name in quotes"],
    ["a name without quotes", bytes("{a:1}"), "invalid_json", 1, "expected a name in quotes"],
    ["single quotes", bytes("{'a':1}"), "invalid_json", 1, "expected a name in quotes"],
    ["no colon", bytes('{"a" 1}'), "invalid_json", 5, "expected :"],
    ["the other bracket", bytes('{"a":[1}'), "invalid_json", 7, "expected , or ]"],
    ["one bracket too many", bytes('{"a":1}}'), "invalid_json", 7, "expected the end"],
    ["a leading zero", bytes('{"a":01}'), "invalid_json", 6, "expected , or }"],
    ["a leading plus", bytes('{"a":+1}'), "invalid_json", 5, "expected a value"],
    ["no digit after the point", bytes('{"a":1.}'), "invalid_json", 7, "expected a digit"],
    ["no digit in the exponent", bytes('{"a":1e+}'), "invalid_json", 8, "expected a digit"],
    ["a hexadecimal number", bytes('{"a":0x10}'), "invalid_json", 6, "expected , or }"],
    ["half a word", bytes('{"a":tru}'), "invalid_json", 8, "expected true, false or null"],
    ["a word with a tail", bytes('{"a":nulls}'), "invalid_json", 9, "expected , or }"],
    [
      "a line break in a string",
      bytes('{"a":"b\n"}'),
      "invalid_json",
      7,
      "expected an escaped control character",
    ],
    ["an unknown escape", bytes('{"a":"\\x41"}'), "invalid_json", 7, "expected an escape sequence"],
    ["a short Unicode escape", bytes('{"a":"\\u00g0"}'), "invalid_json", 10, "expected an escape sequence"],
    ["a string that does not end", bytes('{"a":"b'), "invalid_json", 7, "expected the rest of a string"],
    ["an object that does not end", bytes('{"a":1'), "invalid_json", 6, "expected , or }"],
    ["a mistake after a byte-order mark", bytes(BOM, "{]"), "invalid_json", 4, "expected a name in quotes"],
    ["a mistake after letters of several bytes", bytes('{"é":x}'), "invalid_json", 6, "expected a value"],
    ["an array", bytes(" [{}]"), "not_an_object", 1, "expected {"],
    ["a string", bytes('"{}"'), "not_an_object", 0, "expected {"],
    ["null after a byte-order mark", bytes(BOM, "null"), "not_an_object", 3, "expected {"],
    ["an array that is not valid either", bytes("[1"), "invalid_json", 2, "expected , or ]"],
    ["100,000 nested arrays", bytes("[".repeat(1e5), "]".repeat(1e5)), "not_an_object", 0, "expected {"],
    ["a million arrays that do not end", bytes("[".repeat(1e6)), "invalid_json", 1e6, "expected a value"],
  ]
  test.each(cases)("%s", (_name, body, rule, offset, problem) => {
    expect(findFlaw(body)).toEqual({ rule, offset, problem: expect.stringContaining(problem) })
  })
})

const fatal = new TextDecoder("utf-8", { fatal: true })

/** JSON with some bytes replaced, inserted or left out. */
const damaged = fc
  .tuple(
    fc.oneof(
      fc.json(),
      fc.json().map((text) => `{"a":${text}}`),
      fc.constant('{"a":[-1.5e+3,"\\u00e9é\\n"],"b":{"c":null,"d":[true,false]}}'),
    ),
    fc.array(
      fc.tuple(
        fc.nat(),
        fc.constantFrom("replace", "insert", "remove", "cut"),
        fc.oneof(
          fc.constantFrom(...Buffer.from('{}[]",:\\/u0123456789aAeE+-. \n\t\r\0\x1f\x7ftrufalsn')),
          fc.constantFrom(0x80, 0xa0, 0xbf, 0xc0, 0xc2, 0xe0, 0xed, 0xef, 0xbb, 0xf0, 0xf4, 0xff),
          fc.nat(255),
        ),
      ),
      { maxLength: 3 },
    ),
  )
  .map(([text, changes]) => {
    const body = [...Buffer.from(text)]
    for (const [where, how, byte] of changes) {
      const at = where % (body.length + 1)
      if (how === "cut") body.length = at
      else body.splice(at, how === "insert" ? 0 : 1, ...(how === "remove" ? [] : [byte]))
    }
    return Buffer.from(body)
  })

const anyBody = fc.oneof({ weight: 4, arbitrary: damaged }, fc.uint8Array({ maxLength: 12 }))

/** Ways to continue after a position in UTF-8 or in JSON: the rest of a token, then the rest of a member. */
const UTF8_ENDINGS = [
  [],
  [0x80],
  [0xa0],
  [0x90],
  [0x80, 0x80],
  [0xa0, 0x80],
  [0x90, 0x80],
  [0x80, 0x80, 0x80],
  [0x90, 0x80, 0x80],
]
const JSON_ENDINGS = [
  "",
  "0",
  '"',
  'n"',
  '0000"',
  '000"',
  '00"',
  '0"',
  "rue",
  "ue",
  "e",
  "alse",
  "lse",
  "se",
  "ull",
  "ll",
  "l",
].flatMap((rest) => ["", ":0", '""', '"":0'].map((member) => rest + member))

/** The brackets that close what a beginning of a JSON text has opened. */
function closing(beginning: Uint8Array): string {
  const open: string[] = []
  const outsideStrings = Buffer.from(beginning)
    .toString("latin1")
    .replaceAll(/"(\\.|[^"\\])*("|\\?$)/gs, "")
  for (const bracket of outsideStrings.match(/[[\]{}]/g) ?? []) {
    if (bracket === "{" || bracket === "[") open.push(bracket === "{" ? "}" : "]")
    else open.pop()
  }
  return open.toReversed().join("")
}

const accepts = (read: () => unknown): boolean => {
  try {
    read()
    return true
  } catch {
    return false
  }
}

/** Whether one of the endings makes a valid text of the beginning. */
function canGoOn(rule: Rule, beginning: Uint8Array): boolean {
  if (rule === "invalid_utf8") {
    return UTF8_ENDINGS.some((ending) => accepts(() => fatal.decode(bytes([...beginning], ending))))
  }
  const brackets = closing(beginning)
  return JSON_ENDINGS.some((ending) =>
    accepts(() => JSON.parse(fatal.decode(bytes([...beginning], ending, brackets)))),
  )
}

test("a flaw's offset is the length of the longest valid prefix", () => {
  const seen = new Set<Rule>()
  fc.assert(
    fc.property(anyBody, (body) => {
      const flaw = findFlaw(body)
      if (flaw?.rule !== "invalid_json" && flaw?.rule !== "invalid_utf8") return
      seen.add(flaw.rule)
      expect(flaw.offset).toBeLessThanOrEqual(body.length)
      expect(canGoOn(flaw.rule, body.subarray(0, flaw.offset))).toBe(true)
      if (flaw.offset < body.length) {
        expect(canGoOn(flaw.rule, body.subarray(0, flaw.offset + 1))).toBe(false)
      }
    }),
    { numRuns: cases(3000) },
  )
  expect(seen.size).toBe(2)
})
