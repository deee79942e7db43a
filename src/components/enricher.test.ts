import { expect, test } from "bun:test"
import type { Event } from "../pipeline/event.ts"
import type { KnownSender } from "./known-sender.ts"
import { enricher } from "./enricher.ts"
import { toLocalTime } from "./local-time.ts"
import { componentContext } from "../../test/support/component-context.ts"
import { eventOf, IN_TIME } from "../../test/support/event.ts"

const enrich = () => enricher.create({ value: "enriched" }, componentContext())

const event = (body: string, receivedAtMs: number): Event => eventOf(body, { receivedAtMs })

const bodyOf = (outcome: unknown): string => Buffer.from((outcome as Event).body).toString()

test("received_at and source stand at the end of the object, in place of the sender's own", () => {
  const at = Date.UTC(2026, 10, 20, 13, 3, 7, 123)
  const given = event(' { "source":"me", "a": 1.0,\n"received_at":null}\n', at)
  const outcome = enrich()(given, IN_TIME)
  expect(outcome).toBe(given)
  expect(bodyOf(outcome)).toBe(` { "a": 1.0,"received_at":"${toLocalTime(at)}","source":"webhook"}\n`)
})

test("received_at is local time with milliseconds and a numeric offset", () => {
  expect(bodyOf(enrich()(event("{}", Date.now()), IN_TIME))).toMatch(
    /^\{"received_at":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d","source":"webhook"\}$/,
  )
})

test("events of different moments, one after the other and out of order, have each its own", () => {
  const step = enrich()
  const at = Date.UTC(2026, 9, 25, 0, 59, 59, 998)
  for (const ms of [at, at, at + 1, at + 2, at, at + 1000, at + 1]) {
    expect(JSON.parse(bodyOf(step(event("{}", ms), IN_TIME))).received_at).toBe(toLocalTime(ms))
  }
})

const headersOf = (event: unknown): { [name: string]: string } =>
  Object.fromEntries(
    [...((event as Event).recordHeaders ?? [])].map(([name, value]) => [name, Buffer.from(value).toString()]),
  )

test("check names the header that keeps a member that a sender's events have", () => {
  const chargebee = {
    name: "chargebee",
    event: {},
    covers: undefined,
    facts: { replaced: ["source"] },
  } as const
  expect(enricher.recordHeaders!({ value: "enriched" }, chargebee)).toEqual(["received-source"])
  expect(enricher.recordHeaders!({ value: "enriched" }, undefined)).toEqual([])
})

test("members that are replaced are kept as record headers, as they were spelled", () => {
  const kept = enrich()(
    event('{"\\u0073ource": {"a": 1.0 } , "received_at":null,"source":[ 2 ]}', 0),
    IN_TIME,
  )
  expect(headersOf(kept)).toEqual({ "received-received_at": "null", "received-source": "[ 2 ]" })
  expect(headersOf(enrich()(event('{"a":{"source":1}}', 0), IN_TIME))).toEqual({})
})

test("of a replaced member the first 1,024 bytes are kept, and whole characters", () => {
  const long = enrich()(event(`{"source":"${"a".repeat(1022)}é"}`, 0), IN_TIME)
  expect(headersOf(long)["received-source"]).toBe(`"${"a".repeat(1022)}`)
})

const SIGNED: KnownSender = {
  name: "acme",
  event: {},
  covers: { body: "whole", time: true, id: false, headers: ["x-time"], signature: ["x-signature"] },
}

test("with value = received the body stays, and the record has what verifies it again", () => {
  const sent = { "X-Signature": "abc", "X-Time": "7", "X-Other": "1", "Content-Type": "application/json" }
  const given = eventOf('\ufeff{ "source":1 }', { headers: sent, receivedAtMs: 0 })
  const kept = enricher.create({ value: "received" }, componentContext({ sender: SIGNED }))(given, IN_TIME)
  expect(bodyOf(kept)).toBe('\ufeff{ "source":1 }')
  expect(headersOf(kept)).toEqual({
    received_at: toLocalTime(0),
    source: "webhook",
    "received-content-type": "application/json",
    "x-signature": "abc",
    "x-time": "7",
  })
})

test("with value = received an item of a list has no signature's headers", () => {
  const list = eventOf("[1,{}]", { headers: { "X-Signature": "abc" } })
  const [, item] = list.split([Buffer.from("1"), Buffer.from("{}")])
  const kept = enricher.create({ value: "received" }, componentContext({ sender: SIGNED }))(item!, IN_TIME)
  expect(headersOf(kept)).not.toHaveProperty("x-signature")
})
