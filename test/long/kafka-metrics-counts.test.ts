import { createHmac } from "node:crypto"
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { folderOfTests, startHookline, type RunningHookline } from "../support/hookline.ts"
import { kafkaOfTests } from "../support/kafka-behind.ts"
import { until } from "../support/kafka-options.ts"
import { openProxy } from "../support/kafka-proxy.ts"
import { canStartKafka, createTopic, freshTopic } from "../support/kafka.ts"
import { samplesIn } from "../support/prometheus.ts"
import { configurationOf } from "../support/webhook-service.ts"

const SECRET = "obviously-fake-secret"
const BODY = '{"k":"1"}'

const proxy = await openProxy()

describe.skipIf(!(await canStartKafka()))("what a service on Kafka counts", () => {
  const folder = folderOfTests()
  const kafka = kafkaOfTests({}, [proxy])
  let topic: string
  let running: RunningHookline

  beforeEach(async () => {
    topic = freshTopic()
    await createTopic(kafka, topic)
  })
  afterEach(async () => {
    proxy.heal()
    await running.stop()
  })

  const start = async (name: string, connection: string, service = {}, more = ""): Promise<void> => {
    const at = { connection: `bootstrap_servers = ${proxy.address}\n${connection}`, topic }
    running = await startHookline(`${configurationOf({ ...at, ...service })}\n${more}`, {
      folder: folder.make(name),
    })
  }
  const post = (body = BODY, headers: { [name: string]: string } = {}): Promise<Response> =>
    fetch(running.urls["webhooks"]!, { method: "POST", body, headers })
  const value = async (
    name: string,
    labels: { [name: string]: string } = {},
  ): Promise<number | undefined> => {
    const text = await (await fetch(`${running.adminUrl}/metrics`)).text()
    const found = samplesIn(text).filter(
      (it) => it.labels["__name__"] === name && Bun.deepMatch(labels, it.labels),
    )
    expect([name, found.length <= 1]).toEqual([name, true])
    return found[0]?.value
  }
  const broker = { connection: "broker" }

  test("batches, requests in flight, retries and reconnects, verification failures by reason", async () => {
    const verifier = `[pipeline:webhooks:Verifier]\nprovider = github\nsecret = ${SECRET}`
    await start("counts", "delivery_timeout = 1m", {}, verifier)
    const signature = `sha256=${createHmac("sha256", SECRET).update(BODY).digest("hex")}`
    const signed = (): Promise<Response> => post(BODY, { "X-Hub-Signature-256": signature })
    const several = (count: number): Promise<number[]> =>
      Promise.all(Array.from({ length: count }, async () => (await signed()).status))
    expect(new Set(await several(50))).toEqual(new Set([200]))
    expect(await value("hookline_batch_records_sum", broker)).toBe(50)
    const batches = await value("hookline_batch_records_count", broker)
    expect(batches).toBeLessThanOrEqual(50)
    expect(await value("hookline_publish_seconds_count", broker)).toBe(batches!)
    expect(await value("hookline_batch_records_bucket", { ...broker, le: "+Inf" })).toBe(batches!)
    expect(await value("hookline_retried_batches_total", broker)).toBe(0)
    const connects = { ...broker, result: "success" }
    const before = (await value("hookline_connects_total", connects))!
    expect(before).toBeGreaterThan(0)

    proxy.holdAnswers()
    const held = several(4)
    await until("held", async () => (await value("hookline_in_flight_requests")) === 4)
    expect(await value("hookline_in_flight_bytes")).toBe(4 * BODY.length)
    expect(await value("hookline_in_flight_limit_bytes")).toBe(64 * 1024 ** 2)
    proxy.loseAnswers()
    await until("unreachable", async () => {
      return (await value("hookline_connects_total", { ...broker, result: "failure" }))! > 0
    })
    proxy.heal()
    expect(new Set(await held)).toEqual(new Set([200]))
    expect(await value("hookline_in_flight_requests")).toBe(0)
    expect(await value("hookline_in_flight_bytes")).toBe(0)
    expect(await value("hookline_batch_records_sum", broker)).toBe(54)
    expect(await value("hookline_retried_batches_total", broker)).toBeGreaterThan(0)
    expect(await value("hookline_connects_total", connects)).toBeGreaterThan(before)

    const failures = { pipeline: "webhooks", mode: "enforce" }
    expect((await post()).status).toBe(401)
    for (let n = 0; n < 3; n++)
      expect((await post(BODY, { "X-Hub-Signature-256": `sha256=${"0".repeat(64)}` })).status).toBe(401)
    for (const [reason, count] of [
      ["missing_header", 1],
      ["no_match", 3],
      ["stale", 0],
    ] as const)
      expect([reason, await value("hookline_verification_failures_total", { ...failures, reason })]).toEqual([
        reason,
        count,
      ])
    const answered = { pipeline: "webhooks", outcome: "refused" }
    expect(await value("hookline_answer_seconds_count", answered)).toBe(4)
    expect(await value("hookline_received_bytes_total", { pipeline: "webhooks" })).toBe(58 * BODY.length)
  })

  test("the spool's depth and age, and what was spooled and forwarded", async () => {
    await start("spool", "delivery_timeout = 10s\nspool = spool.sqlite\nspool_max_bytes = 1MiB")
    // events that come before Kafka has answered are spooled, too
    await until("the broker is ready", async () => (await value("hookline_spool_broker_ready", broker)) === 1)
    expect((await post()).status).toBe(200)
    await until("none is left", async () => (await value("hookline_spool_records", broker)) === 0)
    const counted = (outcome: string) => value("hookline_spooled_records_total", { ...broker, outcome })
    const before = (await counted("spooled"))!
    expect(await counted("forwarded")).toBe(before)
    expect(await value("hookline_spool_oldest_age_seconds", broker)).toBe(0)
    expect(await value("hookline_spool_limit_bytes", broker)).toBe(1024 ** 2)
    proxy.loseAnswers()
    for (let n = 0; n < 3; n++) expect((await post()).status).toBe(200)
    expect(await value("hookline_spool_records", broker)).toBe(3)
    const bytes = (await value("hookline_spool_bytes", broker))!
    expect(bytes).toBeGreaterThanOrEqual(3 * BODY.length)
    const age = (await value("hookline_spool_oldest_age_seconds", broker))!
    expect(age).toBeGreaterThan(0)
    await until("it ages", async () => (await value("hookline_spool_oldest_age_seconds", broker))! > age)
    expect(await value("hookline_spool_broker_ready", broker)).toBe(0)
    expect(await value("hookline_connection_ready", broker)).toBe(1)
    proxy.heal()
    await until("forwarded", async () => (await value("hookline_spool_records", broker)) === 0)
    await until("the broker is ready", async () => (await value("hookline_spool_broker_ready", broker)) === 1)
    expect(await value("hookline_spool_bytes", broker)).toBe(0)
    expect(await value("hookline_spool_oldest_age_seconds", broker)).toBe(0)
    expect(await counted("spooled")).toBe(before + 3)
    expect(await counted("forwarded")).toBe(before + 3)
    expect(await counted("quarantined")).toBe(0)
  })
})
