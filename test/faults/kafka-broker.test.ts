import { describe, expect, test } from "bun:test"
import { steadyMs } from "../../src/clock/clock.ts"
import { fault, onNewTopic } from "../support/fault.ts"
import { isFull } from "../support/fault-table.ts"
import { kafkaOfTests } from "../support/kafka-behind.ts"
import { until } from "../support/kafka-options.ts"
import { canStartKafka, createTopic, deleteTopic, topicNames } from "../support/kafka.ts"
import { hasKcat, takenFromKcat } from "../support/kcat.ts"
import type { Posted } from "../support/numbered-senders.ts"

const DELIVERY_TIMEOUT_MS = isFull ? 2000 : 1000
const PAUSE_MS = isFull ? 8000 : 2500
/** How many events are seen to be refused while the broker stands still. */
const QUEUED = 30

const available = (await canStartKafka()) && hasKcat()
describe.skipIf(!available)("one Kafka broker", () => {
  const kafka = kafkaOfTests({ properties: { "auto.create.topics.enable": "false" } })
  const settings = {
    deliveryTimeoutMs: DELIVERY_TIMEOUT_MS,
    sending: { keyless: 8 },
  }

  test(`that is paused for ${PAUSE_MS} ms: nothing is lost or doubled, no request waits too long, and what was queued is not published later`, async () => {
    let [queuedMs, resumedMs] = [0, 0]
    // what came once a batch was out, and was over before the broker went on
    const isQueued = (it: Posted): boolean => it.startedMs > queuedMs && it.answeredMs < resumedMs
    const { posted, logged } = await fault(`broker paused ${PAUSE_MS / 1000} s`, await onNewTopic(kafka), {
      ...settings,
      async during({ senders }) {
        kafka.nodes[0]!.pause()
        const pausedMs = steadyMs()
        const refused = await senders.first((it) => it.startedMs > pausedMs && it.answer === 503)
        queuedMs = refused.answeredMs
        let left = QUEUED
        const enough = senders.first((it) => it.startedMs > queuedMs && --left === 0)
        await Promise.all([enough, Bun.sleep(PAUSE_MS - (steadyMs() - pausedMs))])
        kafka.nodes[0]!.resume()
        resumedMs = steadyMs()
        return senders.backAfterMs(resumedMs)
      },
    })
    const queued = posted.filter(isQueued)
    expect(queued.length).toBeGreaterThanOrEqual(QUEUED)
    expect(new Set(queued.map(({ answer }) => answer))).toEqual(new Set([503]))
    const there = new Set(logged.map(({ number }) => number))
    expect(queued.filter(({ number }) => there.has(number))).toEqual([])
  })

  test("that is killed and started again: nothing is lost or doubled, and it is used again", async () => {
    const to = await onNewTopic(kafka)
    const { running } = await fault("broker killed and restarted", to, {
      ...settings,
      async during({ senders, running }) {
        await kafka.nodes[0]!.kill()
        const killedMs = steadyMs()
        await senders.first((it) => it.startedMs > killedMs && it.answer === 503)
        const refused = await fetch(running.urls["webhooks"]!, { method: "POST", body: '{"refused":true}' })
        expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0)
        expect(await refused.text()).not.toMatch(/kafka|127\.0\.0\.1|broker/i)
        const started = kafka.nodes[0]!.start()
        const fromMs = steadyMs()
        const back = senders.backAfterMs(fromMs)
        const takenMs = await takenFromKcat(kafka, to.topic)
        await started
        const backMs = fromMs + (await back)
        // a record may be acknowledged before metadata is there again
        const connected = (): number => running.log.filter(({ msg }) => msg === "connected to Kafka").length
        await running.logged(() => connected() >= 2)
        return Math.max(0, backMs - takenMs)
      },
    })
    const told = running.log.map(({ msg }) => msg).filter((msg) => /Kafka/.test(msg))
    expect(told.slice(0, 3)).toEqual([
      "connected to Kafka",
      "Kafka unavailable; retrying",
      "connected to Kafka",
    ])
    // a broker that has just started may be lost again on a busy machine
    expect(told.filter((msg, at) => msg === told[at - 1])).toEqual([])
  })

  test("whose topic is deleted and made anew under load: nothing that was posted since is lost or doubled", async () => {
    const to = await onNewTopic(kafka)
    let goneMs = 0
    await fault("topic deleted and made anew (events since)", to, {
      ...settings,
      only: ({ startedMs }) => startedMs > goneMs,
      async during({ senders }) {
        await deleteTopic(kafka, to.topic)
        // Until the broker has released its log too, it may acknowledge what goes with it.
        goneMs = (await senders.first(({ answer }) => answer === 503)).answeredMs
        await until("it is gone", async () => !(await topicNames(kafka)).includes(to.topic))
        await createTopic(kafka, to.topic, { partitions: 3 })
        const takenMs = await takenFromKcat(kafka, to.topic)
        return Math.max(0, goneMs + (await senders.backAfterMs(goneMs)) - takenMs)
      },
    })
  })
})
