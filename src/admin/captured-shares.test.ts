import { expect, test } from "bun:test"
import { eventOf } from "../../test/support/event.ts"
import { Rejected } from "../pipeline/outcome.ts"
import { Captures } from "./captured.ts"

function capturesOf(maxRequests: number, maxBytes = 16 * 1024 * 1024): Captures {
  const captures = new Captures()
  captures.setLimits({ mode: "refused", maxRequests, maxBytes })
  return captures
}

function refuse(captures: Captures, pipeline: string, reason = "invalid_json", body = "{}"): void {
  const event = eventOf(body)
  const outcome = new Rejected(400, reason, "Refused.")
  captures.keep({ pipeline, request: event.request, event, bytes: body.length, status: 400, outcome })
}

/** How many are kept, by pipeline and reason. */
function kept(captures: Captures): { [name: string]: number } {
  const counts: { [name: string]: number } = {}
  for (const { pipeline, reason } of captures.list({ limit: 100_000 }))
    counts[`${pipeline} ${reason}`] = (counts[`${pipeline} ${reason}`] ?? 0) + 1
  return counts
}

test("a flood on one pipeline displaces none of the requests of others", () => {
  const captures = capturesOf(200)
  for (const pipeline of ["payments", "orders"]) for (let n = 0; n < 20; n++) refuse(captures, pipeline)
  for (let n = 0; n < 5000; n++) refuse(captures, "flooded", "unverified_no_match")
  for (let n = 0; n < 3; n++) refuse(captures, "late")
  expect(kept(captures)).toEqual({
    "payments invalid_json": 20,
    "orders invalid_json": 20,
    "late invalid_json": 3,
    // seven eighths of 200 are for refused requests
    "flooded unverified_no_match": 132,
  })
})

test("a flood of one reason displaces none of another reason of its pipeline, and the newest of it are kept", () => {
  const captures = capturesOf(80)
  for (let n = 0; n < 10; n++) refuse(captures, "payments", "schema_mismatch")
  for (let n = 0; n < 500; n++) refuse(captures, "payments", "unverified_no_match", `{"n":${n}}`)
  expect(kept(captures)).toEqual({ "payments schema_mismatch": 10, "payments unverified_no_match": 60 })
  const [newest] = captures.list({ limit: 1 })
  expect(Buffer.from(captures.find(newest!.id)!.body!).toString()).toBe('{"n":499}')
})

test("pipelines that all send more than their share have the same share", () => {
  const captures = capturesOf(80)
  for (let n = 0; n < 100; n++) for (const pipeline of ["a", "b", "c", "d", "e"]) refuse(captures, pipeline)
  expect(Object.values(kept(captures))).toEqual([14, 14, 14, 14, 14])
})

test("large bodies of one pipeline displace its own", () => {
  const captures = capturesOf(1000, 256 * 1024)
  for (let n = 0; n < 20; n++) refuse(captures, "payments")
  for (let n = 0; n < 50; n++) refuse(captures, "large", "too_large", "x".repeat(50_000))
  const counts = kept(captures)
  expect(counts["payments invalid_json"]).toBe(20)
  expect(counts["large too_large"]).toBe(4)
})

test("a request is kept although it is the largest, where the others are many", () => {
  const captures = capturesOf(1000, 64 * 1024)
  for (let n = 0; n < 200; n++) refuse(captures, "payments")
  refuse(captures, "orders", "too_large", "x".repeat(15_000))
  for (let n = 0; n < 200; n++) refuse(captures, "payments")
  expect(kept(captures)["orders too_large"]).toBe(1)
})

test("thousands a second on one pipeline leave room in the same second for those of others", () => {
  const captures = capturesOf(200)
  for (let n = 0; n < 5000; n++) refuse(captures, "flooded")
  for (let n = 0; n < 10; n++) refuse(captures, "payments")
  expect(kept(captures)["payments invalid_json"]).toBe(10)
})

test("after clearing there is room again for all", () => {
  const captures = capturesOf(80)
  for (let n = 0; n < 100; n++) refuse(captures, "payments")
  captures.clear()
  expect(kept(captures)).toEqual({})
  for (let n = 0; n < 100; n++) refuse(captures, "orders")
  expect(kept(captures)).toEqual({ "orders invalid_json": 70 })
})
