import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { runToEnd } from "../support/child.ts"
import { dashboard, rules } from "../support/deployed.ts"
import { blocksOf, textOf } from "../support/documents.ts"
import { startEveryProcessor } from "../support/every-processor.ts"
import { GitHubHook } from "../support/github-hook.ts"
import { startHookline, temporaryFolder, type RunningHookline } from "../support/hookline.ts"
import { createTopic, freshTopic, kafkaForTests } from "../support/kafka.ts"
import { freePort } from "../support/ports.ts"
import {
  hasPrometheus,
  samplesIn,
  selectorsIn,
  selects,
  startPrometheus,
  type RunningPrometheus,
  type Sample,
} from "../support/prometheus.ts"
import { configurationOf, onKafka } from "../support/webhook-service.ts"

/** As Prometheus 2.42 asks. */
const OPENMETRICS =
  "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"

const expressions = [
  ...dashboard.panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr] as const)),
  ...rules.map(({ alert, expr }) => [alert, expr.trim().replaceAll(/\s+/g, " ")] as const),
]
/** With the dashboard's variables set to all, as Grafana sets them. */
const filled = (expression: string): string =>
  expression.replaceAll("$__rate_interval", "1m").replaceAll(/\$\w+/g, ".*")

const kafka = await kafkaForTests()
/** A service with every processor on an embedded log, which reconciles and forwards, and one with a spool, traces and no detail of pipelines. */
describe.skipIf(kafka === undefined)("the metrics of services that have every part", () => {
  const folder = temporaryFolder()
  const hook = new GitHubHook()
  const running = new Map<string, RunningHookline>()
  const texts = new Map<string, string>()
  let samples: readonly Sample[]

  const scrape = async (name: string, accept = "text/plain"): Promise<string> =>
    (await fetch(`${running.get(name)!.adminUrl}/metrics`, { headers: { Accept: accept } })).text()

  beforeAll(async () => {
    const topic = freshTopic("metrics")
    await createTopic(kafka!, topic)
    const connection = onKafka(kafka!)
    const spooled = configurationOf({ connection: `${connection}\nspool = spool.sqlite`, topic })
    const traced = `${spooled}\n[traces]\nendpoint = http://127.0.0.1:${await freePort()}`.replace(
      "[admin]\n",
      "[admin]\nmetrics_detail = none\n",
    )
    const senders = `${hook.section("all")}
[forward:app]
from = log/plain
url = http://127.0.0.1:${await freePort()}/`
    const [log, spool] = await Promise.all([
      startEveryProcessor(join(folder.path, "hookline-log"), senders),
      startHookline(traced, { folder: folder.make("spool") }),
    ])
    for (const [name, one] of Object.entries({ log, spool })) running.set(name, one)
    for (const name of running.keys()) texts.set(name, await scrape(name))
    while (!texts.get("log")!.includes("\nhookline_log_bytes{")) texts.set("log", await scrape("log"))
    samples = [...texts.values()].flatMap(samplesIn)
  })
  afterAll(async () => {
    await Promise.all([...running.values()].map((it) => it.stop()))
    await hook[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  test("docs/metrics.md has each with its type and labels, and no others", () => {
    const types = new Map(
      [...texts.values()].flatMap((text) =>
        [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name, type]) => [name!, type!] as const),
      ),
    )
    const rows = [...textOf("docs/metrics.md").matchAll(/^\| `(\w+)` *\| (\w+) *\|[^|]*\|([^|]*)\|/gm)]
    const documented = new Map(rows.map(([, name, type]) => [name!, type!] as const))
    expect(Object.fromEntries(documented)).toEqual(Object.fromEntries(types))
    const families = [...documented].map(([name, type]) =>
      type === "counter" ? name.replace(/_total$/, "") : name,
    )
    expect(new Set(families).size).toBe(families.length)
    for (const [, name, type, labels] of rows) {
      const names = type === "histogram" ? ["_bucket", "_sum", "_count"].map((it) => name + it) : [name!]
      const used = new Set(
        samples
          .filter((it) => names.includes(it.labels["__name__"]!))
          .flatMap((it) => Object.keys(it.labels))
          .filter((label) => label !== "__name__" && label !== "le"),
      )
      const declared = [...labels!.matchAll(/`(\w+)`/g)].map(([, label]) => label!)
      expect([name, [...used].filter((label) => !declared.includes(label))]).toEqual([name, []])
    }
  })

  test.each(expressions)("%s: each selector of %s has a series", (_, expression) => {
    const selectors = selectorsIn(expression)
    expect(selectors.length + Number(expression.startsWith("up{"))).toBeGreaterThan(0)
    expect(selectors.filter((selector) => !samples.some((sample) => selects(selector, sample)))).toEqual([])
  })

  test("counters of pipelines and connections begin at 0", () => {
    const counted = samples.filter(
      ({ labels, value }) =>
        /^hookline_(?!config|connects).*_(total|count)$/.test(labels["__name__"]!) && value > 0,
    )
    const isOfNone = ({ labels }: Sample): boolean =>
      labels["__name__"] !== "hookline_event_loop_lag_seconds_count"
    expect(counted.filter(isOfNone)).toEqual([])
  })

  describe.skipIf(!hasPrometheus())("with Prometheus", () => {
    let prometheus: RunningPrometheus
    beforeAll(async () => {
      const jobs = [...running].map(([name, { adminUrl }]) => [`hookline-${name}`, `${adminUrl}/metrics`])
      prometheus = await startPrometheus(Object.fromEntries(jobs) as { [job: string]: string })
    })
    afterAll(() => prometheus?.[Symbol.asyncDispose]())

    test("promtool finds nothing to say of the text format", async () => {
      for (const [name, text] of texts)
        expect([name, await promtool(text, "check", "metrics")]).toEqual([name, ""])
    })

    test("promtool reads OpenMetrics", async () => {
      for (const name of running.keys()) {
        const text = await scrape(name, OPENMETRICS)
        const file = join(folder.path, `${name}.om`)
        // what it makes blocks of has times
        writeFileSync(file, text.replace(/^([^#\n].*)$/gm, `$1 ${Math.floor(Date.now() / 1000)}`))
        const blocks = [
          "tsdb",
          "create-blocks-from",
          "openmetrics",
          "--quiet",
          file,
          folder.make(`${name}-blocks`),
        ]
        expect([name, await promtool("", ...blocks)]).toEqual([name, ""])
      }
    })

    test("the scrape configuration of docs/metrics.md is valid", async () => {
      const [block] = blocksOf("docs/metrics.md").filter(({ language }) => language === "yaml")
      const file = join(folder.path, "prometheus.yml")
      const token = join(folder.path, "token")
      writeFileSync(token, "not-a-real-token")
      writeFileSync(file, block!.text.replace(/(credentials_file: ).*/, `$1${token}`))
      expect(readFileSync(file, "utf8")).toContain(token)
      expect(await promtool("", "check", "config", file)).toContain("SUCCESS")
    })

    test("it has as many series by OpenMetrics as the text has", async () => {
      for (const name of running.keys()) {
        const [counted] = await prometheus.query(`count({job="hookline-${name}",__name__=~"hookline_.+"})`)
        const own = samplesIn(await scrape(name)).filter(({ labels }) =>
          labels["__name__"]!.startsWith("hookline_"),
        )
        expect([name, counted!.value]).toEqual([name, own.length])
      }
    })

    test.each(expressions)("%s: %s is valid", async (_, expression) => {
      await prometheus.query(filled(expression))
    })
  })
})

/** What promtool says; rejects with it when it fails. */
async function promtool(input: string, ...args: readonly string[]): Promise<string> {
  const { status, stdout, stderr } = await runToEnd(["promtool", ...args], { stdin: Buffer.from(input) })
  if (status !== 0) throw new Error(stdout + stderr)
  return stdout + stderr
}
