import { afterEach, expect, setSystemTime, test } from "bun:test"
import { continuedFrom, MachineClock } from "./machine-clock.ts"

const DAY_MS = 86_400_000

afterEach(() => setSystemTime())

/** A clock of a machine that has run for `uptime.ms`. */
function clockOf(uptime: { ms: number }): MachineClock {
  return new MachineClock(() => ({ boot: "one", ms: uptime.ms }))
}

test("it goes on with the process's monotonic clock, whatever the time of day is set to", () => {
  const clock = new MachineClock()
  const ms = clock.now()
  setSystemTime(Date.now() + 365 * DAY_MS)
  expect(clock.now()).toBeWithin(ms, ms + 60_000)
  setSystemTime(Date.now() - 900 * DAY_MS)
  expect(clock.now()).toBeWithin(ms, ms + 60_000)
  expect(new MachineClock().boot).toBe(clock.boot)
})

test("the time that the machine slept counts at once: its time of day has gone on, the monotonic clock has not", () => {
  const uptime = { ms: 1000 }
  const clock = clockOf(uptime)
  expect(clock.now()).toBeLessThan(1000 + DAY_MS)
  uptime.ms += 3 * DAY_MS
  setSystemTime(Date.now() + 3 * DAY_MS)
  expect(clock.now()).toBeGreaterThanOrEqual(1000 + 3 * DAY_MS)
})

test("it never goes back", () => {
  const uptime = { ms: 5000 }
  const clock = clockOf(uptime)
  const ms = clock.now()
  uptime.ms = 1000
  setSystemTime(Date.now() + DAY_MS)
  expect(clock.now()).toBeGreaterThanOrEqual(ms)
})

test("a clock goes on from its reading in another thread; where that has another start, from now", () => {
  const machine = { boot: "one", now: () => 7000 }
  expect(continuedFrom({ boot: "one", uptime: 5000, now: 100 }, machine)()).toBe(2100)
  expect(continuedFrom({ boot: "other", uptime: 5000, now: 100 }, machine)()).toBe(100)
})
