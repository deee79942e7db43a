import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test"
import { steadyMs } from "../../src/clock/clock.ts"
import { isFull, report } from "../support/fault-table.ts"
import { compare, expectKept } from "../support/findings.ts"
import { temporaryFolder, type RunningHookline } from "../support/hookline.ts"
import { until } from "../support/kafka-options.ts"
import { startKafkaBehind } from "../support/kafka-behind.ts"
import { openProxy, type Proxy } from "../support/kafka-proxy.ts"
import { canStartKafka, createTopic, freshTopic, type OwnKafka } from "../support/kafka.ts"
import { hasKcat } from "../support/kcat.ts"
import { keysOfEach } from "../support/keys.ts"
import { isAcknowledged, NumberedSenders } from "../support/numbered-senders.ts"
import { eventsInKafka, serving, startService } from "../support/webhook-service.ts"

const DELIVERY_TIMEOUT_MS = 5000
const PARTITIONS = 40
/** The network forgets a connection on which nothing passed for so long. */
const FORGET_MS = 1500
/** The goal for the first event after that. */
const BACK_WITHIN_MS = 2000
const TIMES = isFull ? 10 : 3

const available = (await canStartKafka()) && hasKcat()
describe.skipIf(!available)("a network that silently forgets idle connections", () => {
  const folder = temporaryFolder()
  const keys = keysOfEach(PARTITIONS)
  let kafka: OwnKafka
  let proxy: Proxy
  let running: RunningHookline
  let topic: string

  beforeAll(async () => {
    proxy = await openProxy()
    kafka = await startKafkaBehind([proxy])
  }, 60_000)
  afterEach(async () => {
    proxy.heal()
    await running.stop()
  })
  afterAll(async () => {
    await kafka?.stop()
    await proxy?.[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  async function start(connection = ""): Promise<NumberedSenders> {
    topic = freshTopic()
    await createTopic(kafka, topic, { partitions: PARTITIONS })
    running = await startService({
      folder: folder.path,
      connection: `bootstrap_servers = ${proxy.address}\n${connection}`,
      topic,
      deliveryTimeoutMs: DELIVERY_TIMEOUT_MS,
    })
    return new NumberedSenders(serving(running), { keys: 0 })
  }

  test(`the first events after idling are acknowledged within ${BACK_WITHIN_MS} ms, once, and so are the next`, async () => {
    await using senders = await start()
    await senders.round(keys)
    proxy.forgetIdle(FORGET_MS)
    let longestBackMs = 0
    for (let n = 0; n < TIMES; n++) {
      await Bun.sleep(1.5 * FORGET_MS)
      const fromMs = steadyMs()
      await senders.round(keys)
      longestBackMs = Math.max(longestBackMs, steadyMs() - fromMs)
      await senders.round(keys)
    }

    const findings = compare(senders.posted, await eventsInKafka(kafka, topic))
    report(`idle connections dropped silently, ${TIMES} times`, findings, longestBackMs)
    expectKept(findings, DELIVERY_TIMEOUT_MS)
    expect(senders.posted.every(isAcknowledged)).toBe(true)
    expect(longestBackMs).toBeLessThan(BACK_WITHIN_MS)
  }, 60_000)

  test("with connections_max_idle below that they are closed before, and the next events do not wait", async () => {
    await using senders = await start("connections_max_idle = 500ms")
    await senders.round(keys)
    proxy.forgetIdle(FORGET_MS)
    let longestBackMs = 0
    for (let n = 0; n < TIMES; n++) {
      const closed = proxy.closedByClients
      await until("it is closed", () => proxy.closedByClients > closed, FORGET_MS)
      await Bun.sleep(1.5 * FORGET_MS)
      const fromMs = steadyMs()
      await senders.round(keys)
      longestBackMs = Math.max(longestBackMs, steadyMs() - fromMs)
    }

    const findings = compare(senders.posted, await eventsInKafka(kafka, topic))
    report(`idle connections closed before they are dropped, ${TIMES} times`, findings, longestBackMs)
    expectKept(findings, DELIVERY_TIMEOUT_MS)
    expect(senders.posted.every(isAcknowledged)).toBe(true)
    expect(longestBackMs).toBeLessThan(BACK_WITHIN_MS / 2)
  }, 60_000)
})
