import { expect, test } from "bun:test"
import { eventOf } from "../../../test/support/event.ts"
import type { RecordHeader } from "../../pipeline/record.ts"
import type { KnownSender } from "../known-sender.ts"
import { cloudEventHeaders } from "./cloud-events.ts"

const ARRIVED = Date.parse("2026-11-22T10:00:00.123Z")
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const ACME: KnownSender = {
  name: "acme",
  event: { id: "header:X-Id", type: "json:/type", time: "json:/time" },
  covers: undefined,
}

type Given = { [key in "id" | "source" | "type" | "time"]?: string }

/** The headers, by name, of an event from a sender, with these keys. */
function headersOf(
  body: string,
  {
    sender,
    headers,
    pipeline = "payments",
    ...given
  }: Given & { sender?: KnownSender; headers?: { [name: string]: string }; pipeline?: string } = {},
): { [name: string]: string } {
  const values = {
    cloudevents: "binary" as const,
    cloudevents_id: given.id,
    cloudevents_source: given.source,
    cloudevents_type: given.type,
    cloudevents_time: given.time,
  }
  const added: RecordHeader[] = []
  const event = eventOf(body, { headers: headers ?? {}, receivedAtMs: ARRIVED })
  cloudEventHeaders(values, { pipeline, sender })!(event, added)
  expect(new Set(added.map(([name]) => name)).size).toBe(added.length)
  return Object.fromEntries(added.map(([name, value]) => [name, Buffer.from(value).toString()]))
}

test("what the preset knows is in the headers", () => {
  const body = '{"type":"order.paid","time":"2026-11-22T09:59:59+01:00"}'
  expect(headersOf(body, { sender: ACME, headers: { "X-Id": "e1" } })).toEqual({
    ce_specversion: "1.0",
    ce_id: "e1",
    ce_source: "/pipelines/payments",
    ce_type: "order.paid",
    ce_time: "2026-11-22T09:59:59+01:00",
    "content-type": "application/json",
  })
})

test("of a sender of which nothing is known: a new UUID, webhook, the arrival", () => {
  const [one, other] = [headersOf("{}"), headersOf("{}")]
  expect(one).toEqual({
    ce_specversion: "1.0",
    ce_id: expect.stringMatching(UUID),
    ce_source: "/pipelines/payments",
    ce_type: "webhook",
    ce_time: "2026-11-22T10:00:00.123Z",
    "content-type": "application/json",
  })
  expect(other.ce_id).not.toBe(one.ce_id)
})

test("what an event lacks falls back; times of one source are all of one kind", () => {
  const headers = headersOf('{"type":"","time":null}', { sender: ACME })
  expect(headers).toMatchObject({ ce_id: expect.stringMatching(UUID), ce_type: "webhook" })
  expect(headers).not.toHaveProperty("ce_time")
})

test("keys win over the preset: locations and constants", () => {
  const given = {
    id: "json:/n",
    source: "https://shop.example.com/#a",
    type: "com.example.order",
    time: "header:X-At",
  }
  const headers = { "X-Id": "e1", "X-At": "1790000000" }
  expect(
    headersOf('{"n":12345678901234567890,"type":"t"}', { sender: ACME, headers, ...given }),
  ).toMatchObject({
    ce_id: "12345678901234567890",
    ce_source: "https://shop.example.com/#a",
    ce_type: "com.example.order",
    ce_time: "2026-09-21T14:13:20.000Z",
  })
  expect(headersOf('{"s":"/a"}', { source: "json:/s" })).toMatchObject({ ce_source: "/a" })
  expect(headersOf("{}", { source: "path" })).toMatchObject({ ce_source: "/" })
})

test.each([
  ["1790000000", "2026-09-21T14:13:20.000Z"],
  ["1790000000400", "2026-09-21T14:13:20.400Z"],
  ["1521472262.908", "2018-03-19T15:11:02.908Z"],
  ['"2026-11-22T10:00:00.123456Z"', "2026-11-22T10:00:00.123456Z"],
  ['"2026-11-22T10:00:00+0100"', "2026-11-22T09:00:00.000Z"],
  ['"2026-13-22T10:00:00Z"', undefined],
  ['"2026-02-31T10:00:00Z"', undefined],
  ['"2028-02-29T23:30:00-05:00"', "2028-02-29T23:30:00-05:00"],
  ['"2026-11-22T24:00:00Z"', "2026-11-23T00:00:00.000Z"],
  ["253402300799999", "9999-12-31T23:59:59.999Z"],
  ["253402300800000", undefined],
  ['"yesterday"', undefined],
  ["-1", undefined],
  ["{}", undefined],
  [`"${"1".repeat(50)}"`, undefined],
])("a time of %s is %s", (spelled, time) => {
  expect(headersOf(`{"time":${spelled}}`, { sender: ACME }).ce_time).toBe(time)
})

test("values that an attribute must not have fall back", () => {
  const odd = String.raw`{"type":"a\nb","id":"\u0000","s":"no uri","c1":"\u0085"}`
  expect(headersOf(odd, { sender: ACME, id: "json:/id", source: "json:/s" })).toMatchObject({
    ce_id: expect.stringMatching(UUID),
    ce_source: "/pipelines/payments",
    ce_type: "webhook",
  })
  expect(headersOf(odd, { type: "json:/c1" })).toMatchObject({ ce_type: "webhook" })
  expect(headersOf('{"type":"h\u00e9llo \u00a0"}', { sender: ACME })).toMatchObject({
    ce_type: "h\u00e9llo \u00a0",
  })
})

test("items of a list that is split have ids of their own where the id is the request's", () => {
  const event = eventOf('{"id":"a"}', { headers: { "X-Id": "e1" } })
  event.list = { index: 2, keys: new Map() }
  const idOf = (cloudevents_id: string): string => {
    const added: RecordHeader[] = []
    const values = { cloudevents: "binary" as const, cloudevents_id } as Parameters<
      typeof cloudEventHeaders
    >[0]
    cloudEventHeaders(values, { pipeline: "p", sender: ACME })!(event, added)
    return Buffer.from(added.find(([name]) => name === "ce_id")![1]).toString()
  }
  expect([idOf("event:id"), idOf("header:X-Id"), idOf("json:/id")]).toEqual(["e1-2", "e1-2", "a"])
})

test("a pipeline's id is a path segment of the source", () => {
  expect(headersOf("{}", { pipeline: "a b/\u00fc" }).ce_source).toBe("/pipelines/a%20b%2F%C3%BC")
})
