import { expect, test } from "bun:test"
import { DutyCycle } from "./duty-cycle.ts"

function work(share: number, pieces: readonly number[]): number {
  let nowMs = 1000
  let slept = 0
  const sleep = (ms: number): void => {
    nowMs += ms
    slept += ms
  }
  const duty = new DutyCycle(share, { now: () => nowMs, sleep })
  for (const ms of pieces) {
    nowMs += ms
    duty.rest()
  }
  return slept
}

test("work in small and large pieces takes its share of the time", () => {
  expect(work(0.25, Array<number>(100).fill(4))).toBe(1200)
  expect(work(0.25, [400])).toBe(1200)
  expect(work(0.25, [5, 5])).toBe(0)
  expect(work(1, [400, 400])).toBe(0)
})
