import { expect, test } from "bun:test"
import type { ReplayJob } from "../../../api/shapes.ts"
import { newestOf, progressOf, wordOf } from "./progress.ts"

const job: ReplayJob = {
  id: "1",
  request: { from: { connection: "log", topic: "a" }, to: { connection: "log", topic: "b" } },
  state: "running",
  started_at: 1,
  total: 12_000,
  replayed: 4800,
  failed: 0,
  per_second: 1210,
  remaining_ms: 5950,
  error: null,
  failures: [],
}

test("a job that runs shows how far it is, how fast, and how long it takes", () => {
  expect(progressOf(job)).toEqual(["4,800 of 12,000", "40 %", "1,210/s", "6 s left"])
})

test("what failed is counted beside what was replayed, and is part of the way", () => {
  expect(progressOf({ ...job, replayed: 1, failed: 5999 })).toEqual([
    "1 of 12,000",
    "5,999 failed",
    "50 %",
    "1,210/s",
    "6 s left",
  ])
})

test("one whose end is not known shows no share", () => {
  expect(progressOf({ ...job, total: null, remaining_ms: null })).toEqual(["4,800 records", "1,210/s"])
})

test("one that has ended shows what it did", () => {
  expect(progressOf({ ...job, state: "done", replayed: 12_000, remaining_ms: null })).toEqual([
    "12,000 of 12,000",
  ])
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
  const done: ReplayJob = { ...first, state: "done" }
  expect(newestOf([first, second], new Map([["1", done]]))).toEqual([second, done])
})
