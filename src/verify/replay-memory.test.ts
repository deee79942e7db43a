import { expect, test } from "bun:test"
import { ReplayMemory } from "./replay-memory.ts"

const open = (most = 100) => {
  const clock = { ms: 1_000_000 }
  return { clock, memory: new ReplayMemory({ toleranceMs: 300_000, most, now: () => clock.ms }) }
}

test("an id is new until its event was accepted, so that a retry after a failure comes through", () => {
  const { memory } = open()
  expect([memory.has("a"), memory.has("a")]).toEqual([false, false])
  memory.remember("a")
  expect([memory.has("a"), memory.has("b")]).toEqual([true, false])
})

test("an id is remembered as long as any signed time could let it in again, and then forgotten", () => {
  const { memory, clock } = open()
  memory.remember("a")
  clock.ms += 600_000
  expect(memory.has("a")).toBe(true)
  clock.ms += 1
  expect(memory.has("a")).toBe(false)
})

test("what has run out is dropped when the next id comes", () => {
  const { memory, clock } = open()
  memory.remember("a")
  memory.remember("b")
  clock.ms += 600_001
  memory.remember("c")
  expect(memory.size).toBe(1)
})

test("beyond its bound the oldest are forgotten first", () => {
  const { memory } = open(2)
  for (const id of ["a", "b", "a", "c"]) memory.remember(id)
  expect(memory.size).toBe(2)
  expect(["a", "b", "c"].map((id) => memory.has(id))).toEqual([true, false, true])
})
