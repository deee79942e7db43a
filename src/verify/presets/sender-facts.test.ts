import { expect, test } from "bun:test"
import { PRESETS } from "./presets.ts"
import { FACTS, factsOf, inBytes, inTime } from "./sender-facts.ts"

const sources = Object.entries(FACTS).flatMap(([name, rows]) =>
  rows.map((row) => [name, row.source] as const),
)

test.each(sources)("%s: its facts are of a preset, and of the page %s", (name, source) => {
  expect(PRESETS).toHaveProperty([name])
  expect(new URL(source).protocol).toBe("https:")
})

test("a fact has one source", () => {
  for (const [name, rows] of Object.entries(FACTS)) {
    const keys = rows.flatMap((row) => Object.keys(row).filter((key) => key !== "source"))
    expect([name, keys.toSorted()]).toEqual([name, [...new Set(keys)].toSorted()])
  }
})

test("the facts of a preset are those of all its pages; a custom provider and a kind have none", () => {
  expect(factsOf("github")).toMatchObject({ repeatsForMs: 0, largestBytes: 26_214_400 })
  expect(factsOf("hmac")).toEqual({})
  expect(factsOf("acme")).toEqual({})
})

test("times and sizes are in the largest unit that is exact", () => {
  expect([800, 3000, 600_000, 90_000, 14_400_000, 86_400_000, 259_200_000].map(inTime)).toEqual([
    "800 ms",
    "3 s",
    "10 min",
    "90 s",
    "4 h",
    "24 h",
    "3 days",
  ])
  expect([1_000_000, 262_144, 26_214_400].map(inBytes)).toEqual(["1 MB", "256 KiB", "25 MiB"])
})
