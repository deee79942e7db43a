import { expect, test } from "bun:test"
import type { Event } from "../pipeline/event.ts"
import { enricher } from "./enricher.ts"
import { toLocalTime } from "./local-time.ts"
import { componentContext } from "../../test/support/component-context.ts"
import { eventOf, IN_TIME } from "../../test/support/event.ts"

const enrich = () => enricher.create({}, componentContext())

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
