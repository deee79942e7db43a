import { expect, test } from "bun:test"
import { Metrics } from "./metrics.ts"
import { scraped } from "../../test/support/scraped.ts"

const linesOf = async (metrics: Metrics, name: string): Promise<string[]> =>
  (await scraped(metrics)).split("\n").filter((line) => line.startsWith(name))

test("counts by pipeline and status, and keeps them from one scrape to the next", async () => {
  const metrics = new Metrics()
  const handles = metrics.pipeline("payments")
  handles.answered(200)
  handles.answered(200)
  handles.answered(503)
  metrics.pipeline("").answered(404)
  const expected = [
    'hookline_http_requests_total{pipeline="payments",status="200"} 2',
    'hookline_http_requests_total{pipeline="payments",status="503"} 1',
    'hookline_http_requests_total{pipeline="",status="404"} 1',
  ]
  expect(await linesOf(metrics, "hookline_http")).toEqual(expected)
  expect(await linesOf(metrics, "hookline_http")).toEqual(expected)
})

test("the delays of the event loop are numbers in a scrape right after another one, too", async () => {
  const metrics = new Metrics()
  await scraped(metrics)
  const values = (await linesOf(metrics, "nodejs_eventloop_lag_")).map((line) => Number(line.split(" ")[1]))
  expect(values.length).toBe(8)
  for (const value of values) expect(value).toBeWithin(0, 60)
})

test("a pipeline's handles are created once", async () => {
  const metrics = new Metrics()
  metrics.pipeline("a").ended("dropped", "ping")
  metrics.pipeline("a").ended("dropped", "ping")
  expect(await linesOf(metrics, "hookline_events_total")).toEqual([
    'hookline_events_total{pipeline="a",outcome="dropped",reason="ping"} 2',
  ])
})

test("an observation counts in every bucket whose bound is not below it", async () => {
  const metrics = new Metrics()
  const handles = metrics.pipeline("a")
  for (const ms of [0, 1, 1.5, 10_000, 10_001]) handles.acknowledged(ms)
  const lines = await linesOf(metrics, "hookline_acknowledgement_seconds")
  expect(lines).toContain('hookline_acknowledgement_seconds_bucket{le="0.001",pipeline="a"} 2')
  expect(lines).toContain('hookline_acknowledgement_seconds_bucket{le="0.0025",pipeline="a"} 3')
  expect(lines).toContain('hookline_acknowledgement_seconds_bucket{le="10",pipeline="a"} 4')
  expect(lines).toContain('hookline_acknowledgement_seconds_bucket{le="+Inf",pipeline="a"} 5')
  expect(lines).toContain('hookline_acknowledgement_seconds_count{pipeline="a"} 5')
  expect(lines).toContain('hookline_acknowledgement_seconds_sum{pipeline="a"} 20.0035')
})

test("a connection's batches count by records and by seconds", async () => {
  const metrics = new Metrics()
  metrics.connection("kafka").batch(64, 3)
  expect(await linesOf(metrics, "hookline_batch_records_sum")).toEqual([
    'hookline_batch_records_sum{connection="kafka"} 64',
  ])
  expect(await linesOf(metrics, "hookline_publish_seconds_sum")).toEqual([
    'hookline_publish_seconds_sum{connection="kafka"} 0.003',
  ])
})

test("a scrape does not walk the heap", async () => {
  const text = await scraped(new Metrics())
  expect(text).toContain("nodejs_heap_size_used_bytes")
  expect(text).not.toContain("heap_space")
})

const HALF = { topic: "t", problem: "no leader", isWhole: false, leaderless: 2, isOutage: true }

test("a section that another process runs has no series", async () => {
  const metrics = new Metrics()
  const forward = {
    lag: 3,
    delivered: 1,
    refused: 0,
    setBack: 0,
    inFlight: 0,
    problem: undefined,
    isElsewhere: false,
    isPaused: false,
  }
  metrics.observeSenders({
    forwards: () => [
      { ...forward, id: "here" },
      { ...forward, id: "there", problem: "another process has it", isElsewhere: true },
    ],
  })
  expect(await linesOf(metrics, "hookline_forward_ready")).toEqual([
    'hookline_forward_ready{forward="here"} 1',
  ])
})

