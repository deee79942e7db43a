import { expect, test } from "bun:test"
import type { ReplayOverview } from "../../api.ts"
import { newestOf, progressOf, wordOf } from "./progress.ts"

const job: ReplayOverview = {
  id: "1",
  request: { from: { connection: "log", topic: "a" }, to: { connection: "log", topic: "b" } },
  state: "running",
  started_at: 1,
  ended_at: null,
  total: 12_000,
  share: 0.4,
  replayed: 4800,
  failed: 0,
  missed: 0,
  per_second: 1210,
  remaining_ms: 5950,
  error: null,
  failures: [],
}

test("a running replay shows its share, its rate and the time left", () => {
  expect(progressOf(job)).toEqual(["4,800 records", "40 %", "1,210/s", "6 s left"])
})

test("what failed or was left out is part of the way", () => {
  expect(progressOf({ ...job, share: 0.5, replayed: 1, failed: 1500 })).toEqual([
    "1 record",
    "1,500 failed",
    "50 %",
    "1,210/s",
    "6 s left",
  ])
})

test("one that waits has no time left", () => {
  expect(progressOf({ ...job, per_second: 0, remaining_ms: null })).toEqual(["4,800 records", "40 %", "0/s"])
})

test("one that has ended shows what it did", () => {
  const ended = { ...job, share: 1, replayed: 12_000, remaining_ms: null }
  expect(progressOf({ ...ended, state: "done" })).toEqual(["12,000 records"])
  expect(progressOf({ ...job, state: "cancelled", remaining_ms: null })).toEqual(["4,800 records", "40 %"])
})

test.each([
  [{ state: "running" }, "running"],
  [{ state: "running", error: "connection refused" }, "waiting"],
  [{ state: "paused" }, "paused"],
  [{ state: "done" }, "done"],
  [{ state: "done", failed: 1 }, "done, with failures"],
  [{ state: "failed", failed: 1, error: "no such topic" }, "failed"],
] as const)("%p is %s", (changed, word) => {
  expect(wordOf({ ...job, ...changed })).toBe(word)
})

test("the newest job is first, each as it became last", () => {
  const [first, second] = [job, { ...job, id: "2", started_at: 2 }]
  const done: ReplayOverview = { ...first, state: "done" }
  expect(newestOf([first, second], new Map([["1", done]]))).toEqual([second, done])
})
