import { expect, test } from "bun:test"
import { RequestLimit } from "./request-limit.ts"

const MiB = 1024 * 1024

test("is half of the smallest request that the connection was closed on, after the second time", () => {
  const limit = new RequestLimit(8 * MiB)
  limit.closed(6 * MiB, 0)
  expect(limit.bytes).toBe(8 * MiB)
  limit.closed(5 * MiB, 100)
  expect(limit.bytes).toBe(2.5 * MiB)
})

test("stays when a request of that size was answered in between, but not for a smaller one", () => {
  const limit = new RequestLimit(8 * MiB)
  limit.closed(4 * MiB, 0)
  limit.answered(4 * MiB)
  limit.closed(4 * MiB, 100)
  expect(limit.bytes).toBe(8 * MiB)
  limit.answered(1 * MiB)
  limit.closed(4 * MiB, 200)
  expect(limit.bytes).toBe(2 * MiB)
})

test("stays when a broker restarts now and then, and for requests that are small", () => {
  const limit = new RequestLimit(8 * MiB)
  for (let restart = 0; restart < 10; restart++) {
    limit.closed(8 * MiB, restart * 60_000)
    limit.closed(1000, restart * 60_000)
  }
  expect(limit.bytes).toBe(8 * MiB)
})

test("does not go below half of the smallest request that is suspected", () => {
  const limit = new RequestLimit(8 * MiB)
  for (let at = 0; at < 100; at++) limit.closed(Math.max(65_536, limit.bytes), at)
  expect(limit.bytes).toBe(32_768)
})

test("to a slow leader is what others get once the connection was closed on a larger request", () => {
  const limit = new RequestLimit(1 * MiB, 16 * MiB)
  limit.closed(1.5 * MiB, 0)
  expect(limit.grows).toBe(false)
  expect(limit.bytes).toBe(1 * MiB)
})

test("to a slow leader stays where such a request was answered before and brokers restart, until it happens twice", () => {
  const limit = new RequestLimit(1 * MiB, 16 * MiB)
  limit.answered(8 * MiB)
  for (let restart = 0; restart < 10; restart++) limit.closed(8 * MiB, restart * 60_000)
  expect(limit.grows).toBe(true)
  limit.closed(5 * MiB, 1_000_000)
  limit.closed(4 * MiB, 1_000_100)
  expect(limit.grows).toBe(false)
  expect(limit.bytes).toBe(1 * MiB)
})
