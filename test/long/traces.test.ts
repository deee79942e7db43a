import { afterEach, describe, expect, test } from "bun:test"
import {
  Application,
  brokerSink,
  enricher,
  memoryConnection,
  Pipeline,
  validator,
  webHookSource,
} from "../../src/index.ts"
import { LATE_MS } from "../support/findings.ts"
import { hookline, startHookline, temporaryFolder, type RunningHookline } from "../support/hookline.ts"
import { until } from "../support/kafka-options.ts"
import { hasOtlpReceiver, startOtlpReceiver, type ReceivedSpan } from "../support/otlp-receiver.ts"
import { freePort } from "../support/ports.ts"

const folder = temporaryFolder()
afterEach(() => folder[Symbol.dispose]())
const canReceive = await hasOtlpReceiver()

const TRACE = "0af7651916cd43dd8448eb211c80319c"
const SENDER = "b7ad6b7169203331"
const SAMPLED = `00-${TRACE}-${SENDER}-01`
const SECRET = "not-a-real-secret"

const configuration = (traces: string, more = ""): string => `
[connection:log]
directory = log
[pipeline:hooks:WebHookSource]
host = 127.0.0.1
port = 0
path = /hooks/*
[pipeline:hooks:Verifier]
provider = token
header = X-Token
secret = ${SECRET}
[pipeline:hooks:BrokerSink]
topic = hooks
trace_headers = on
${more}
[admin]
listen = 127.0.0.1:0
${traces}
`

async function post(
  { urls }: RunningHookline,
  {
    headers = {},
    token = SECRET,
    body = '{"a":1}',
  }: { headers?: object; token?: string; body?: string } = {},
): Promise<number> {
  const url = urls["hooks"]!.replace("*", "a?secret=in-the-query")
  const sent = { "X-Token": token, ...headers }
  const response = await fetch(url, { method: "POST", body, headers: sent })
  await response.bytes()
  return response.status
}

/** The headers of the topic's records, of the configuration that ran last. */
async function recordHeaders(topic = "hooks"): Promise<{ [name: string]: string }[]> {
  const args = ["tail", topic, "-c", "pipelines.conf", "--format", "json", "-n", "1000"]
  const { stdout } = await hookline(args, { cwd: folder.path })
  const records = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))
  return records.map(({ headers }) => Object.fromEntries(headers))
}

const metricsOf = async ({ adminUrl }: RunningHookline): Promise<string> =>
  (await fetch(`${adminUrl}/metrics`)).text()

const byKind = (spans: readonly ReceivedSpan[], kind: string): ReceivedSpan =>
  spans.find((it) => it.kind === kind)!

