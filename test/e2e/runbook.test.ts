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

test("each kind of problem has a section of the runbook, which names it, and no two sections name the same", () => {
  for (const { name, runbook } of kinds) expect(problemsIn(sections.get(runbook))).toContain(name)
  const named = [...sections.values()].flatMap(problemsIn)
  expect(new Set(named).size).toBe(named.length)
})

test("each kind of problem says what to do first, in a sentence", () => {
  for (const { nextStep } of kinds) expect(nextStep).toMatch(/^[A-Z].*\.$/)
})
