import { describe, expect, test } from "bun:test"
import { steadyMs } from "../../src/clock/clock.ts"
import { report } from "../support/fault-table.ts"
import { compare, expectKept } from "../support/findings.ts"
import { folderOfTests } from "../support/hookline.ts"
import { canStartKafka, createTopic, freshTopic, startKafka } from "../support/kafka.ts"
import { hasKcat } from "../support/kcat.ts"
import { movableClock } from "../support/movable-clock.ts"
import { isAcknowledged, NumberedSenders, type Posted } from "../support/numbered-senders.ts"
import { eventsInKafka, onKafka, serving, startService } from "../support/webhook-service.ts"

const DELIVERY_TIMEOUT_MS = 1000
const HOUR_S = 3600
/** Back an hour, then ahead by nearly two: Kafka refuses timestamps an hour ahead of its own clock. */
const OFFSETS_S = [-HOUR_S, 0.8 * HOUR_S]
const BACK_WITHIN_MS = 2000

const folder = folderOfTests()
const clock = movableClock(folder.path)

const isRefusedSince = (ms: number, { answeredMs, answer }: Posted): boolean =>
  answeredMs > ms && answer === 503

const available = (await canStartKafka()) && hasKcat()
describe.skipIf(clock === undefined || !available)("the clock set back an hour, then ahead", () => {
  test("while Kafka is paused: no request waits for the clock, and none is refused for it", async () => {
    await using kafka = await startKafka()
    const topic = freshTopic()
    await createTopic(kafka, topic, { partitions: 3 })
    clock!.set(0)
    await using running = await startService({
      folder: folder.path,
      connection: onKafka(kafka),
      topic,
      deliveryTimeoutMs: DELIVERY_TIMEOUT_MS,
      env: clock!.env,
    })
    await using senders = new NumberedSenders(serving(running))
    await senders.many(300)
    let longestBackMs = 0
    for (const offsetS of OFFSETS_S) {
      clock!.set(offsetS)
      await senders.many(100)
      kafka.nodes[0]!.pause()
      const pausedMs = steadyMs()
      clock!.set(0)
      // Those that wait since before the clock was set too.
      await Promise.all(
        senders.keys.map((key) => senders.first((it) => it.key === key && isRefusedSince(pausedMs, it))),
      )
      clock!.set(offsetS)
      kafka.nodes[0]!.resume()
      const resumedMs = steadyMs()
      const back = await senders.first((it) => isAcknowledged(it) && it.answeredMs > resumedMs)
      longestBackMs = Math.max(longestBackMs, back.answeredMs - resumedMs)
      await senders.many(100)
    }
    await senders.stop()
    await running.stop()

    const findings = compare(senders.posted, await eventsInKafka(kafka, topic))
    report("clock set back and ahead, Kafka", findings, longestBackMs)
    expectKept(findings, DELIVERY_TIMEOUT_MS)
    expect(longestBackMs).toBeLessThan(BACK_WITHIN_MS)
    const waited = senders.posted.filter(({ answer }) => answer === 503)
    const shortestMs = Math.min(...waited.map(({ startedMs, answeredMs }) => answeredMs - startedMs))
    expect(shortestMs).toBeGreaterThan(DELIVERY_TIMEOUT_MS - 50)
  }, 60_000)
})
