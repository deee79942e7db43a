import { expect, test } from "bun:test"
import type { StoredRecord } from "./broker.ts"
import { parseCondition } from "./record-filter.ts"

const record: StoredRecord = {
  topic: "t",
  partition: 0,
  offset: 0,
  timestampMs: 0,
  key: Buffer.from("cus_1"),
  value: Buffer.from(
    '{"type":"invoice.paid","big":12345678901234567890,"ok":true,"none":null,"a":["x","y"],"esc":"\\u0041=b","o":{"p":1}}',
  ),
  headers: [
    ["X-Kind", Buffer.from("one")],
    ["x-kind", Buffer.from("two")],
  ],
}

test.each([
  ["json:/type=invoice.paid", true],
  ["json:/type=invoice", false],
  ["json:/type=invoice.*", true],
  ["json:/type=*paid", true],
  ["json:/type=*.*", true],
  ["json:/type=*", true],
  ["json:/type=i*v*d", true],
  ["json:/type=*paid*paid", false],
  ["json:/type=invoice.paid*paid", false],
  ["json:/type=", false],
  ["json:/type=INVOICE.PAID", false],
  ["json:/big=12345678901234567890", true],
  ["json:/big=12345678901234567000", false],
  ["json:/ok=true", true],
  ["json:/none=null", false],
  ["json:/none=*", false],
  ["json:/missing=*", false],
  ["json:/a/1=y", true],
  ["json:/esc=A=b", true],
  ['json:/o={"p":1}', true],
  ["key=cus_*", true],
  ["key=cus_2", false],
  ["header:x-KIND=one", true],
  ["header:x-kind=two", true],
  ["header:x-kind=three", false],
  ["header:other=*", false],
  ["text=INVOICE.paid", true],
  ["text=CUS_1", true],
  ["text=two", true],
  ["text=three", false],
  ["text=*", false],
  ["text=one && json:/type=invoice.* && key=cus_1", true],
  ["text=one && json:/type=invoice.* && key=cus_2", false],
  ["json:/type=invoice.paid && x", false],
] as const)("%s: %p", (condition, matches) => {
  expect(parseCondition(condition)(record)).toBe(matches)
})

test("a value that is no JSON, and a record without a key, match nothing", () => {
  expect(parseCondition("json:/a=*")({ ...record, value: Buffer.from('{"a":1,}') })).toBe(false)
  expect(parseCondition("key=*")({ ...record, key: undefined })).toBe(false)
})

test.each(["json:/type", "json:type=x", "header:=x", "value=x", "=x", "", "text=x && json:/type"])(
  "%p is no condition",
  (text) => {
    expect(() => parseCondition(text)).toThrow("Expected json:/pointer=pattern")
  },
)