describe.skipIf(!canReceive)("with an OTLP receiver", () => {
  test("a sampled request's spans continue the sender's trace, and the record continues theirs", async () => {
    await using receiver = await startOtlpReceiver()
    const traces = `[traces]
endpoint = ${receiver.endpoint}
headers = Authorization=Bearer%20not-a-real-token
service_name = webhooks
resource = deployment.environment.name=test
sample = 0`
    // the file decides, not OpenTelemetry's variables
    const env = {
      OTEL_TRACES_SAMPLER: "always_off",
      OTEL_SERVICE_NAME: "other",
      OTEL_RESOURCE_ATTRIBUTES: "other=yes",
      OTEL_EXPORTER_OTLP_HEADERS: "other=yes",
      OTEL_SDK_DISABLED: "true",
    }
    await using running = await startHookline(configuration(traces), { folder: folder.path, env })
    const sent = { traceparent: SAMPLED, tracestate: "vendor=a" }
    expect(await post(running, { headers: sent })).toBe(200)
    await receiver.received((spans) => spans.length === 3)

    const spans = receiver.spans()
    const [receive, verify, publish] = ["SERVER", "INTERNAL", "PRODUCER"].map((it) => byKind(spans, it)) as [
      ReceivedSpan,
      ReceivedSpan,
      ReceivedSpan,
    ]
    for (const span of spans) {
      expect(span).toMatchObject({ traceId: TRACE, status: "UNSET", traceState: "vendor=a" })
      expect(span.endNs).toBeGreaterThanOrEqual(span.startNs)
    }
    const url = new URL(running.urls["hooks"]!)
    expect(receive).toMatchObject({ name: "POST /hooks/*", parentSpanId: SENDER, links: [] })
    expect(receive.attributes).toEqual({
      "http.request.method": "POST",
      "http.route": "/hooks/*",
      "url.path": "/hooks/a",
      "url.scheme": "http",
      "server.address": "127.0.0.1",
      "server.port": Number(url.port),
      "client.address": "127.0.0.1",
      "hookline.pipeline": "hooks",
      "hookline.request_id": expect.any(String),
      "http.response.status_code": 200,
      "http.request.body.size": 7,
      "hookline.outcome": "accepted",
    })
    expect(verify).toMatchObject({ name: "verify", parentSpanId: receive.spanId })
    expect(verify.attributes).toEqual({ "hookline.provider": "token" })
    expect(publish).toMatchObject({ name: "publish hooks", parentSpanId: receive.spanId })
    expect(publish.attributes).toEqual({
      "messaging.system": "hookline",
      "messaging.operation.name": "publish",
      "messaging.operation.type": "send",
      "messaging.destination.name": "hooks",
      "messaging.destination.partition.id": "0",
      "messaging.kafka.offset": 0,
    })
    expect(receive.resource).toMatchObject({
      "service.name": "webhooks",
      "service.version": expect.any(String),
      "service.instance.id": expect.any(String),
      "telemetry.sdk.name": "hookline",
      "deployment.environment.name": "test",
    })
    expect(receiver.exports[0]!.headers["Authorization"]).toBe("Bearer not-a-real-token")
    expect({ ...receive.resource, ...receiver.exports[0]!.headers }).not.toHaveProperty("other")
    const [record] = await recordHeaders()
    expect(record).toEqual({ traceparent: `00-${TRACE}-${publish.spanId}-01`, tracestate: "vendor=a" })
    expect(JSON.stringify(receiver.exports)).not.toMatch(/in-the-query|not-a-real-secret/)
    expect(await running.stop()).toBe(0)
    expect(running.output()).not.toContain("not-a-real-token")
  })

  test("refusals have their reason, a fault on this side is an error", async () => {
    await using receiver = await startOtlpReceiver()
    const schema = "[pipeline:hooks:Validator]\non_invalid = reject"
    const text = configuration(`[traces]\nendpoint = ${receiver.endpoint}`, schema)
    await using running = await startHookline(text, { folder: folder.path })
    expect(await post(running, { token: "wrong" })).toBe(401)
    expect(await post(running, { body: "no json" })).toBe(400)
    await receiver.received((spans) => spans.length >= 4)
    const ended = receiver
      .spans()
      .map(({ name, status, attributes }) => [
        name,
        status,
        attributes["http.response.status_code"],
        attributes["hookline.reason"],
      ])
    expect(ended).toEqual([
      ["verify", "UNSET", undefined, "no_match"],
      ["POST /hooks/*", "UNSET", 401, "unverified_no_match"],
      ["verify", "UNSET", undefined, undefined],
      ["POST /hooks/*", "UNSET", 400, "invalid_json"],
    ])
    expect(await running.stop()).toBe(0)
  })

  test("without a sampled parent the share of `sample` is traced; records say what was decided", async () => {
    await using receiver = await startOtlpReceiver()
    const topic = "[pipeline:hooks:Enricher]"
    const text = configuration(`[traces]\nendpoint = ${receiver.endpoint}\nsample = 0`, topic)
    await using running = await startHookline(text.replaceAll("= hooks\n", "= unsampled\n"), {
      folder: folder.path,
    })
    expect(await post(running)).toBe(200)
    expect(await post(running, { headers: { traceparent: SAMPLED.replace(/01$/, "00") } })).toBe(200)
    expect(await post(running, { headers: { traceparent: "malformed" } })).toBe(200)
    expect(await post(running, { headers: { traceparent: SAMPLED } })).toBe(200)
    expect(await running.stop()).toBe(0)
    expect(receiver.spans().map(({ traceId }) => traceId)).toEqual([TRACE, TRACE, TRACE])
    const records = await recordHeaders("unsampled")
    expect(records.map(({ traceparent }) => traceparent)).toEqual([
      expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/),
      SAMPLED.replace(/01$/, "00"),
      expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/),
      `00-${TRACE}-${byKind(receiver.spans(), "PRODUCER").spanId}-01`,
    ])
    expect(records[0]!["traceparent"]).not.toBe(records[2]!["traceparent"])
  })

  test("parent = link begins a trace of its own, linked to the sender's", async () => {
    await using receiver = await startOtlpReceiver()
    const text = configuration(`[traces]\nendpoint = ${receiver.endpoint}\nparent = link`)
    await using running = await startHookline(text, { folder: folder.path })
    expect(await post(running, { headers: { traceparent: SAMPLED, tracestate: "vendor=a" } })).toBe(200)
    expect(await running.stop()).toBe(0)
    const receive = byKind(receiver.spans(), "SERVER")
    expect(receive).toMatchObject({
      parentSpanId: "",
      traceState: "",
      links: [{ traceId: TRACE, spanId: SENDER }],
    })
    expect(receive.traceId).not.toBe(TRACE)
    const last = (await recordHeaders()).at(-1)!
    expect(last).toEqual({
      traceparent: `00-${receive.traceId}-${byKind(receiver.spans(), "PRODUCER").spanId}-01`,
    })
  })

  test("senders can't have more traced than max_traces_per_second", async () => {
    await using receiver = await startOtlpReceiver()
    const text = configuration(`[traces]\nendpoint = ${receiver.endpoint}\nmax_traces_per_second = 1`)
    await using running = await startHookline(text, { folder: folder.path })
    const started = performance.now()
    const sent = Array.from({ length: 20 }, () => post(running, { headers: { traceparent: SAMPLED } }))
    expect(await Promise.all(sent)).toEqual(sent.map(() => 200))
    const atMost = 1 + Math.ceil((performance.now() - started) / 1000)
    const metrics = await metricsOf(running)
    const over = Number(/hookline_traces_over_limit_total (\d+)/.exec(metrics)![1])
    expect(await running.stop()).toBe(0)
    const traced = receiver.spans().filter(({ kind }) => kind === "SERVER").length
    expect(traced).toBeGreaterThan(0)
    expect(traced).toBeLessThanOrEqual(atMost)
    expect(traced + over).toBe(20)
  })

  test("items of a split list have a span each, and their records name it", async () => {
    await using receiver = await startOtlpReceiver()
    const decoder = "[pipeline:hooks:Decoder]\nlists = split"
    const text = configuration(`[traces]\nendpoint = ${receiver.endpoint}`, decoder)
    await using running = await startHookline(text.replace("topic = hooks", "topic = items"), {
      folder: folder.path,
    })
    const body = JSON.stringify(Array.from({ length: 150 }, (_, n) => ({ n })))
    expect(await post(running, { body })).toBe(200)
    expect(await running.stop()).toBe(0)
    const spans = receiver.spans()
    const own = byKind(spans, "SERVER").spanId
    const published = spans.filter(({ kind }) => kind === "PRODUCER").map(({ spanId }) => spanId)
    // a trace has 100 spans at most; records of further items continue the request's
    expect(published).toHaveLength(98)
    const named = (await recordHeaders("items")).map((it) => it["traceparent"]!.split("-")[2]!)
    expect(named.toSorted()).toEqual([...published, ...Array(52).fill(own)].toSorted())
  })

  test("a dead letter has a span, which its record names", async () => {
    await using receiver = await startOtlpReceiver()
    const text = configuration(`[traces]\nendpoint = ${receiver.endpoint}`)
    const sink = "trace_headers = on\ndead_letter_topic = dead"
    await using running = await startHookline(text.replace("trace_headers = on", sink), {
      folder: folder.path,
    })
    expect(await post(running, { body: "no json" })).toBe(400)
    expect(await running.stop()).toBe(0)
    const span = byKind(receiver.spans(), "PRODUCER")
    expect(span.name).toBe("publish dead")
    expect((await recordHeaders("dead"))[0]).toMatchObject({
      "hookline.errors.reason": "invalid_json",
      traceparent: `00-${span.traceId}-${span.spanId}-01`,
    })
  })

  test("an event that is not acknowledged is an error", async () => {
    await using receiver = await startOtlpReceiver()
    const text = configuration(`[traces]\nendpoint = ${receiver.endpoint}`).replace(
      "directory = log",
      "bootstrap_servers = 127.0.0.1:1\ndelivery_timeout = 100ms",
    )
    await using running = await startHookline(text, { folder: folder.path })
    expect(await post(running)).toBe(503)
    await receiver.received((spans) => spans.length === 3)
    const spans = receiver.spans()
    expect(byKind(spans, "PRODUCER")).toMatchObject({
      status: "ERROR",
      attributes: { "messaging.system": "kafka", "error.type": "deadline" },
    })
    expect(byKind(spans, "SERVER")).toMatchObject({ status: "ERROR", attributes: { "error.type": "503" } })
    expect(await metricsOf(running)).toContain('hookline_trace_spans_total{outcome="exported",reason=""}')
    expect(await running.stop()).toBe(0)
  })

  test("the span of a spooled event says so", async () => {
    await using receiver = await startOtlpReceiver()
    const text = configuration(`[traces]\nendpoint = ${receiver.endpoint}`).replace(
      "directory = log",
      "bootstrap_servers = 127.0.0.1:1\nspool = spool.sqlite",
    )
    await using running = await startHookline(text, { folder: folder.path })
    expect(await post(running)).toBe(200)
    expect(await running.stop()).toBe(0)
    expect(byKind(receiver.spans(), "PRODUCER").attributes).toMatchObject({ "hookline.spooled": true })
  })

  test("an application in code traces requests to app.fetch, by their headers alone", async () => {
    await using receiver = await startOtlpReceiver()
    const memory = memoryConnection()
    const app = new Application({
      service: { logLevel: "silent" },
      traces: { endpoint: receiver.endpoint, sample: 0 },
    })
    app.registerConnection("memory", memory)
    app.addPipeline(
      new Pipeline("mounted", {
        source: webHookSource({ path: "/hooks" }),
        processors: [validator(), enricher()],
        sink: brokerSink({ topic: "mounted", traceHeaders: "on" }),
      }),
    )
    await app.start({ listen: false })
    const post = (headers: { [name: string]: string }) =>
      app.fetch(
        new Request("http://mine.example/hooks", {
          method: "POST",
          body: "{}",
          headers: { host: "mine.example", ...headers },
        }),
      )
    expect((await post({ traceparent: SAMPLED })).status).toBe(200)
    expect((await post({})).status).toBe(200)
    await app.stop()
    const [receive, publish] = ["SERVER", "PRODUCER"].map((it) => byKind(receiver.spans(), it))
    expect(receiver.spans()).toHaveLength(2)
    expect(receive!.attributes).toMatchObject({ "server.address": "mine.example" })
    const [, value] = memory.records()[0]!.headers!.find(([name]) => name === "traceparent")!
    expect(Buffer.from(value).toString()).toBe(`00-${TRACE}-${publish!.spanId}-01`)
  })

  test("a reload to another collector sends the spans of before to the former", async () => {
    await using first = await startOtlpReceiver()
    await using second = await startOtlpReceiver()
    const at = (endpoint: string): string => configuration(`[traces]\nendpoint = ${endpoint}`)
    await using running = await startHookline(at(first.endpoint), { folder: folder.path })
    expect(await post(running)).toBe(200)
    await Bun.write(`${folder.path}/pipelines.conf`, at(second.endpoint))
    running.signal("SIGHUP")
    const line = await running.logged(({ msg }) => msg === "reloaded")
    expect(line).toMatchObject({ traces_changed: ["endpoint"] })
    expect(line).not.toHaveProperty("pipelines_changed")
    expect(await post(running)).toBe(200)
    expect(await running.stop()).toBe(0)
    expect([first.spans().length, second.spans().length]).toEqual([3, 3])
  })

  test("spans wait for a collector that is away, and are sent when it is back", async () => {
    const port = await freePort()
    const text = configuration(`[traces]\nendpoint = http://127.0.0.1:${port}`)
    await using running = await startHookline(text, { folder: folder.path })
    expect(await post(running)).toBe(200)
    await running.logged(({ msg }) => msg === "collector unavailable; traces wait, up to a limit")
    await using receiver = await startOtlpReceiver(port)
    await running.logged(({ msg }) => msg === "traces are exported again")
    expect(receiver.spans()).toHaveLength(3)
    expect(await metricsOf(running)).toContain('hookline_trace_spans_total{outcome="exported",reason=""} 3')
    await receiver.answerWith({ status: 503 })
    expect(await post(running)).toBe(200)
    await receiver.received((_, exports) => exports.some(({ status }) => status === 503))
    await receiver.answerWith({ status: 200 })
    await receiver.received((spans) => spans.length === 6)
    expect(await running.stop()).toBe(0)
  })

  test("spans that the collector refuses are dropped, counted and logged once", async () => {
    await using receiver = await startOtlpReceiver()
    await receiver.answerWith({ status: 401 })
    const text = configuration(`[traces]\nendpoint = ${receiver.endpoint}`)
    await using running = await startHookline(text, { folder: folder.path })
    for (const requests of [1, 2]) {
      expect(await post(running)).toBe(200)
      await receiver.received((_, exports) => exports.length === requests)
    }
    await receiver.answerWith({ rejected: 2 })
    expect(await post(running)).toBe(200)
    await running.logged(({ msg }) => msg === "traces are exported again")
    const dropped = 'hookline_trace_spans_total{outcome="dropped",reason="refused"}'
    await until("counted", async () => (await metricsOf(running)).includes(`${dropped} 8`))
    const metrics = await metricsOf(running)
    expect(metrics).toContain('hookline_trace_spans_total{outcome="exported",reason=""} 1')
    const refused = running.log.filter(({ msg }) => msg.startsWith("traces refused"))
    expect(refused).toEqual([
      expect.objectContaining({ level: "warn", endpoint: receiver.endpoint, reason: "HTTP 401" }),
    ])
    expect(await running.stop()).toBe(0)
  })
})

