import { expect, test } from "bun:test"
import { Counter, Gauge, Histogram, Registry } from "prom-client"
import { atOnce } from "../clock/slices.ts"
import { exposeLines, exposing, readRegistry, shareAnswer } from "./exposition.ts"
import { Distribution, type MetricLines, Tallies } from "./own-metrics.ts"

const VALUES = [0, 1, 0.1 + 0.2, 1e21, 1e-9, -5, 123_456_789.123]
const TEXTS = ["", "plain", 'quote"', "back\\slash", "line\nfeed", "both\\n", "ümläut 😀", "a b", "}"]

test("a registry is written as prom-client writes it", async () => {
  const registry = new Registry()
  const registers = [registry]
  const gauge = new Gauge({ name: "g", help: "a help\nof two \\ lines", labelNames: ["a", "b"], registers })
  for (const a of TEXTS) for (const value of VALUES) gauge.set({ a, b: String(value) }, value)
  new Gauge({ name: "strange", help: "h", labelNames: ["of"], registers }).labels("nothing").set(Number.NaN)
  new Gauge({ name: "large", help: "h", registers }).set(Number.POSITIVE_INFINITY)
  new Gauge({ name: "small", help: "h", registers }).set(Number.NEGATIVE_INFINITY)
  registry.registerMetric(
    new Counter({ name: "without_series_total", help: "h", labelNames: ["a"], registers: [] }),
  )
  const { text, contentType } = await exposeLines(await readRegistry(registry), "prometheus")
  expect(text).toBe(await registry.metrics())
  expect(contentType).toBe(registry.contentType)
})

test("tallies and distributions are written as prom-client's counters and histograms", async () => {
  const registry = new Registry()
  const registers = [registry]
  const bounds = [0.001, 0.5, 1, 10]
  const counter = new Counter({ name: "c_total", help: "h\\\n", labelNames: ["a", "b"], registers })
  const histogram = new Histogram({ name: "h", help: "h", labelNames: ["a"], buckets: bounds, registers })
  const tallies = new Tallies("c_total", "h\\\n", ["a", "b"])
  const distribution = new Distribution("h", "h", ["a"], bounds)
  for (const a of TEXTS) {
    for (const at of VALUES.keys()) {
      counter.inc({ a, b: String(at) }, at)
      tallies.at(a, at).add(at)
      // made again, as for a spool that is opened again
      counter.inc({ a, b: String(at) })
      tallies.at(a, at).add()
    }
    histogram.zero({ a })
    const series = distribution.at(a)
    for (const value of VALUES) {
      histogram.observe({ a }, value)
      series.add(value)
    }
  }
  const own = [atOnce(tallies.read()), atOnce(distribution.read())]
  expect((await exposeLines(own, "prometheus")).text).toBe(await registry.metrics())
  expect((await exposeLines([atOnce(tallies.read()), atOnce(distribution.read())], "prometheus")).text).toBe(
    await registry.metrics(),
  )
})

test("concurrent calls share an answer, later ones get another", async () => {
  let made = 0
  const ask = shareAnswer(async () => {
    await new Promise(setImmediate)
    if (++made === 2) throw new Error("second")
    return made
  })
  expect(await Promise.all([ask(), ask(), ask()])).toEqual([1, 1, 1])
  await expect(Promise.all([ask(), ask()])).rejects.toThrow("second")
  expect(await ask()).toBe(3)
})

test("a scrape gets OpenMetrics where it asks for that version, and text else", async () => {
  const tallies = new Tallies("c_total", "h", ["a"])
  tallies.at("x").add()
  const scrape = exposing(async () => [atOnce(tallies.read())])
  const typeFor = async (accept: string | null): Promise<string> =>
    (await scrape(accept)).contentType.split(";")[0]!
  const PROMETHEUS =
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
  for (const accept of [
    PROMETHEUS,
    "application/openmetrics-text",
    "Application/OpenMetrics-Text; version=1.0.0",
  ])
    expect(await typeFor(accept)).toBe("application/openmetrics-text")
  for (const accept of [
    null,
    "",
    "*/*",
    "text/html, application/json",
    "application/openmetrics-text; version=2.0.0",
    "application/openmetrics-text;q=0",
    "text/plain, application/openmetrics-text;q=0.5",
    "application/openmetrics-text;q=much",
  ])
    expect(await typeFor(accept)).toBe("text/plain")
})

test("OpenMetrics: families without _total, floats as bounds, quotes escaped in help, EOF", async () => {
  const registry = new Registry()
  const tallies = new Tallies("c_total", 'a "help"\n', ["a"])
  tallies.at('le="1",').add(2)
  const gauge = new Gauge({ name: "g", help: "h", registers: [registry] })
  gauge.set(Number.NaN)
  const distribution = new Distribution("h", "h", ["a"], [0.5, 1])
  distribution.at("b").add(1)
  const own = [tallies, distribution].map((it) => atOnce<MetricLines>(it.read()))
  const { text } = await exposeLines([...own, ...(await readRegistry(registry))], "openmetrics")
  expect(text).toBe(`# TYPE c counter
# HELP c a \\"help\\"\\n
c_total{a="le=\\"1\\","} 2
# TYPE h histogram
# HELP h h
h_bucket{le="0.5",a="b"} 0
h_bucket{le="1.0",a="b"} 1
h_bucket{le="+Inf",a="b"} 1
h_sum{a="b"} 1
h_count{a="b"} 1
# TYPE g gauge
# HELP g h
g NaN
# EOF
`)
})
