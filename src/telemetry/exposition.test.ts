import { expect, test } from "bun:test"
import { Counter, Gauge, Histogram, Registry } from "prom-client"
import { atOnce } from "../clock.ts"
import { Distribution } from "./distribution.ts"
import { exposeLines, readRegistry, shareAnswer } from "./exposition.ts"
import { Tallies } from "./tally.ts"

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
      tallies.bind({ a, b: String(at) })(at)
      // made again, as for a spool that is opened again
      counter.inc({ a, b: String(at) })
      tallies.bind({ a, b: String(at) })()
    }
    const observe = distribution.bind({ a })
    for (const value of VALUES) {
      histogram.observe({ a }, value)
      observe(value)
    }
  }
  const own = [atOnce(tallies.read()), atOnce(distribution.read())]
  expect((await exposeLines(own, "prometheus")).text).toBe(await registry.metrics())
  expect((await exposeLines([atOnce(tallies.read()), atOnce(distribution.read())], "prometheus")).text).toBe(
    await registry.metrics(),
  )
})

test("without observations a set of a distribution's labels has its count, sum and last bucket", () => {
  const distribution = new Distribution("h", "h", ["pipeline"], [1])
  distribution.bind({ pipeline: "idle" })
  distribution.bind({ pipeline: "busy" })(2)
  expect(atOnce(distribution.read())).toMatchObject({
    series: [
      'h_bucket{le="+Inf",pipeline="idle"}',
      'h_sum{pipeline="idle"}',
      'h_count{pipeline="idle"}',
      'h_bucket{le="1",pipeline="busy"}',
      'h_bucket{le="+Inf",pipeline="busy"}',
      'h_sum{pipeline="busy"}',
      'h_count{pipeline="busy"}',
    ],
    values: [0, 0, 0, 0, 1, 2, 1],
  })
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
