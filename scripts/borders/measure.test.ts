import { expect, test } from "bun:test"
import { circles, knowing, measureRooms, wrongImports } from "./measure.ts"
import { readSource, type Source } from "./sources.ts"

const sourcesOf = (files: { readonly [path: string]: string }): ReadonlyMap<string, Source> =>
  new Map(Object.entries(files).map(([path, text]) => [path, readSource(path, text)]))

test.each([
  ["upward", "src/http/a.ts", "../runtime/b.ts", "src/runtime is above it"],
  ["from a neighbour", "src/http/a.ts", "../brokers/b.ts", "src/brokers is its neighbour"],
  ["of a type alone", "src/http/a.ts", "../verify/b.ts", "src/verify is its neighbour"],
  ["of another broker", "src/brokers/kafka/a.ts", "../embedded/b.ts", "it imports no other broker"],
  ["from beside clock", "src/clock/a.ts", "../errors.ts", "it imports nothing"],
  ["of Hookline by the page", "console/a.tsx", "../src/errors.ts", "OpenAPI document"],
])("an import %s is named", (what, from, to, why) => {
  const text = what.includes("type")
    ? `import type { B } from "${to}"`
    : `const { b } = await import("${to}")`
  expect(wrongImports(sourcesOf({ [from]: text }))).toEqual([expect.stringContaining(why)])
})

test.each([
  ["src/http/a.ts", "../pipeline/b.ts"],
  ["src/brokers/kafka/kind.ts", "../spool/b.ts"],
  ["src/kafka-listener/apis/a.ts", "../protocol/b.ts"],
  ["src/commands/a.ts", "../../package.json"],
])("%s may import %s", (from, to) => {
  expect(wrongImports(sourcesOf({ [from]: `import { b } from "${to}"` }))).toEqual([])
})

test("a circle is named by its files, one through a late import or a type, too", () => {
  const sources = sourcesOf({
    "src/http/a.ts": `import type { B } from "./b.ts"`,
    "src/http/b.ts": `export const c = () => import("./c.ts")`,
    "src/http/c.ts": `export { a } from "./a.ts"`,
    "src/http/d.ts": `import { a } from "./a.ts"`,
  })
  expect(circles(sources)).toEqual([["src/http/a.ts", "src/http/b.ts", "src/http/c.ts"]])
})

test("doors are the files that are imported from outside, with the names that cross", () => {
  const sources = sourcesOf({
    "src/json/walk.ts": `import { x } from "./inner.ts"\nexport const walk = 1, size = 2\n`,
    "src/json/inner.ts": "export const x = 1\n",
    "src/http/a.ts": `import { walk, size } from "../json/walk.ts"`,
    "src/http/b.ts": `import { walk } from "../json/walk.ts"`,
  })
  const json = measureRooms(sources).find(({ name }) => name === "src/json")
  expect(json).toMatchObject({ files: 2, lines: 3, doors: ["src/json/walk.ts"], names: 2 })
})

test("who knows a feature imports it, names its section or what it exports; a comment is no knowledge", () => {
  const sources = sourcesOf({
    "src/extensions/forward/plan.ts": "export const planForwards = 1\nexport const plain = 1",
    "src/a.ts": `import "./extensions/forward/plan.ts"`,
    "src/b.ts": `const section = "forward"`,
    "src/c.ts": "planForwards()",
    "src/d.ts": "// forward\n/* planForwards */ const plain = forwarded",
  })
  const feature = { name: "forward", own: ["src/extensions/forward"], words: ["forward"] }
  expect(knowing(sources, feature)).toEqual(["src/a.ts", "src/b.ts", "src/c.ts"])
})
