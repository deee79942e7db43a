import { expect, test } from "bun:test"
import { KINDS } from "./faults.ts"
import { plan, type Planned } from "./plan.ts"

const MINUTES = 30
const planned = (seed: number): readonly (readonly Planned[])[] =>
  (["brokers", "service"] as const).map((subject) => plan(KINDS, subject, seed, MINUTES * 60_000))

test("the same seed plans the same faults on the same, another seed others", () => {
  const drawn = (seed: number): unknown =>
    planned(seed).map((faults) => faults.map(({ random, ...fault }) => ({ ...fault, on: random.next() })))
  expect(drawn(1)).toEqual(drawn(1))
  expect(drawn(2)).not.toEqual(drawn(1))
})

test("every kind comes several times in half an hour", () => {
  const times = Object.fromEntries(Object.keys(KINDS).map((kind) => [kind, 0]))
  for (const { kind } of planned(1).flat()) times[kind]! += 1
  expect(Math.min(...Object.values(times))).toBeGreaterThan(3)
})

test("faults of a subject do not overlap, and end before the run does", () => {
  for (const faults of planned(1)) {
    const ends = faults.map(({ atMs, forMs }) => atMs + forMs)
    expect(faults.slice(1).every(({ atMs }, at) => atMs > ends[at]!)).toBe(true)
    expect(ends.at(-1)).toBeLessThan(MINUTES * 60_000)
  }
})
