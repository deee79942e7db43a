import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { steadyMs } from "../../src/clock/clock.ts"
import { isFull, report } from "../support/fault-table.ts"
import { compare, expectKept } from "../support/findings.ts"
import { temporaryFolder } from "../support/hookline.ts"
import { startKafkaBehind } from "../support/kafka-behind.ts"
import { openProxy, type Proxy } from "../support/kafka-proxy.ts"
import { canStartKafka, createTopic, freshTopic, type OwnKafka } from "../support/kafka.ts"
import { hasKcat } from "../support/kcat.ts"
import { isAcknowledged, NumberedSenders } from "../support/numbered-senders.ts"
import { eventsInKafka, serving, startService } from "../support/webhook-service.ts"

const DELIVERY_TIMEOUT_MS = 2000
const CUTS = isFull ? 40 : 10

describe.skipIf(!(await canStartKafka()) || !hasKcat())("the network between Hookline and Kafka", () => {
  const folder = temporaryFolder()
  let kafka: OwnKafka
  let proxy: Proxy

  beforeAll(async () => {
    proxy = await openProxy()
    kafka = await startKafkaBehind([proxy])
  }, 60_000)
  afterAll(async () => {
    await kafka?.stop()
    await proxy?.[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  test("a connection that is reset in the middle of a produce request: nothing is lost, doubled or refused", async () => {
    const topic = freshTopic()
    await createTopic(kafka, topic, { partitions: 3 })
    await using running = await startService({
      folder: folder.path,
      connection: `bootstrap_servers = ${proxy.address}`,
      topic,
      deliveryTimeoutMs: DELIVERY_TIMEOUT_MS,
    })
    await using senders = new NumberedSenders(serving(running), { keyless: 8 })
    let longestBackMs = 0
    for (let cut = 0; cut < CUTS; cut++) {
      await senders.many(50)
      await proxy.cutProduce()
      const cutMs = steadyMs()
      const back = await senders.first((it) => isAcknowledged(it) && it.answeredMs > cutMs)
      longestBackMs = Math.max(longestBackMs, back.answeredMs - cutMs)
    }
    await senders.stop()
    await running.stop()

    const findings = compare(senders.posted, await eventsInKafka(kafka, topic))
    report(`connection reset in a produce request, ${CUTS} times`, findings, longestBackMs)
    expectKept(findings, DELIVERY_TIMEOUT_MS)
    expect(findings.acknowledged).toBe(findings.sent)
  }, 120_000)
})
