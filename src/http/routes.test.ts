import { expect, test } from "bun:test"
import * as fc from "fast-check"
import { PathTable } from "./routes.ts"

const segment = fc.constantFrom("", "a", "b", "ab", "%20")
const prefix = fc.array(segment, { maxLength: 4 }).map((all) => `/${all.map((it) => `${it}/`).join("")}*`)
const path = fc.array(segment, { maxLength: 6 }).map((all) => `/${all.join("/")}`)

test("the longest prefix that fits is found, as by looking at each", () => {
  fc.assert(
    fc.property(fc.uniqueArray(prefix, { maxLength: 12 }), path, (prefixes, asked) => {
      const table = new PathTable<string>()
      for (const it of prefixes) expect(table.add(it, it)).toBe(true)
      const fitting = prefixes.filter((it) => asked.startsWith(it.slice(0, -1)))
      const [longest] = fitting.toSorted((a, b) => b.length - a.length)
      expect(table.find(asked)).toBe(longest)
    }),
    { numRuns: 5000 },
  )
})

test("the exact path comes before all prefixes, and each is listed once", () => {
  const table = new PathTable<number>()
  expect(table.add("/hooks/a", 1)).toBe(true)
  expect(table.add("/hooks/*", 2)).toBe(true)
  expect(table.add("/hooks/a", 3)).toBe(false)
  expect(table.add("/hooks/*", 3)).toBe(false)
  expect(table.find("/hooks/a")).toBe(1)
  expect(table.find("/hooks/b")).toBe(2)
  expect(table.find("/hooks/")).toBe(2)
  expect(table.find("/hooks")).toBeUndefined()
  expect(table.find("hooks/a")).toBeUndefined()
})
