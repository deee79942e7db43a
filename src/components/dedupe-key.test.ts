import { expect, test } from "bun:test"
import { keysIn } from "../dedupe/key.ts"
import { PRESETS } from "../verify/presets/presets.ts"
import { toFamily } from "../verify/schemes/scheme-form.ts"
import type { KnownSender } from "./known-sender.ts"
import type { Coverage } from "../verify/schemes/family.ts"
import type { Event } from "../pipeline/event.ts"
import { isDedupeKey, parseDedupeKey } from "./dedupe-key.ts"
import { eventOf } from "../../test/support/event.ts"

const event = (body: string, headers: { [name: string]: string } = {}): Event => eventOf(body, { headers })

const keyOf = (text: string, of: Event, pipeline = "p"): string | undefined =>
  parseDedupeKey(text, pipeline, undefined)!(of)
const idOf = (json: string): string | undefined => keyOf("json:/id", event(`{"id":${json}}`))

test.each([
  ["a text", '"evt_1"'],
  ["a number", "42"],
  ["a number below zero", "-1.5e3"],
  ["zero", "0"],
  ["a number that no double holds", "12345678901234567890"],
  ["a text of a megabyte", `"${"x".repeat(1024 * 1024)}"`],
])("%s is a key, of a fixed length", (_what, json) => {
  expect(idOf(json)).toMatch(/^[\w-]{22}$/)
})

test("values that are spelled differently are different, however alike they are", () => {
  const spellings = [
    "1",
    '"1"',
    "1.0",
    "10e-1",
    "-1",
    "9007199254740993",
    "9007199254740992",
    '"a"',
    '"A"',
    '"a "',
    String.raw`"\u0061"`,
    String.raw`"\ud800"`,
    String.raw`"\udfff"`,
    '"\ufffd"',
  ]
  expect(new Set(spellings.map(idOf)).size).toBe(spellings.length)
})

test.each(["null", "true", "false", '""', "[]", "{}", '["evt_1"]'])("%s distinguishes no events", (json) => {
  expect(idOf(json)).toBeUndefined()
})

test("an event without the member, or without the header, has no key", () => {
  expect(keyOf("json:/data/id", event('{"data":[],"id":1}'))).toBeUndefined()
  expect(keyOf("header:X-Delivery", event("{}"))).toBeUndefined()
  expect(keyOf("header:X-Delivery", event("{}", { "X-Delivery": "" }))).toBeUndefined()
})

test("the same value is the same key, wherever white space and other members are", () => {
  expect(keyOf("json:/id", event('\ufeff { "n":1, "id" : "evt_1" }'))).toBe(idOf('"evt_1"')!)
  expect(keyOf("header:x-delivery", event("{}", { "X-Delivery": "d" }))).toBeDefined()
})

test("pipelines, and places of the key, have nothing to do with each other", () => {
  const sent = event('{"id":"d","other":"d"}', { "X-Delivery": "d", "X-Other": "d" })
  const keys = ["json:/id", "json:/other", "header:X-Delivery", "header:X-Other"].flatMap((text) => [
    keyOf(text, sent, "p"),
    keyOf(text, sent, "q"),
  ])
  expect(new Set(keys).size).toBe(8)
})

test.each(["", "path", "id", "json:id", "json:/a~2", "header:", "header:a b"])(
  "%p is no place of a key",
  (text) => {
    expect(parseDedupeKey(text, "p", undefined)).toBeUndefined()
    expect(isDedupeKey(text)).toBe(false)
  },
)

const sender = (id: string, covers: Coverage): KnownSender => ({ name: "acme", event: { id }, covers })
const OF_THE_BODY: Coverage = { body: "whole", time: false, id: false }

test("event:id in the signed body is the key that its location would be", () => {
  const acme = sender("json:/id", OF_THE_BODY)
  const sent = event('{"id":"e1"}')
  expect(parseDedupeKey("event:id", "p", acme)!(sent)).toBe(keyOf("json:/id", sent)!)
})

test("event:id in a signed header is a key by itself", () => {
  const acme = sender("header:X-Id", { ...OF_THE_BODY, id: true, headers: ["x-id"] })
  const key = parseDedupeKey("event:id", "p", acme)!
  expect(key(event('{"n":1}', { "X-Id": "e1" }))).toBe(key(event('{"n":2}', { "X-Id": "e1" })))
})

test("event:id in an unsigned header is a key together with the body: a forged id makes no other event a duplicate", () => {
  const key = parseDedupeKey("event:id", "p", sender("header:X-Id", OF_THE_BODY))!
  const first = key(event('{"n":1}', { "X-Id": "e1" }))
  expect(key(event('{"n":1}', { "X-Id": "e1" }))).toBe(first)
  expect(key(event('{"n":2}', { "X-Id": "e1" }))).not.toBe(first)
  expect(key(event('{"n":1}', { "X-Id": "e2" }))).not.toBe(first)
  expect(key(event('{"n":1}'))).toBeUndefined()
})

