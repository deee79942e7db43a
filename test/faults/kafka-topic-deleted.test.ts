import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test"
import { steadyMs } from "../../src/clock/clock.ts"
import { temporaryFolder, type RunningHookline } from "../support/hookline.ts"
import { METADATA } from "../support/kafka-frames.ts"
import { openInterceptor, type Interceptor } from "../support/kafka-interceptor.ts"
import { until } from "../support/kafka-options.ts"
import { createTopic, deleteTopic, freshTopic, kafkaForTests, topicNames } from "../support/kafka.ts"
import { isAcknowledged, NumberedSenders } from "../support/numbered-senders.ts"
import { serving, startService } from "../support/webhook-service.ts"

const DELIVERY_TIMEOUT_MS = 1000
/** Long enough for some look-ups by Hookline, each of which could make the topic anew. */
const DELETED_MS = 3000
const PARTITIONS = 3

const kafka = await kafkaForTests()

/** It has auto.create.topics.enable, as Kafka's default is. */
describe.skipIf(kafka === undefined)("a cluster that creates topics", () => {
  const folder = temporaryFolder()
  let interceptor: Interceptor
  let running: RunningHookline
  let senders: NumberedSenders
  let creating: boolean[] = []

  beforeAll(async () => {
    interceptor = await openInterceptor()
    interceptor.target = kafka!.bootstrapServers[0]!
    interceptor.handle = ({ apiKey, body }) => {
      // The last of a request: allow_auto_topic_creation bool | include_topic_authorized_operations bool | no tags
      if (apiKey === METADATA) creating.push(body.at(-3) === 1)
      return "pass"
    }
  })
  afterEach(async () => {
    await senders.stop()
    await running.stop()
  })
  afterAll(async () => {
    await interceptor?.[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  async function start(topic: string): Promise<void> {
    creating = []
    running = await startService({
      folder: folder.path,
      connection: `bootstrap_servers = ${interceptor.address}`,
      topic,
      deliveryTimeoutMs: DELIVERY_TIMEOUT_MS,
    })
    senders = new NumberedSenders(serving(running), { keys: 4 })
  }

  test("a topic that was never there is created once, explicitly, and no look-up creates any", async () => {
    const topic = freshTopic()
    await start(topic)
    await senders.many(20)
    await senders.stop()
    expect(await topicNames(kafka!)).toContain(topic)
    expect(creating.length).toBeGreaterThan(0)
    expect(creating).not.toContain(true)
  })

  test("a topic that is deleted under load does not come back by itself: 503 and a log line until it is made", async () => {
    const topic = freshTopic()
    await createTopic(kafka!, topic, { partitions: PARTITIONS, configs: { "retention.ms": "12345678" } })
    await start(topic)
    await senders.many(50)
    await deleteTopic(kafka!, topic)
    const deletedMs = steadyMs()
    await senders.first(({ answer, startedMs }) => startedMs > deletedMs && answer === 503)
    await until("it is gone", async () => !(await topicNames(kafka!)).includes(topic))
    const goneMs = steadyMs()
    const seen = new Set<boolean>()
    while (steadyMs() < goneMs + DELETED_MS) {
      seen.add((await topicNames(kafka!)).includes(topic))
      await Bun.sleep(50)
    }
    expect(seen).toEqual(new Set([false]))
    let left = 11
    await senders.first(({ startedMs }) => startedMs > goneMs && --left === 0)
    const whileGone = senders.posted.filter(({ startedMs }) => startedMs > goneMs)
    expect(whileGone.length).toBeGreaterThan(10)
    expect(whileGone.filter(isAcknowledged)).toEqual([])
    expect(running.log.filter((line) => line.level === "error" && line["topic"] === topic)).toHaveLength(1)

    await createTopic(kafka!, topic, { partitions: PARTITIONS })
    await senders.acknowledged()
    await senders.many(50)
    await senders.stop()
    expect(creating).not.toContain(true)
  })
})
