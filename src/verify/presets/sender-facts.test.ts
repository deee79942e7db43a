import { expect, test } from "bun:test"
import { PRESETS } from "./presets.ts"
import { FACTS, factsOf } from "./sender-facts.ts"

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
  expect(factsOf({ name: "github", title: "", scheme: { token: { header: "X" } } })).toEqual({})
})
