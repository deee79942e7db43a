import { afterEach, expect, test } from "bun:test"
import { pino } from "pino"
import { steadyMs } from "../../clock/clock.ts"
import { STALLED_MS, StallWatch } from "./stall-watch.ts"

const TIMEOUT_MS = 5000
const STEP_MS = 250

/** A watch whose time a test lets pass; what it watches answers when the test says so. */
function watched(isStarting = () => false) {
  const lines: string[] = []
  const calls = { heartbeats: 0, stalled: 0, overdue: 0 }
  let answer = Promise.withResolvers<void>()
  const watch = new StallWatch({
    log: pino({}, { write: (line) => void lines.push(JSON.parse(line).msg) }),
    heartbeat: () => {
      calls.heartbeats++
      answer = Promise.withResolvers()
      return answer.promise
    },
    isStarting,
    timeoutMs: () => (isStarting() ? 60_000 : TIMEOUT_MS),
    stalled: () => void calls.stalled++,
    overdue: () => void calls.overdue++,
  })
  open.push(watch)
  // the watch's own timer is not wanted
  watch.end()
  let nowMs = steadyMs()
  const pass = (ms: number): void => {
    for (const endMs = nowMs + ms; nowMs < endMs;) watch.tick((nowMs += STEP_MS))
  }
  const turn = async (): Promise<void> => {
    answer.resolve()
    await Bun.sleep(0)
  }
  return {
    watch,
    lines,
    calls,
    pass,
    answer: turn,
    /** The supervisor does not run for a time, and then once. */
    sleep: (ms: number) => watch.tick((nowMs += ms)),
  }
}
const open: StallWatch[] = []
afterEach(() => {
  for (const watch of open.splice(0)) watch.end()
})

test("one that answers is asked again and again, and never taken for stalled", async () => {
  const { watch, calls, pass, answer } = watched()
  for (let n = 0; n < 100; n++) {
    pass(STEP_MS)
    await answer()
  }
  expect(calls).toEqual({ heartbeats: 100, stalled: 0, overdue: 0 })
  expect(watch.stalledMs).toBeUndefined()
})

test("one that is silent stalls, is logged once, asked once, and killed once", () => {
  const { watch, lines, calls, pass } = watched()
  pass(STALLED_MS)
  expect([watch.stalledMs, calls.stalled]).toEqual([undefined, 0])
  pass(STEP_MS)
  expect([watch.stalledMs, calls.stalled]).toEqual([STALLED_MS, 1])
  pass(TIMEOUT_MS - STALLED_MS - STEP_MS)
  expect(calls).toEqual({ heartbeats: 1, stalled: 1, overdue: 0 })
  pass(60_000)
  expect(calls).toEqual({ heartbeats: 1, stalled: 1, overdue: 1 })
  expect(lines).toEqual([
    "worker stalled: its event loop has not answered for 2 s",
    "worker stalled for too long; killing it",
  ])
})

test("one that answers again in time is logged, and its silence counts from zero", async () => {
  const { watch, lines, calls, pass, answer } = watched()
  pass(TIMEOUT_MS)
  await answer()
  expect(watch.stalledMs).toBeUndefined()
  expect(lines.at(-1)).toBe("stalled worker answers again")
  pass(STALLED_MS)
  expect(calls).toEqual({ heartbeats: 2, stalled: 1, overdue: 0 })
})

test("time in which the supervisor itself did not run is not the worker's", async () => {
  const { watch, calls, pass, answer, sleep } = watched()
  pass(STEP_MS)
  for (const ms of [60_000, 8 * 3_600_000]) sleep(ms)
  expect(watch.stalledMs).toBeUndefined()
  await answer()
  pass(STALLED_MS)
  expect(calls.overdue + calls.stalled).toBe(0)
})

test("one that starts has its own time, and its silence is not logged as a stall", () => {
  let isStarting = true
  const { watch, calls, pass } = watched(() => isStarting)
  pass(59_000)
  expect([watch.stalledMs, calls.overdue]).toEqual([undefined, 0])
  pass(2000)
  expect(calls).toEqual({ heartbeats: 1, stalled: 0, overdue: 1 })
  isStarting = false
})
