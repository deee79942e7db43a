import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import { steadyMs } from "../../src/clock/clock.ts"
import { isFull, report } from "../support/fault-table.ts"
import { compare, expectKept } from "../support/findings.ts"
import { temporaryFolder, type RunningHookline } from "../support/hookline.ts"
import { until } from "../support/kafka-options.ts"
import {
  canStartKafka,
  createTopic,
  freshTopic,
  openAdmin,
  startKafka,
  type OwnKafka,
} from "../support/kafka.ts"
import { hasKcat, takenFromKcat } from "../support/kcat.ts"
import { isAcknowledged, NumberedSenders } from "../support/numbered-senders.ts"
import { eventsInKafka, onKafka, serving, startService } from "../support/webhook-service.ts"

const DELIVERY_TIMEOUT_MS = isFull ? 2000 : 1000
const PAUSE_MS = isFull ? 8000 : 2500
/** The goal for the time from the broker taking requests again to the first acknowledgement. */
const BACK_WITHIN_MS = 2000
/** Acknowledgements that were on their way when the broker went are answered within this time. */
const ON_THEIR_WAY_MS = 200

const available = (await canStartKafka()) && hasKcat()
describe.skipIf(!available)("one Kafka broker", () => {
  const folder = temporaryFolder()
  let kafka: OwnKafka
  let running: RunningHookline
  let topic: string
  let senders: NumberedSenders

  beforeAll(async () => {
    kafka = await startKafka({ properties: { "auto.create.topics.enable": "false" } })
  }, 60_000)
  beforeEach(async () => {
    topic = freshTopic()
    await createTopic(kafka, topic, { partitions: 3 })
    running = await startService({
      folder: folder.path,
      connection: onKafka(kafka),
      topic,
      deliveryTimeoutMs: DELIVERY_TIMEOUT_MS,
    })
    senders = new NumberedSenders(serving(running), { keyless: 8 })
    await senders.many(300)
  }, 30_000)
  afterEach(async () => {
    await senders.stop()
    await running.stop()
    await kafka.nodes[0]!.restore()
  })
  afterAll(async () => {
    await kafka.stop()
    folder[Symbol.dispose]()
  })

  test(`that is paused for ${PAUSE_MS} ms: nothing is lost or doubled, no request waits too long, and what was queued is not published later`, async () => {
    kafka.nodes[0]!.pause()
    const pausedMs = steadyMs()
    await Bun.sleep(PAUSE_MS)
    kafka.nodes[0]!.resume()
    const resumedMs = steadyMs()
    const back = await senders.first((it) => isAcknowledged(it) && it.answeredMs > resumedMs)
    await senders.many(300)
    await senders.stop()

    const logged = await eventsInKafka(kafka, topic)
    const findings = compare(senders.posted, logged)
    report(`broker paused ${PAUSE_MS / 1000} s`, findings, back.answeredMs - resumedMs)
    expectKept(findings, DELIVERY_TIMEOUT_MS)
    expect(back.answeredMs - resumedMs).toBeLessThan(BACK_WITHIN_MS)
    // What came once a batch was out, and was over before the broker went on.
    const queued = senders.posted.filter(
      (it) => it.startedMs > pausedMs + ON_THEIR_WAY_MS && it.answeredMs < resumedMs,
    )
    expect(queued.length).toBeGreaterThan(20)
    expect(new Set(queued.map(({ answer }) => answer))).toEqual(new Set([503]))
    const there = new Set(logged.map(({ number }) => number))
    expect(queued.filter(({ number }) => there.has(number))).toEqual([])
  }, 60_000)

  test("that is killed and started again: nothing is lost or doubled, and it is used again within two seconds", async () => {
    await kafka.nodes[0]!.kill()
    const killedMs = steadyMs()
    await senders.first((it) => it.startedMs > killedMs && it.answer === 503)
    const refused = await fetch(running.urls["webhooks"]!, { method: "POST", body: '{"refused":true}' })
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0)
    expect(await refused.text()).not.toMatch(/kafka|127\.0\.0\.1|broker/i)
    const started = kafka.nodes[0]!.start()
    const back = senders.first((it) => isAcknowledged(it) && it.answeredMs > killedMs + ON_THEIR_WAY_MS)
    const takenMs = await takenFromKcat(kafka, topic)
    const backAfterMs = Math.max(0, (await back).answeredMs - takenMs)
    await started
    await senders.many(300)
    await senders.stop()

    const findings = compare(senders.posted, await eventsInKafka(kafka, topic))
    report("broker killed and restarted", findings, backAfterMs)
    expect(running.log.map(({ msg }) => msg).filter((msg) => /Kafka/.test(msg))).toEqual([
      "connected to Kafka",
      "Kafka unavailable; retrying",
      "connected to Kafka",
    ])
    expectKept(findings, DELIVERY_TIMEOUT_MS)
    expect(backAfterMs).toBeLessThan(BACK_WITHIN_MS)
  }, 60_000)

  test("whose topic is deleted and made anew under load: nothing that was posted since is lost or doubled", async () => {
    const admin = openAdmin(kafka)
    await admin.deleteTopics({ topics: [topic] })
    await admin.close()
    // Until the broker has let go of its log too, it may acknowledge what goes with it.
    const goneMs = (await senders.first(({ answer }) => answer === 503)).answeredMs
    await until("it is gone", async () => !(await topicNames()).includes(topic))
    await createTopic(kafka, topic, { partitions: 3 })
    const takenMs = await takenFromKcat(kafka, topic)
    const back = await senders.first((it) => isAcknowledged(it) && it.answeredMs > goneMs)
    await senders.many(300)
    await senders.stop()

    const since = senders.posted.filter(({ startedMs }) => startedMs > goneMs)
    const numbers = new Set(since.map(({ number }) => number))
    const logged = (await eventsInKafka(kafka, topic)).filter(({ number }) => numbers.has(number))
    const findings = compare(since, logged)
    const backAfterMs = Math.max(0, back.answeredMs - takenMs)
    report("topic deleted and made anew (events since)", findings, backAfterMs)
    expectKept(findings, DELIVERY_TIMEOUT_MS)
    expect(backAfterMs).toBeLessThan(BACK_WITHIN_MS)
  }, 60_000)

  async function topicNames(): Promise<string[]> {
    const admin = openAdmin(kafka)
    const names = await admin.listTopics()
    await admin.close()
    return names
  }
})
