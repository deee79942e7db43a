import { expect, test } from "bun:test"
import * as fc from "fast-check"
import { RetentionClock } from "./retention-clock.ts"

const HOUR_MS = 3_600_000
const START_MS = 1_795_000_000_000

/** A clock whose time of day and steady time a test moves. */
function clockOf(newestMs?: number): {
  clock: RetentionClock
  pass(ms: number): void
  set(byMs: number): void
  now(): number
} {
  let steady = 5_000_000
  let offset = START_MS - steady
  const clock = new RetentionClock(
    () => Math.floor(steady + offset),
    newestMs,
    () => steady,
  )
  return {
    clock,
    pass: (ms) => void (steady += ms),
    set: (byMs) => void (offset += byMs),
    now: () => steady + offset,
  }
}

test("time continues with a clock that nobody sets", () => {
  const { clock, pass, now } = clockOf()
  for (let step = 0; step < 50; step++) {
    pass(HOUR_MS)
    expect(clock.read(2 * HOUR_MS)).toMatchObject({ timeMs: now(), aheadMs: 0 })
  }
})

test("a clock set ahead is not followed before the retention period is over, and then it is", () => {
  const { clock, pass, set, now } = clockOf()
  clock.stamp()
  set(5 * HOUR_MS)
  pass(1500)
  expect(clock.read(2 * HOUR_MS)).toMatchObject({ timeMs: START_MS + 1500, aheadMs: 5 * HOUR_MS })
  pass(2 * HOUR_MS - 1500)
  expect(clock.read(2 * HOUR_MS).aheadMs).toBe(5 * HOUR_MS)
  pass(1)
  expect(clock.read(2 * HOUR_MS)).toMatchObject({ timeMs: now(), aheadMs: 0 })
})

test("a clock set back is followed at once, and not further than it goes when it is set ahead again", () => {
  const { clock, pass, set, now } = clockOf()
  set(-HOUR_MS)
  expect(clock.read(4 * HOUR_MS)).toMatchObject({ timeMs: now(), aheadMs: 0 })
  pass(1000)
  set(HOUR_MS)
  expect(clock.read(4 * HOUR_MS).aheadMs).toBe(HOUR_MS)
})

test.each([
  ["an hour, where records are kept longer", 24 * HOUR_MS, HOUR_MS],
  ["the retention period, where it is shorter", 60_000, 60_000],
])("after a start the newest record's time counts for %s", (_, retentionMs, heldMs) => {
  const { clock, pass, now } = clockOf(START_MS - 30 * 24 * HOUR_MS)
  pass(heldMs - 1)
  expect(clock.read(retentionMs).timeMs).toBe(now() - 30 * 24 * HOUR_MS)
  pass(1)
  expect(clock.read(retentionMs).timeMs).toBe(now())
})

test("a newest record that is dated ahead counts for nothing", () => {
  const { clock, now } = clockOf(START_MS + HOUR_MS)
  expect(clock.read(HOUR_MS).timeMs).toBe(now())
})

test("whatever the clock does, no record's age is more than the time since it was written", () => {
  const step = fc.oneof(
    fc.record({ pass: fc.integer({ min: 0, max: 3000 }) }),
    fc.record({ set: fc.integer({ min: -20_000, max: 20_000 }) }),
    fc.constant("stamp" as const),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const retentionMs = 5000
      const { clock, pass, set } = clockOf()
      let elapsedMs = 0
      const written: { stampMs: number; atMs: number }[] = []
      for (const one of steps) {
        if (one === "stamp") written.push({ stampMs: clock.stamp(), atMs: elapsedMs })
        else if ("set" in one) set(one.set)
        else {
          pass(one.pass)
          elapsedMs += one.pass
        }
        const { timeMs, aheadMs } = clock.read(retentionMs)
        expect(aheadMs).toBeGreaterThanOrEqual(0)
        for (const { stampMs, atMs } of written)
          if (timeMs - stampMs > retentionMs) expect(elapsedMs - atMs).toBeGreaterThan(retentionMs - 1)
      }
    }),
  )
})

test("a clock that never stops jumping takes no more memory, and still makes nothing older than it is", () => {
  const { clock, pass, set } = clockOf()
  const firstMs = clock.stamp()
  for (let jump = 0; jump < 10_000; jump++) {
    set(1000)
    pass(1)
    clock.stamp()
  }
  expect(clock.read(20_000).timeMs - firstMs).toBe(10_000)
})
