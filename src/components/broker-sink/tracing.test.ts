import { expect, test } from "bun:test"
import { eventOf } from "../../../test/support/event.ts"
import type { RecordHeader } from "../../pipeline/record.ts"
import { traceHeaders } from "./tracing.ts"

const PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

function passed(headers: { [name: string]: string }): string[] {
  const added: RecordHeader[] = []
  traceHeaders(eventOf("{}", { headers }), added)
  return added.map(([name, value]) => `${name}: ${Buffer.from(value).toString()}`)
}

test("traceparent and tracestate are passed as they are", () => {
  const state = "rojo=00f067aa0ba902b7, congo=t61rcWkgMzE,tenant@vendor=a b"
  expect(passed({ traceparent: PARENT, tracestate: state })).toEqual([
    `traceparent: ${PARENT}`,
    `tracestate: ${state}`,
  ])
  expect(passed({})).toEqual([])
})

test.each([
  "",
  "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
  "00-00000000000000000000000000000000-b7ad6b7169203331-01",
  "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
  "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
  "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
  "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
  `${PARENT}, ${PARENT}`,
])("traceparent %p is left out, and tracestate with it", (traceparent) => {
  expect(passed({ traceparent, tracestate: "a=b" })).toEqual([])
})

test("a later version of traceparent may have more fields", () => {
  const later = `01${PARENT.slice(2)}-more`
  expect(passed({ traceparent: later })).toEqual([`traceparent: ${later}`])
})

const members = (count: number): string => Array.from({ length: count }, (_, i) => `k${i}=v`).join(",")

test.each([
  ["no member", ","],
  ["no value", "a="],
  ["no key", "=b"],
  ["an upper-case key", "A=b"],
  ["a key twice", "a=b,a=c"],
  ["a value with an equals sign", "a=b=c"],
  ["a value beyond ASCII", "a=\u00e9"],
  ["a value of 257 characters", `a=${"b".repeat(257)}`],
  ["33 members", members(33)],
])("a tracestate with %s is left out", (_, tracestate) => {
  expect(passed({ traceparent: PARENT, tracestate })).toEqual([`traceparent: ${PARENT}`])
})

test("a tracestate of 32 members, empty ones aside, is passed", () => {
  expect(passed({ traceparent: PARENT, tracestate: `${members(32)},,` })).toHaveLength(2)
})