test("gauges are read at each scrape", async () => {
  const metrics = new Metrics()
  let ready = false
  metrics.observe({
    inFlight: () => ({ requests: 2, bytes: 300 }),
    maxInFlightBytes: () => 1000,
    logs: () => [],
    connections: () => [["log", ready]],
    impaired: () => [["log", ready ? [] : [HALF, HALF]]],
    stores: () => [["data", ready]],
    waiting: () => [["data", 3]],
    droppedKeys: () => [["data", 4]],
    spools: () => [],
  })
  expect(await linesOf(metrics, "hookline_in_flight")).toEqual([
    "hookline_in_flight_requests 2",
    "hookline_in_flight_bytes 300",
    "hookline_in_flight_limit_bytes 1000",
  ])
  expect(await linesOf(metrics, "hookline_connection_ready")).toEqual([
    'hookline_connection_ready{connection="log"} 0',
  ])
  expect(await linesOf(metrics, "hookline_deduplicator_store_ready")).toEqual([
    'hookline_deduplicator_store_ready{store="data"} 0',
  ])
  expect(await linesOf(metrics, "hookline_deduplicator_waiting_events")).toEqual([
    'hookline_deduplicator_waiting_events{store="data"} 3',
  ])
  expect(await linesOf(metrics, "hookline_deduplicator_dropped_keys")).toEqual([
    'hookline_deduplicator_dropped_keys{store="data"} 4',
  ])
  const impaired = async () => [
    ...(await linesOf(metrics, "hookline_impaired_topics")),
    ...(await linesOf(metrics, "hookline_partitions_without_leader")),
  ]
  expect(await impaired()).toEqual([
    'hookline_impaired_topics{connection="log"} 2',
    'hookline_partitions_without_leader{connection="log"} 4',
  ])
  ready = true
  expect(await impaired()).toEqual([
    'hookline_impaired_topics{connection="log"} 0',
    'hookline_partitions_without_leader{connection="log"} 0',
  ])
  expect(await linesOf(metrics, "hookline_connection_ready")).toEqual([
    'hookline_connection_ready{connection="log"} 1',
  ])
})

test("a pipeline without detail has at most fourteen series, and shares those with reasons and the histograms", async () => {
  const metrics = new Metrics()
  metrics.setDetail((id) => id === "detailed")
  const begun = (await scraped(metrics)).split("\n").filter((line) => line.includes('pipeline="'))
  expect(begun).toEqual([])
  for (const id of ["a", "b"]) {
    const handles = metrics.pipeline(id)
    handles.begin(["accepted"])
    for (const status of [200, 202, 302, 400, 404, 500, 503]) handles.answered(status)
    for (const outcome of ["accepted", "dropped", "answered"] as const) handles.ended(outcome, "")
    for (const reason of ["a", "b", "internal"]) handles.ended("rejected", reason)
    for (const reason of ["stale", "no_signature"]) handles.unverified(reason, "enforce")
    handles.received(10)
    for (const ms of [2, 3]) handles.acknowledged(ms)
    handles.took("accepted", 1)
    handles.deadLetter("invalid_json")
  }
  metrics.pipeline("a").unanswered()
  metrics.pipeline("a").untrustedProxy()
  metrics.pipeline("detailed").unverified("stale", "enforce")
  expect(await linesOf(metrics, "hookline_verification_failures_total")).toEqual([
    'hookline_verification_failures_total{pipeline="detailed",reason="stale",mode="enforce"} 1',
    'hookline_verification_failures_total{pipeline="a",reason="",mode="enforce"} 2',
    'hookline_verification_failures_total{pipeline="b",reason="",mode="enforce"} 2',
  ])
  const lines = (await scraped(metrics)).split("\n")
  expect(lines.filter((line) => line.includes('pipeline="a"'))).toEqual([
    'hookline_http_requests_total{pipeline="a",status="2xx"} 3',
    'hookline_http_requests_total{pipeline="a",status="4xx"} 2',
    'hookline_http_requests_total{pipeline="a",status="5xx"} 2',
    'hookline_events_total{pipeline="a",outcome="accepted",reason=""} 1',
    'hookline_events_total{pipeline="a",outcome="dropped",reason=""} 1',
    'hookline_events_total{pipeline="a",outcome="rejected",reason=""} 2',
    'hookline_events_total{pipeline="a",outcome="answered",reason=""} 1',
    'hookline_events_total{pipeline="a",outcome="rejected",reason="internal"} 1',
    'hookline_received_bytes_total{pipeline="a"} 10',
    'hookline_unanswered_requests_total{pipeline="a"} 1',
    'hookline_untrusted_proxy_requests_total{pipeline="a"} 1',
    'hookline_verification_failures_total{pipeline="a",reason="",mode="enforce"} 2',
    'hookline_pipeline_acknowledgement_seconds_sum{pipeline="a"} 0.005',
    'hookline_pipeline_acknowledgement_seconds_count{pipeline="a"} 2',
  ])
  expect(lines).toContain('hookline_dead_letters_total{pipeline="*",reason="invalid_json"} 2')
  expect(lines).toContain('hookline_acknowledgement_seconds_count{pipeline="*"} 4')
  expect(lines).toContain('hookline_answer_seconds_count{pipeline="*",outcome="accepted"} 2')
})
