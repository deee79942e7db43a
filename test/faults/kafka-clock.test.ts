import { describe, expect, test } from "bun:test"
import { steadyMs } from "../../src/clock/clock.ts"
import { fault, onNewTopic } from "../support/fault.ts"
import { folderOfTests } from "../support/hookline.ts"
import { kafkaOfTests } from "../support/kafka-behind.ts"
import { canStartKafka } from "../support/kafka.ts"
import { hasKcat } from "../support/kcat.ts"
import { movableClock } from "../support/movable-clock.ts"
import type { Posted } from "../support/numbered-senders.ts"

const DELIVERY_TIMEOUT_MS = 1000
const HOUR_S = 3600
/** Back an hour, then ahead by nearly two: Kafka refuses timestamps an hour ahead of its own clock. */
const OFFSETS_S = [-HOUR_S, 0.8 * HOUR_S]

const folder = folderOfTests()
const clock = movableClock(folder.path)

const isRefusedSince = (ms: number, { answeredMs, answer }: Posted): boolean =>
  answeredMs > ms && answer === 503

const available = (await canStartKafka()) && hasKcat()
describe.skipIf(clock === undefined || !available)("the clock set back an hour, then ahead", () => {
  const kafka = kafkaOfTests()

  test("while Kafka is paused: no request waits for the clock, and none is refused for it", async () => {
    clock!.set(0)
    const { posted } = await fault("clock set back and ahead, Kafka", await onNewTopic(kafka), {
      deliveryTimeoutMs: DELIVERY_TIMEOUT_MS,
      env: clock!.env,
      events: [300, 0],
      async during({ senders }) {
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
          longestBackMs = Math.max(longestBackMs, await senders.backAfterMs())
          await senders.many(100)
        }
        return longestBackMs
      },
    })
    const waited = posted.filter(({ answer }) => answer === 503)
    const shortestMs = Math.min(...waited.map(({ startedMs, answeredMs }) => answeredMs - startedMs))
    expect(shortestMs).toBeGreaterThan(DELIVERY_TIMEOUT_MS - 50)
  })
})
