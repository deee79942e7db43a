import { expect, test } from "bun:test"
import { RecentIds } from "./recent-ids.ts"

const open = (most = 100) => {
  const clock = { ms: 1_000_000 }
  return { clock, ids: new RecentIds({ most, now: () => clock.ms }) }
}

test("an id is new until it is remembered", () => {
  const { ids, clock } = open()
  expect([ids.has("a"), ids.has("a")]).toEqual([false, false])
  ids.remember("a", clock.ms + 1)
  expect([ids.has("a"), ids.has("b")]).toEqual([true, false])
})

test("an id is known until its time has passed", () => {
  const { ids, clock } = open()
  ids.remember("a", clock.ms + 600)
  clock.ms += 600
  expect(ids.has("a")).toBe(true)
  clock.ms += 1
  expect(ids.has("a")).toBe(false)
})

test("what has run out is dropped when the next id comes", () => {
  const { ids, clock } = open()
  ids.remember("a", clock.ms + 600)
  ids.remember("b", clock.ms + 600)
  clock.ms += 601
  expect(ids.remember("c", clock.ms + 600)).toBe(false)
  expect(ids.size).toBe(1)
})

test("beyond the bound the oldest is forgotten early, which is told", () => {
  const { ids, clock } = open(2)
  const early = ["a", "b", "a", "c"].map((id) => ids.remember(id, clock.ms + 600))
  expect(early).toEqual([false, false, false, true])
  expect(ids.size).toBe(2)
  expect(["a", "b", "c"].map((id) => ids.has(id))).toEqual([true, false, true])
})
