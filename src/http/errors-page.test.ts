import { Glob } from "bun"
import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { API_ERRORS } from "../admin/api/problem.ts"
import { START_ERRORS } from "../errors.ts"
import { RULES } from "../json/check.ts"
import { SCHEMA_RULES } from "../json/schema.ts"
import { STEP_REASONS } from "../pipeline/outcome.ts"
import { REFUSED_REASONS } from "../verify/verifier.ts"
import { PROBLEM_TYPES } from "./answer.ts"

const ROOT = join(import.meta.dir, "../..")
const page = readFileSync(join(ROOT, "docs/errors.md"), "utf8")
const sections = page.split(/^##? /m).filter((it) => /^[a-z0-9_]+\n/.test(it))

/** Reasons of a 401, which have one type. */
const UNVERIFIED = [
  "secret_known",
  ...REFUSED_REASONS.filter((it) => it !== "duplicate_member" && it !== "keys_unavailable").map(
    (it) => `unverified_${it}`,
  ),
]
const names = [
  ...PROBLEM_TYPES.keys(),
  "unauthorized",
  ...UNVERIFIED,
  ...Object.values(API_ERRORS).map((it) => it!),
  ...START_ERRORS,
]

const sources = Array.from(new Glob("src/**/*.ts").scanSync(ROOT))
  .filter((file) => !file.endsWith(".test.ts"))
  .map((file) => [file, readFileSync(join(ROOT, file), "utf8")] as const)

test("each name of an error has one section in docs/errors.md, and each section is of a name", () => {
  expect(sections.map((it) => it.slice(0, it.indexOf("\n"))).toSorted()).toEqual(names.toSorted())
})

test.each(sections.map((it) => [it.slice(0, it.indexOf("\n")), it] as const))(
  "%s: its section says what is seen, what it means and what to do",
  (_, section) => {
    for (const part of ["**Seen**: ", "**Means**: ", "**Do**: "]) expect(section.split(part)).toHaveLength(2)
  },
)

test("each reason that a refusal is made with has a section", () => {
  const made = sources.flatMap(([file, text]) =>
    Array.from(
      text.matchAll(/(?:new Rejected\(\s*\w+,|[^.#\w](?:refused|unavailable|invalid)\()\s*"(\w+)"/g),
      ([, reason]) => [reason!, file] as const,
    ),
  )
  expect(made.length).toBeGreaterThan(20)
  expect(made.filter(([reason]) => !names.includes(reason))).toEqual([])
  expect([...RULES, ...SCHEMA_RULES].filter((it) => !names.includes(it))).toEqual([])
})

test("each reason of a step's refusal, and each name of a start error, is one that code gives", () => {
  const literals = (name: string): number =>
    sources.reduce((sum, [, text]) => sum + text.split(new RegExp(`["(]${name}[")]`)).length - 1, 0)
  // one of them is in the list
  expect([...STEP_REASONS, ...START_ERRORS].filter((it) => literals(it) < 2)).toEqual([])
})
