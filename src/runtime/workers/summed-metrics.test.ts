import { expect, test } from "bun:test"
import { deserialize, serialize } from "node:v8"
import { AggregatorRegistry, Counter, Gauge, Histogram, Registry } from "prom-client"
import { exposeLines, readRegistry } from "../../telemetry/exposition.ts"
import { Metrics } from "../../telemetry/metrics.ts"
import { addCounters, packMetrics, sumMetrics, unpackMetrics, type PackedMetrics } from "./summed-metrics.ts"

const LEADERLESS = { topic: "t", problem: "no leader", isWhole: false, leaderless: 2, isOutage: true }

/** A process that answered that many requests, each of whose events took that many milliseconds. */
async function process(requests: number, ms: number, isReady: boolean) {
  const metrics = new Metrics()
  metrics.observe({
    inFlight: () => ({ requests, bytes: 10 * requests }),
    maxInFlightBytes: () => 1000,
    logs: () => [],
    connections: () => [["kafka", isReady]],
    impaired: () => [["kafka", [LEADERLESS]]],
    stores: () => [],
    waiting: () => [],
    spools: () => [],
  })
  for (let n = 0; n < requests; n++) {
    metrics.pipeline("p").answered(200)
    metrics.pipeline("p").acknowledged(ms)
  }
  // as it is sent
  return unpackMetrics(deserialize(serialize(packMetrics(await metrics.lines()))) as PackedMetrics)
}

const linesOf = async (all: Parameters<typeof sumMetrics>[0], name: string): Promise<string[]> =>
  (await exposeLines(await sumMetrics(all), "prometheus")).text
    .split("\n")
    .filter((line) => line.startsWith(name))

test("counters, histograms and what is in flight are added up; a connection is ready where it is in all", async () => {
  const all = [await process(2, 1, true), await process(3, 100, false)]
  expect(await linesOf(all, "hookline_http_requests_total")).toEqual([
    'hookline_http_requests_total{pipeline="p",status="200"} 5',
  ])
  const buckets = await linesOf(all, "hookline_acknowledgement_seconds")
  expect(buckets).toContain('hookline_acknowledgement_seconds_bucket{le="0.001",pipeline="p"} 2')
  expect(buckets).toContain('hookline_acknowledgement_seconds_bucket{le="+Inf",pipeline="p"} 5')
  expect(buckets).toContain('hookline_acknowledgement_seconds_count{pipeline="p"} 5')
  expect(await linesOf(all, "hookline_in_flight")).toEqual([
    "hookline_in_flight_requests 5",
    "hookline_in_flight_bytes 50",
    "hookline_in_flight_limit_bytes 2000",
  ])
  expect(await linesOf(all, "hookline_connection_ready")).toEqual([
    'hookline_connection_ready{connection="kafka"} 0',
  ])
  // both see the same partitions
  expect(await linesOf(all, "hookline_partitions_without_leader")).toEqual([
    'hookline_partitions_without_leader{connection="kafka"} 2',
  ])
})

test("what processes counted that have ended stays, and what they held does not", async () => {
  const first = addCounters([], await process(2, 1, true))
  const past = addCounters(addCounters(first, []), await process(3, 1, true))
  const all = [past, await process(1, 1, true)]
  expect(await linesOf(all, "hookline_http_requests_total")).toEqual([
    'hookline_http_requests_total{pipeline="p",status="200"} 6',
  ])
  expect(await linesOf(all, "hookline_in_flight_requests")).toEqual(["hookline_in_flight_requests 1"])
})

test("metrics are added up as prom-client does, each in its way", async () => {
  const registries = [1, 2, 4].map((n) => {
    const registry = new Registry()
    const registers = [registry]
    for (const aggregator of ["sum", "min", "max", "average", "first", "omit"] as const) {
      const gauge = new Gauge({
        name: `g_${aggregator}`,
        help: "h",
        labelNames: ["of"],
        aggregator,
        registers,
      })
      gauge.set({ of: "all" }, n)
      gauge.set({ of: `${n}` }, -n)
    }
    new Counter({ name: "c_total", help: "h", registers }).inc(n)
    new Histogram({ name: "h_seconds", help: "h", buckets: [1, 3], registers }).observe(n)
    return registry
  })
  const expected = await AggregatorRegistry.aggregate(
    await Promise.all(registries.map((it) => it.getMetricsAsJSON())),
  ).metrics()
  const sum = await sumMetrics(await Promise.all(registries.map(readRegistry)))
  const { text } = await exposeLines(sum, "prometheus")
  expect(text).toBe(expected)
  expect(text).toContain("g_average")
})
