import { expect, test } from "bun:test"
import { RequestGrowth } from "./request-growth.ts"

const MB = 1_000_000

/** The limits of full requests, one after the other. @param tookMs how long the leader takes by their size */
function limits(growth: RequestGrowth, count: number, tookMs: (bytes: number) => number): number[] {
  return Array.from({ length: count }, () => {
    const { bytes } = growth
    growth.answered(bytes, tookMs(bytes))
    return bytes / MB
  })
}

test("requests grow where larger ones take no longer", () => {
  expect(limits(new RequestGrowth(MB, 16 * MB), 6, () => 1500)).toEqual([1, 2, 4, 8, 16, 16])
})

test("requests stay as they are where larger ones take longer, but for one in a while", () => {
  const sizes = limits(new RequestGrowth(MB, 16 * MB), 25, (bytes) => bytes / 1000)
  expect(Math.max(...sizes)).toBe(2)
  expect(sizes.filter((size) => size === 2)).toHaveLength(3)
})

test("a small request that takes long shows that it is not for its size", () => {
  const growth = new RequestGrowth(MB, 16 * MB)
  growth.answered(0.5 * MB, 1500)
  expect(growth.bytes).toBe(4 * MB)
  growth.answered(growth.bytes, 1600)
  expect(growth.bytes).toBe(8 * MB)
})

test("what was tried after a small request is given up where it takes much longer", () => {
  const growth = new RequestGrowth(MB, 16 * MB)
  growth.answered(1000, 600)
  growth.answered(growth.bytes, 4000)
  expect(growth.bytes).toBe(2 * MB)
})

test("requests that were not limited say nothing", () => {
  const growth = new RequestGrowth(MB, 16 * MB)
  growth.answered(0.8 * MB, 1500)
  expect(growth.bytes).toBe(MB)
})

test("is half after a request without an answer, and the least while the leader is not slow", () => {
  const growth = new RequestGrowth(MB, 16 * MB)
  limits(growth, 3, () => 1500)
  growth.failed()
  expect(growth.bytes).toBe(4 * MB)
  growth.reset()
  expect(growth.bytes).toBe(MB)
})
