import { describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { runToEnd } from "../support/child.ts"
import { dashboard, rules, RULES_FILE, RULES_TEST_FILES, type Panel } from "../support/deployed.ts"
import { hasPrometheus } from "../support/prometheus.ts"

describe.skipIf(!hasPrometheus())("promtool", () => {
  test.each([["check", RULES_FILE], ...RULES_TEST_FILES.map((file) => ["test", file] as const)])(
    "%s rules %s passes",
    async (command, file) => {
      const { status, stdout, stderr } = await runToEnd(["promtool", command, "rules", file])
      expect({ status, output: status === 0 ? "" : stdout + stderr }).toEqual({ status: 0, output: "" })
    },
  )
})

test("every alert has an entry in the runbook, and fires in a test", () => {
  const runbook = readFileSync(join(import.meta.dir, "../../docs/runbook.md"), "utf8")
  const headings = [...runbook.matchAll(/^## (\w+)$/gm)].map(([, name]) => name!)
  const names = rules.map(({ alert }) => alert)
  expect(headings.filter((it) => it.startsWith("Hookline"))).toEqual(names)
  const entries = runbook.split(/^## /m).slice(1)
  const parts = ["**Means**:", "**Look at**:", "**Do**:"]
  for (const entry of entries) expect(parts.filter((part) => !entry.includes(part))).toEqual([])
  for (const { alert, annotations } of rules) {
    expect(annotations.summary).not.toBe("")
    expect(annotations.runbook).toBe(`docs/runbook.md#${alert.toLowerCase()}`)
  }
  const tests = RULES_TEST_FILES.flatMap(
    (file) => (Bun.YAML.parse(readFileSync(file, "utf8")) as RulesTest).tests,
  )
  const fired = tests.flatMap((it) =>
    it.alert_rule_test.flatMap(({ alertname, exp_alerts = [] }) => (exp_alerts.length > 0 ? alertname : [])),
  )
  expect(names.filter((name) => !fired.includes(name))).toEqual([])
})

test("the dashboard's panels have ids of their own, the variable's data source, and places that do not overlap", () => {
  const { panels, templating, uid } = dashboard
  expect(uid).toBe("hookline")
  expect(templating.list.find(({ name }) => name === "datasource")).toMatchObject({ type: "datasource" })
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  for (const { type, datasource, targets = [], title } of panels) {
    if (type === "row") continue
    expect([title, datasource]).toEqual([title, { type: "prometheus", uid: "${datasource}" }])
    expect(targets.length).toBeGreaterThan(0)
    expect(new Set(targets.map(({ refId }) => refId)).size).toBe(targets.length)
  }
  const overlap = ({ gridPos: a }: Panel, { gridPos: b }: Panel): boolean =>
    a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h
  const overlapping = panels.flatMap((one, at) =>
    panels.slice(at + 1).flatMap((other) => (overlap(one, other) ? [[one.title, other.title]] : [])),
  )
  expect(overlapping).toEqual([])
  expect(panels.every(({ gridPos: { x, w } }) => x >= 0 && x + w <= 24)).toBe(true)
})

test("every variable that an expression of the dashboard uses is declared", () => {
  const declared = dashboard.templating.list.map(({ name }) => name)
  const used = dashboard.panels.flatMap(({ targets = [] }) =>
    targets.flatMap(({ expr }) => [...expr.matchAll(/\$(\w+)/g)].map(([, name]) => name!)),
  )
  expect([...new Set(used)].filter((name) => name !== "__rate_interval" && !declared.includes(name))).toEqual(
    [],
  )
})

interface RulesTest {
  readonly tests: readonly {
    readonly alert_rule_test: readonly {
      readonly alertname: string
      readonly exp_alerts?: readonly unknown[]
    }[]
  }[]
}
