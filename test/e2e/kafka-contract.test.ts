import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import { startHookline, temporaryFolder, type RunningHookline } from "../support/hookline.ts"
import { canStartKafka, createTopic, freshTopic, startStrictKafka, type OwnKafka } from "../support/kafka.ts"
import { until } from "../support/kafka-options.ts"
import { hasKcat, readWithKcat } from "../support/kcat.ts"

const DELIVERY_TIMEOUT_MS = 1000
/** What an answer may be late by, and what a request takes on a busy machine beside it. */
const LATE_MS = 100 + 400

const available = (await canStartKafka()) && hasKcat()
describe.skipIf(!available)("what a sender gets of Hookline on Kafka", () => {
  const folder = temporaryFolder()
  let kafka: OwnKafka
  let running: RunningHookline
  /** Of pipeline `missing`; not there yet. */
  let missing: string

  beforeAll(async () => {
    kafka = await startStrictKafka(["webhooks"])
  }, 60_000)
  beforeEach(() => {
    missing = freshTopic("missing")
  })
  afterEach(() => running.stop())
  afterAll(async () => {
    await kafka.stop()
    folder[Symbol.dispose]()
  })

  const start = async (): Promise<void> => {
    running = await startHookline(
      `[connection:kafka]
bootstrap_servers = ${kafka.bootstrapServers}
delivery_timeout = ${DELIVERY_TIMEOUT_MS}ms
[pipeline:webhooks:WebHookSource]
[pipeline:webhooks:BrokerSink]
topic = webhooks
[pipeline:missing:WebHookSource]
[pipeline:missing:BrokerSink]
topic = ${missing}`,
      { folder: folder.path },
    )
  }
  const post = async (
    body: string,
    pipeline = "webhooks",
  ): Promise<{ status: number; ms: number; answer: Response; detail: string }> => {
    const began = performance.now()
    const answer = await fetch(running.urls[pipeline]!, { method: "POST", body })
    const text = await answer.text()
    const { detail = "" } = text === "" ? {} : (JSON.parse(text) as { detail?: string })
    return { status: answer.status, ms: performance.now() - began, answer, detail }
  }
  const readiness = async (): Promise<[number, unknown]> => {
    const answer = await fetch(`${running.adminUrl}/readyz`)
    return [answer.status, ((await answer.json()) as { status: string }).status]
  }
  /** Posts until one event is taken, and says which: one that was answered 503 may have been published all the same. */
  const accepted = async (pipeline?: string): Promise<string> => {
    for (let attempt = 0; ; attempt++) {
      const n = `attempt-${attempt}-${crypto.randomUUID()}`
      if ((await post(`{"n":"${n}"}`, pipeline)).status === 200) return n
    }
  }
  const count = (published: readonly string[], n: string): number => published.filter((it) => it === n).length
  const published = async (topic: string): Promise<string[]> =>
    (await readWithKcat(kafka, topic)).map(({ value }) => /"n":"?([\w-]+)/.exec(value.toString())![1]!)

  test("503 with Retry-After while the broker is down, within the delivery timeout, and 200 once it is up", async () => {
    await kafka.nodes[0]!.kill()
    await start()
    expect(await readiness()).toEqual([503, "not ready"])
    const { status, ms, answer, detail } = await post('{"n":"down"}')
    expect(status).toBe(503)
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0)
    expect(ms).toBeLessThan(DELIVERY_TIMEOUT_MS + LATE_MS)
    expect(detail).not.toMatch(/kafka|127\.0\.0\.1|broker/i)

    await kafka.nodes[0]!.start()
    const up = await accepted()
    // the other topic is not there
    await until("the missing topic is told", async () => (await readiness())[1] === "partly ready")
    expect(await readiness()).toEqual([200, "partly ready"])
    const found = await published("webhooks")
    expect([count(found, up), count(found, "down")]).toEqual([1, 0])
  }, 60_000)

  test("413 for an event over the broker's own limit; the ones around it are taken", async () => {
    await start()
    await accepted()
    const pad = (n: string, bytes: number): string => `{"n":"${n}","pad":"${"x".repeat(bytes)}"}`
    const answers = await Promise.all([
      post(pad("small-1", 100)),
      post(pad("large", 30_000)),
      post(pad("small-2", 100)),
      post(pad("medium", 19_000)),
    ])
    expect(answers.map(({ status }) => status)).toEqual([200, 413, 200, 200])
    const found = await published("webhooks")
    expect(["small-1", "large", "small-2", "medium"].map((n) => count(found, n))).toEqual([1, 0, 1, 1])
  })

  test("503 for a topic that does not exist, one log line for it, and 200 once it is there", async () => {
    await start()
    await accepted()
    for (let n = 0; n < 5; n++) expect((await post('{"n":"early"}', "missing")).status).toBe(503)
    expect(running.log.filter((line) => line["topic"] === missing)).toHaveLength(1)
    await createTopic(kafka, missing)
    const later = await accepted("missing")
    await until("it is told no more", async () => (await readiness())[1] === "ready")
    const found = await published(missing)
    expect([count(found, later), count(found, "early")]).toEqual([1, 0])
  })

  test("503 within the delivery timeout while the broker stands still; what was queued is not published later", async () => {
    await start()
    await accepted()
    kafka.nodes[0]!.pause()
    const first = await post('{"n":"handed-over"}')
    const queued = await Promise.all(Array.from({ length: 20 }, () => post('{"n":"queued"}')))
    kafka.nodes[0]!.resume()
    for (const { status, ms } of [first, ...queued]) {
      expect(status).toBe(503)
      expect(ms).toBeLessThan(DELIVERY_TIMEOUT_MS + LATE_MS)
    }
    const after = await accepted()
    const found = await published("webhooks")
    expect([count(found, "queued"), count(found, after)]).toEqual([0, 1])
  }, 30_000)
})
