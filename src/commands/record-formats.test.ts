import { expect, test } from "bun:test"
import type { StoredRecord } from "../brokers/broker.ts"
import { toLocalTime } from "../components/local-time.ts"
import { isColoured, painter } from "../process/colours.ts"
import { toPretty } from "./pretty-record.ts"
import { toJsonLine, toRaw, toValue } from "./record-formats.ts"

function record(value: string | Uint8Array, more: Partial<StoredRecord> = {}): StoredRecord {
  return {
    topic: "t",
    partition: 3,
    offset: 42,
    timestampMs: Date.UTC(2026, 10, 22, 14),
    key: undefined,
    headers: [],
    value: typeof value === "string" ? Buffer.from(value) : value,
    ...more,
  }
}

const BEGINNING = '{"topic":"t","partition":3,"offset":42,"timestamp":"2026-11-22T14:00:00.000Z"'
const LOSSY = '{"n":12345678901234567890,"n":1.00,"s":"\\u0041\\ud800","e":1e400}'

test.each([
  ["JSON as it is spelled", LOSSY, `"value":${LOSSY}`],
  ["its line breaks as spaces", '{\r\n  "a": 1\n}', '"value":{    "a": 1 }'],
  ["without a byte-order mark", '\uFEFF{"a":1}', '"value":{"a":1}'],
  ["other JSON than objects", "[1, 2]", '"value":[1, 2]'],
  [
    "controls within strings as escapes",
    '{"a":"\u007f\u009b\u2028"}',
    '"value":{"a":"\\u007f\\u009b\\u2028"}',
  ],
  ["other text", "not json\n\u001b", '"value_text":"not json\\n\\u001b"'],
  ["an empty value", "", '"value_text":""'],
  ["bytes that are no UTF-8", Buffer.from([0x7b, 0xff]), '"value_base64":"e/8="'],
] as const)("json: the value is %s", (_, value, expected) => {
  const line = toJsonLine(record(value))
  expect(line).toBe(`${BEGINNING},"key":null,"headers":[],${expected}}\n`)
  JSON.parse(line)
})

test("json: key, headers and further members are before the value, in base64 where they are no UTF-8", () => {
  const bytes = Buffer.from([0xff])
  const text = Buffer.from("é")
  const headers = [
    ["a", text],
    ["a", bytes],
  ] as const
  expect(toJsonLine(record("{}", { key: text, headers }), { reason: "r" })).toBe(
    `${BEGINNING},"key":"é","headers":[["a","é"],["a",{"base64":"/w=="}]],"reason":"r","value":{}}\n`,
  )
  expect(toJsonLine(record("{}", { key: bytes }))).toBe(
    `${BEGINNING},"key_base64":"/w==","headers":[],"value":{}}\n`,
  )
})

test("a producer's time that is no date is shown as none: in nanoseconds, say", () => {
  const odd = record("{}", { timestampMs: 1.7e18 })
  expect(JSON.parse(toJsonLine(odd))).toMatchObject({ timestamp: null, value: {} })
  expect(toPretty(odd, painter(false))).toBe("t[3]@42  no date\n{}\n")
})

test("raw: the value's bytes and a newline; value: control characters escaped", () => {
  const value = Buffer.from([0x7b, 0x1b, 0xff])
  expect(toRaw(record(value))).toEqual(Buffer.from([0x7b, 0x1b, 0xff, 0x0a]))
  expect(toValue(record('{"a":"\u009b"}'))).toBe('{"a":"\\u009b"}\n')
})

const plain = painter(false)

test("pretty: where the record is, its time, key and headers, and the value indented, each token as it is spelled", () => {
  const value = `{"a":{},"b":[ ],"n":[1.00,-2e5,true,null],"s":"x:{\\"\\u0041","o":{"p":1}}`
  const shown = toPretty(
    record(value, { key: Buffer.from("k"), headers: [["h", Buffer.from("v\n")]] }),
    plain,
  )
  expect(shown).toBe(`t[3]@42  ${toLocalTime(Date.UTC(2026, 10, 22, 14))}  key k
h: v\\u000a
{
  "a": {},
  "b": [],
  "n": [
    1.00,
    -2e5,
    true,
    null
  ],
  "s": "x:{\\"\\u0041",
  "o": {
    "p": 1
  }
}
`)
  expect(JSON.parse(shown.split("\n").slice(2).join("\n"))).toEqual(JSON.parse(value))
})

test("pretty: values that are no JSON are text, without control characters", () => {
  expect(toPretty(record("a\n\u001b[2J"), plain).split("\n").slice(1)).toEqual(["a", "\\u001b[2J", ""])
  expect(toPretty(record(Buffer.from([0x61, 0xff])), plain).split("\n")[1]).toBe("a⟨0xFF⟩")
})

test("pretty: nothing but brackets does not become its square", () => {
  const deep = "[".repeat(50_000) + "]".repeat(50_000)
  expect(toPretty(record(deep), plain).length).toBeLessThan(50 * deep.length)
})

test("pretty: names, texts, numbers and words have colours of their own, and the text is the same without them", () => {
  const value = '{"name":"text","n":1,"b":true}'
  const coloured = toPretty(record(value), painter(true))
  // oxlint-disable-next-line no-control-regex
  const tokens = /\u001b\[(\d+)m(?:"name"|"text"|1|true)\u001b/g
  const styles = [...coloured.matchAll(tokens)].map(([, code]) => code)
  expect(new Set(styles).size).toBe(4)
  expect(Bun.stripANSI(coloured)).toBe(toPretty(record(value), plain))
})

test.each([
  [true, {}, true],
  [false, {}, false],
  [true, { NO_COLOR: "1" }, false],
  [true, { NO_COLOR: "" }, true],
  [true, { TERM: "dumb" }, false],
  [false, { FORCE_COLOR: "1" }, true],
  [true, { FORCE_COLOR: "0" }, false],
  [false, { FORCE_COLOR: "1", NO_COLOR: "1" }, true],
] as const)("colours, on a terminal: %p, with %p: %p", (isTerminal, env, coloured) => {
  expect(isColoured(isTerminal, env)).toBe(coloured)
})
