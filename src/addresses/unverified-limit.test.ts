import { expect, test } from "bun:test"
import { UnverifiedLimit } from "./unverified-limit.ts"

/** A limit whose clock stands where it is set. */
function limitOf(perSecond: number, max?: number): { limit: UnverifiedLimit; at: (ms: number) => void } {
  let nowMs = 5_000_000
  const now = (): number => nowMs
  const limit = new UnverifiedLimit({ perSecond, now, ...(max === undefined ? {} : { max }) })
  return { limit, at: (ms) => (nowMs = 5_000_000 + ms) }
}

function refuse(limit: UnverifiedLimit, address: string, times: number): void {
  for (let n = 0; n < times; n++) limit.refused(address)
}

test("who was refused as often as is let through in a second has to wait, and nobody else", () => {
  const { limit, at } = limitOf(10)
  refuse(limit, "192.0.2.1", 9)
  expect(limit.wait("192.0.2.1")).toBe(0)
  refuse(limit, "192.0.2.1", 1)
  expect([limit.wait("192.0.2.1"), limit.wait("192.0.2.2")]).toEqual([1, 0])
  at(99)
  expect(limit.wait("192.0.2.1")).toBe(1)
  at(101)
  expect(limit.wait("192.0.2.1")).toBe(0)
  refuse(limit, "192.0.2.1", 1)
  expect(limit.wait("192.0.2.1")).toBe(1)
})

test("more refusals than are let through, of requests that were under way, make the wait no longer", () => {
  const { limit } = limitOf(0.1)
  refuse(limit, "192.0.2.1", 1000)
  expect(limit.wait("192.0.2.1")).toBe(10)
})

test("nothing is looked at while nobody has used half, and not forever after", () => {
  const { limit, at } = limitOf(10)
  expect(limit.isWatching).toBe(false)
  refuse(limit, "192.0.2.1", 4)
  expect(limit.isWatching).toBe(false)
  refuse(limit, "192.0.2.1", 1)
  expect(limit.isWatching).toBe(true)
  at(61_000)
  expect(limit.wait("192.0.2.2")).toBe(0)
  expect(limit.isWatching).toBe(false)
})

test("who sent something verified within a minute does not wait", () => {
  const { limit, at } = limitOf(10)
  refuse(limit, "192.0.2.1", 5)
  limit.verified("192.0.2.1")
  refuse(limit, "192.0.2.1", 5000)
  expect(limit.wait("192.0.2.1")).toBe(0)
  at(59_000)
  refuse(limit, "192.0.2.1", 5000)
  expect(limit.wait("192.0.2.1")).toBe(0)
  at(60_000)
  refuse(limit, "192.0.2.1", 10)
  expect(limit.wait("192.0.2.1")).toBe(1)
})

test("who sent something verified before it was refused for the first time does not wait either", () => {
  const { limit, at } = limitOf(10)
  limit.verified("192.0.2.1")
  at(59_000)
  refuse(limit, "192.0.2.1", 5000)
  expect(limit.wait("192.0.2.1")).toBe(0)
  // each second of verified requests begins the minute again
  limit.verified("192.0.2.1")
  at(118_000)
  expect(limit.wait("192.0.2.1")).toBe(0)
  at(119_000)
  refuse(limit, "192.0.2.1", 10)
  expect(limit.wait("192.0.2.1")).toBe(1)
})

test("no more verified senders are remembered than may be: who was verified longest ago is forgotten", () => {
  const { limit } = limitOf(1, 1000)
  for (let n = 0; n < 5000; n++) limit.verified(`10.0.${n >> 8}.${n & 255}`)
  refuse(limit, "10.0.0.0", 1)
  refuse(limit, "10.0.19.135", 1)
  expect(["10.0.0.0", "10.0.19.135"].map((it) => limit.wait(it))).toEqual([1, 0])
})

test("a network of 64 bits is one sender, and an IPv4-mapped address is the IPv4 one", () => {
  const { limit } = limitOf(1)
  limit.refused("2001:db8::1")
  limit.refused("::ffff:192.0.2.1")
  expect(["2001:db8::ff", "2001:db8:0:1::1", "192.0.2.1"].map((it) => limit.wait(it))).toEqual([1, 0, 1])
})

test("no more senders are remembered than may be: who was refused longest ago is forgotten", () => {
  const { limit } = limitOf(1, 1000)
  for (let n = 0; n < 5000; n++) limit.refused(`10.0.${n >> 8}.${n & 255}`)
  expect(limit.size).toBe(1000)
  expect(["10.0.0.0", "10.0.19.135"].map((it) => limit.wait(it))).toEqual([0, 1])
})

test("who was not refused for a minute is forgotten when the next one is refused", () => {
  const { limit, at } = limitOf(100)
  for (let n = 0; n < 50; n++) limit.refused(`10.0.0.${n}`)
  at(60_001)
  limit.refused("192.0.2.1")
  expect(limit.size).toBe(1)
})