test("a collector that never answers delays neither answers nor, for long, the stop; spans are dropped", async () => {
  using silent = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } })
  const traces = `[traces]\nendpoint = http://127.0.0.1:${silent.port}\nmax_traces_per_second = 100000`
  const text = configuration(`[service]\ndrain_timeout = 2s\n${traces}`)
  await using running = await startHookline(text, { folder: folder.path })
  for (let batch = 0; batch < 40; batch++) {
    const sent = await Promise.all(Array.from({ length: 25 }, () => post(running)))
    expect(sent).toEqual(sent.map(() => 200))
  }
  const dropped = /reason="queue_full"} (\d+)/.exec(await metricsOf(running))![1]
  // 3000 spans, of which 2048 wait
  expect(Number(dropped)).toBe(3000 - 2048)
  const started = performance.now()
  expect(await running.stop()).toBe(0)
  expect(performance.now() - started).toBeLessThan(2000 + LATE_MS)
})

test("without [traces] endpoint what records spans is not loaded", async () => {
  const loaded = async (traces: string): Promise<boolean> => {
    const script = `
      import { Application } from ${JSON.stringify(`${import.meta.dir}/../../src/index.ts`)}
      await using app = { app: Application.fromFile("pipelines.conf"), [Symbol.asyncDispose]() { return this.app.stop() } }
      await app.app.start()
      console.log("loaded:", Object.keys(require.cache).some((it) => it.endsWith("/otlp-tracer.ts")))
    `
    await Bun.write(`${folder.path}/pipelines.conf`, configuration(traces))
    await Bun.write(`${folder.path}/start.ts`, script)
    const child = Bun.spawn([process.execPath, "start.ts"], { cwd: folder.path, stderr: "inherit" })
    const output = await child.stdout.text()
    return output.includes("loaded: true")
  }
  expect(await loaded("")).toBe(false)
  expect(await loaded("[traces]\nendpoint = off")).toBe(false)
  expect(await loaded("[traces]\nendpoint = http://127.0.0.1:1")).toBe(true)
})

test("check names what is wrong with [traces], without its secrets", async () => {
  const traces = `[traces]
endpoint = ftp://localhost
headers = Authorization: not-a-real-token
sample = 2
parent = trust
resource = =b`
  await Bun.write(`${folder.path}/wrong.conf`, configuration(traces))
  const { status, stderr } = await hookline(["check", "-c", "wrong.conf"], { cwd: folder.path })
  expect(status).toBe(78)
  const problems = stderr.split("\n").flatMap((line) => /\[traces\] (\w+): /.exec(line)?.[1] ?? [])
  expect(problems).toEqual(["endpoint", "headers", "sample", "parent", "resource"])
  expect(stderr).not.toContain("not-a-real-token")
})
