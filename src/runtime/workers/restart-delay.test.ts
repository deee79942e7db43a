import { expect, test } from "bun:test"
import { RestartDelay } from "./restart-delay.ts"

test("a worker is started again at once, and later each time that it ends soon, up to half a minute", () => {
  const backOff = new RestartDelay()
  const waits = Array.from({ length: 10 }, () => backOff.ended(1000))
  expect(waits).toEqual([0, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000])
  expect(backOff.ended(60_000)).toBe(0)
  backOff.ended(1000)
  backOff.reset()
  expect(backOff.ended(1000)).toBe(0)
})
