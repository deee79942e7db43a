import { expect, test } from "bun:test"
import { problemId, type Finding, type ProblemKind } from "./finding.ts"
import { OVER_LISTED_MS, ProblemList } from "./problem-list.ts"

const kind = (name: string, severity: ProblemKind["severity"] = "error"): ProblemKind => ({
  name,
  severity,
  runbook: "Hookline Broken",
  nextStep: "Mend it.",
})
const DOWN = kind("connection_down")
const SPOOL = kind("spool_waiting", "warning")
const SILENT = kind("silent", "warning")

const down: Finding = { kind: DOWN, subject: "kafka", connection: "kafka", cause: "no broker answers" }
const spool: Finding = {
  kind: SPOOL,
  subject: "kafka",
  cause: "it holds 3 events",
  because: [problemId(DOWN, "kafka")],
}
const silent: Finding = { kind: SILENT, subject: "orders", pipeline: "orders", cause: "no event" }

/** The ids that are listed after each evaluation, those that are over in brackets. */
function evaluations(...all: readonly (readonly [atMs: number, findings: readonly Finding[]])[]): string[] {
  const list = new ProblemList()
  return all.map(([atMs, findings]) => {
    list.take(findings, atMs)
    return list
      .current()
      .map(({ id, until }) => (until === null ? id : `(${id})`))
      .join(" ")
  })
}

test("a problem has its kind's words, and lasts from the first evaluation that finds it to the first that does not", () => {
  const list = new ProblemList()
  list.take([down], 1000)
  list.take([{ ...down, cause: "another reason" }], 9000)
  const listed = {
    id: "connection_down:kafka",
    kind: "connection_down",
    severity: "error",
    pipeline: null,
    connection: "kafka",
    since: 1000,
    until: null,
    cause: "another reason",
    next_step: "Mend it.",
    acknowledged: null,
    muted: null,
    runbook: "docs/runbook.md#hookline-broken",
  } as const
  expect(list.current()).toEqual([listed])
  expect(list.since("connection_down:kafka")).toBe(1000)
  list.take([], 10_000)
  expect(list.current()).toEqual([{ ...listed, until: 10_000 }])
  expect(list.since("connection_down:kafka")).toBeUndefined()
  list.take([down], 20_000)
  expect(list.current()).toMatchObject([{ since: 20_000, until: null }])
})

test("what is over stays listed below what is there for five minutes, unless it was brief", () => {
  expect(
    evaluations(
      [0, [down]],
      [1000, []],
      [2000, [down]],
      [4000, [silent]],
      [4000 + OVER_LISTED_MS - 1, [silent]],
      [4000 + OVER_LISTED_MS, [silent]],
    ),
  ).toEqual([
    "connection_down:kafka",
    "",
    "connection_down:kafka",
    "silent:orders (connection_down:kafka)",
    "silent:orders (connection_down:kafka)",
    "silent:orders",
  ])
})

test("errors come before warnings, and of these those that are there for longer", () => {
  const other = { ...silent, subject: "payments" }
  expect(evaluations([0, [silent]], [1000, [other, silent, down]])).toEqual([
    "silent:orders",
    "connection_down:kafka silent:orders silent:payments",
  ])
})

test("a cause silences its consequences, also one that was listed before it, and while it is listed as over", () => {
  expect(
    evaluations(
      [0, [spool]],
      [5000, [spool, down]],
      [9000, [spool]],
      [10_000, []],
      [9000 + OVER_LISTED_MS, [spool]],
    ),
  ).toEqual([
    "spool_waiting:kafka",
    "connection_down:kafka",
    "(connection_down:kafka)",
    "(connection_down:kafka)",
    "spool_waiting:kafka",
  ])
})
