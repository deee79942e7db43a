import { expect, test } from "bun:test"
import { Backoff } from "./backoff.ts"
import { repeat, within } from "./clock.ts"
import { Lasting, rarely } from "./lasting.ts"

const never = new Promise<never>(() => {})

test("a promise that settles in time decides a bounded wait", async () => {
  expect(await within(60_000, Promise.resolve("answer"), () => "late")).toBe("answer")
  expect(await within(60_000, Promise.resolve(undefined), () => "late")).toBeUndefined()
  await expect(within(60_000, Promise.reject(new Error("refused")), () => "late")).rejects.toThrow("refused")
})

test("a bounded wait ends with what `late` returns or throws", async () => {
  expect(await within(1, never, () => "late")).toBe("late")
  expect(await within(-1, never, () => "late")).toBe("late")
  const late = (): never => {
    throw new Error("no answer")
  }
  await expect(within(1, never, late)).rejects.toThrow("no answer")
})

test("a promise that fails after a bounded wait is no unhandled rejection", async () => {
  const { promise, reject } = Promise.withResolvers<never>()
  expect(await within(1, promise, () => "late")).toBe("late")
  reject(new Error("after the end"))
  await new Promise(setImmediate)
})

test("callbacks of one period are called together, also one that was added twice, until each is ended", async () => {
  const calls: string[] = []
  const turn = (): Promise<void> =>
    new Promise((resolve) => {
      const end = repeat(5, () => (end(), resolve()))
    })
  const callback = (): void => void calls.push("twice")
  const ends = [repeat(5, callback), repeat(5, callback), repeat(5, () => calls.push("once"))]
  await turn()
  expect(calls).toEqual(["twice", "twice", "once"])
  ends[0]!()
  await turn()
  expect(calls.slice(3)).toEqual(["twice", "once"])
  for (const end of ends) end()
  const ended = calls.length
  await turn()
  expect(calls).toHaveLength(ended)
})

test("pauses double up to the longest, and begin anew after a reset", () => {
  const backoff = new Backoff({ first: 100, longest: 350 })
  expect([1, 2, 3, 4].map(() => backoff.failed())).toEqual([100, 200, 350, 350])
  backoff.reset()
  expect(backoff.failed()).toBe(100)
})

test("a state that lasts is logged once for each reason, and its end only if it was logged", () => {
  const outage = new Lasting()
  expect(outage.ended()).toBeUndefined()
  expect(outage.ms).toBeUndefined()
  expect(["full", "full", "gone", "full"].map((reason) => outage.began(reason))).toEqual([
    "first",
    undefined,
    "again",
    "again",
  ])
  expect(outage.ms).toBeGreaterThanOrEqual(0)
  expect(outage.ended()).toBeGreaterThanOrEqual(0)
  expect(outage.ended()).toBeUndefined()
  expect(outage.began("full")).toBe("first")
})

test("a state that is logged after a while is not logged before, nor is its end", () => {
  const short = new Lasting({ afterMs: 60_000 })
  expect(short.began()).toBeUndefined()
  expect(short.ended()).toBeUndefined()
})

test("a state that lasts is logged again when a reminder is due", () => {
  const outage = new Lasting({ remindMs: 0 })
  expect([outage.began("full"), outage.began("full")]).toEqual(["first", "again"])
})

test("a line that is written rarely has the number of calls since the last one", () => {
  const lines: number[] = []
  const seldom = rarely(60_000, (times) => lines.push(times))
  const always = rarely(0, (times) => lines.push(times))
  for (let n = 0; n < 3; n++) seldom()
  for (let n = 0; n < 2; n++) always()
  expect(lines).toEqual([1, 1, 1])
})
