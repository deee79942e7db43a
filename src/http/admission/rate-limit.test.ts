import { expect, test } from "bun:test"
import { tokenBucket } from "./rate-limit.ts"

/** A limit whose clock stands where it is set. */
function limitOf(perSecond: number, burst: number): { limit: () => number; at: (ms: number) => void } {
  let nowMs = 5_000_000
  const limit = tokenBucket({ perSecond, burst, now: () => nowMs })
  return { limit, at: (ms) => (nowMs = 5_000_000 + ms) }
}

test("a burst is let in at once, then one event each time that a token is available", () => {
  const { limit, at } = limitOf(4, 3)
  expect(Array.from({ length: 5 }, () => limit())).toEqual([0, 0, 0, 1, 1])
  at(249)
  expect(limit()).toBe(1)
  at(250)
  expect([limit(), limit()]).toEqual([0, 1])
  at(1000)
  expect(Array.from({ length: 4 }, () => limit())).toEqual([0, 0, 0, 1])
})

test("a long pause fills the bucket and no more", () => {
  const { limit, at } = limitOf(4, 2)
  at(86_400_000)
  expect(Array.from({ length: 3 }, () => limit())).toEqual([0, 0, 1])
})

test("at a fraction of an event a second a refusal says the whole seconds until the next one", () => {
  const { limit, at } = limitOf(0.1, 1)
  expect([limit(), limit()]).toEqual([0, 10])
  at(5500)
  expect(limit()).toBe(5)
  at(10_000)
  expect(limit()).toBe(0)
})

test("refusals take nothing: who keeps asking is let in at the rate", () => {
  const { limit, at } = limitOf(8, 1)
  let taken = 0
  for (let ms = 0; ms < 10_000; ms++) {
    at(ms)
    if (limit() === 0) taken++
  }
  expect(taken).toBe(80)
})
