import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { problemKinds as kinds } from "../../src/extensions/registry.ts"

const sections = new Map(
  readFileSync(new URL("../../docs/runbook.md", import.meta.url), "utf8")
    .split(/^## /m)
    .slice(1)
    .map((it) => [it.slice(0, it.indexOf("\n")), it]),
)
const problemsIn = (section = ""): string[] =>
  [...(/^\*\*Problem\*\*: (.*)$/m.exec(section)?.[1] ?? "").matchAll(/`(\w+)`/g)].map(([, name]) => name!)

test("each kind of problem has a section of the runbook, which names it, and no section names another one", () => {
  for (const { name, runbook } of kinds)
    expect([name, problemsIn(sections.get(runbook))]).toEqual([name, expect.arrayContaining([name])])
  const named = [...sections.values()].flatMap(problemsIn)
  expect(named.toSorted()).toEqual(kinds.map(({ name }) => name).toSorted())
})

test("each kind of problem says what to do first, in a sentence", () => {
  for (const { nextStep } of kinds) expect(nextStep).toMatch(/^[A-Z].*\.$/)
})