test("where the id ends and the body begins is part of the key", () => {
  const key = parseDedupeKey("event:id", "p", sender("header:X-Id", OF_THE_BODY))!
  expect(key(event("1{}", { "X-Id": "e" }))).not.toBe(key(event("{}", { "X-Id": "e1" })))
})

const RENEWED: Coverage = { ...OF_THE_BODY, time: true, renewed: "at" }

test.each([
  ["another value", '{"a":1,"at":1,"b":2}', '{"a":1,"at":2,"b":2}', true],
  ["a value of another length and form", '{"a":1,"at":1}', '{"a":1,"at":{"time":[1,"}"]}}', true],
  ["its name escaped", '{"at":1,"a":1}', String.raw`{"\u0061t":1,"a":1}`, true],
  ["another value in a deeper member of the name", '{"a":{"at":1}}', '{"a":{"at":2}}', false],
  ["another value before it", '{"a":1,"at":1,"b":2}', '{"a":3,"at":1,"b":2}', false],
  ["another value after it", '{"a":1,"at":1,"b":2}', '{"a":1,"at":1,"b":3}', false],
])("of the body without the member that each attempt has anew: %s", (_what, first, second, isSame) => {
  const key = parseDedupeKey("event:id", "p", sender("header:X-Id", RENEWED))!
  const [one, other] = [first, second].map((body) => key(event(body, { "X-Id": "e1" })))
  expect(one === other).toBe(isSame)
})

test("a custom sender whose signed time is in the body has one key for all attempts", () => {
  const scheme = toFamily({ hmac: { header: "X-Sig", time: { member: "at", unit: "s" } } })
  const key = parseDedupeKey("event:id", "p", sender("header:X-Id", scheme.covers({})))!
  const attempt = (at: number) => key(event(`{"n":1,"at":${at}}`, { "X-Id": "e1" }))
  expect(attempt(1)).toBe(attempt(2)!)
})

test("sentry: a new Request-ID for each attempt is no id", () => {
  expect(() => keyOfPreset("sentry")).toThrow("event:id has no known place in events of sentry")
})

test("event:id of a sender with a token is a key by itself: retries may differ in other members", () => {
  const key = parseDedupeKey("event:id", "p", sender("json:/id", { body: "none", time: false, id: false }))!
  expect(key(event('{"id":"e1","attempt":1}'))).toBe(key(event('{"id":"e1","attempt":2}')))
})

/** The default key of a preset whose signature covers the body. */
const keyOfPreset = (name: string) =>
  parseDedupeKey("event:id", "p", { name, event: PRESETS[name]!.event!, covers: OF_THE_BODY })!

test("zendesk: a body that a trigger defines has the ticket's id, which is not the event's", () => {
  const sent = (invocation: string, body = '{"id":"35436"}') =>
    event(body, { "X-Zendesk-Webhook-Invocation-Id": invocation })
  const key = keyOfPreset("zendesk")
  expect(key(sent("8350205582"))).toBe(key(sent("8350205582"))!)
  expect(key(sent("8350205583"))).not.toBe(key(sent("8350205582")))
  expect(key(sent("8350205582", '{"id":"35436","status":"solved"}'))).not.toBe(key(sent("8350205582")))
})

test("pandadoc: deliveries that differ in nothing but their id are different events, and a retry is none", () => {
  const body = '{"event":"document_updated","data":{"id":"d1"}}'
  const sent = (id: string) => event(body, { "X-PandaDoc-Webhook-Event-Id": id })
  const key = keyOfPreset("pandadoc")
  expect(key(sent("e1"))).toBe(key(sent("e1"))!)
  expect(key(sent("e2"))).not.toBe(key(sent("e1")))
})

test("shopify: deliveries of one merchant action share an event id, and may have the same body", () => {
  const sent = (topic: string, webhook: string) =>
    event('{"id":1}', {
      "X-Shopify-Topic": topic,
      "X-Shopify-Event-Id": "e1",
      "X-Shopify-Webhook-Id": webhook,
    })
  const key = keyOfPreset("shopify")
  expect(key(sent("orders/paid", "w1"))).toBe(key(sent("orders/paid", "w1"))!)
  expect(key(sent("orders/updated", "w2"))).not.toBe(key(sent("orders/paid", "w1")))
})

test("a header is a key by its bytes", () => {
  const bytes = Buffer.from("Caf\u00e9")
  const found = keyOf("header:x-id", event("{}", { "X-Id": bytes.toString("latin1") }))
  expect(found).toBe(keysIn(["p", "header:x-id"])(bytes))
})
