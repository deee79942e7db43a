import { expect, test } from "bun:test"
import { MetricRegistry } from "../../telemetry/metric-registry.ts"
import { expose } from "../../telemetry/text-formats.ts"
import { Metrics } from "../../telemetry/metrics.ts"
import { addCounters, packedExposition, sumMetrics, unpackMetrics } from "./summed-metrics.ts"

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
  const { body } = await packedExposition(await metrics.read())
  return unpackMetrics((await new Response(body).json()) as Parameters<typeof unpackMetrics>[0])
}

const linesOf = async (all: Parameters<typeof sumMetrics>[0], name: string): Promise<string[]> =>
  (await new Response(expose(await sumMetrics(all)).body).text())
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

test("each metric is combined in its way", async () => {
  const registries = [1, 2, 4].map((n) => {
    const registry = new MetricRegistry()
    for (const aggregator of ["sum", "min", "max", "average", "first", "omit"] as const)
      registry.reading({ name: `g_${aggregator}`, help: "h", labels: ["of"], aggregator }, () => [
        [["all"], n],
        [[n], -n],
      ])
    registry.distribution("h_seconds", "h", [], [1, 3]).at().add(n)
    return registry.all
  })
  const text = await new Response(expose(await sumMetrics(registries)).body).text()
  const lines = text.split("\n").filter((line) => /^(g_.*all|h_)/.test(line))
  expect(lines).toEqual([
    'g_sum{of="all"} 7',
    'g_min{of="all"} 1',
    'g_max{of="all"} 4',
    `g_average{of="all"} ${7 / 3}`,
    'g_first{of="all"} 1',
    'h_seconds_bucket{le="1"} 1',
    'h_seconds_bucket{le="3"} 2',
    'h_seconds_bucket{le="+Inf"} 3',
    "h_seconds_sum 7",
    "h_seconds_count 3",
  ])
  for (const n of [1, 2, 4]) expect(text).toContain(`g_average{of="${n}"} ${-n}`)
  expect(text).not.toContain("g_omit")
})
