import { describe, expect, test } from "bun:test"
import { partitionOf } from "../../src/brokers/murmur2.ts"
import { steadyMs } from "../../src/clock/clock.ts"
import { DELIVERY_TIMEOUT_MS, fault, onNewTopic, type Destination } from "../support/fault.ts"
import { isFull } from "../support/fault-table.ts"
import { longestOwnWaitMs } from "../support/findings.ts"
import { kafkaOfTests } from "../support/kafka-behind.ts"
import { until } from "../support/kafka-options.ts"
import { canStartKafka, partitionsOf } from "../support/kafka.ts"
import { hasKcat, takenFromKcat } from "../support/kcat.ts"
import { isAcknowledged, type Posted } from "../support/numbered-senders.ts"

/** How long the events of a leader that stalls are held. */
const HELD_MS = 20_000
const PARTITIONS = 3
/** How many events are seen to be refused by one broker alone. */
const REFUSED = 30
/** How many brokers are restarted, one after the other. */
const RESTARTS = isFull ? 3 : 1

const KEYLESS = 8

const partitionOfKey = ({ key }: Posted): number | undefined =>
  key === undefined ? undefined : partitionOf(Buffer.from(key), PARTITIONS)
const isOfFirst = (it: Posted): boolean => partitionOfKey(it) === 0

const available = (await canStartKafka()) && hasKcat()
describe.skipIf(!available)("three Kafka brokers", () => {
  const kafka = kafkaOfTests({ brokers: 3 })
  const sending = { keyless: KEYLESS }

  const replicated = (replicas: number): Promise<Destination> => {
    const configs = { "min.insync.replicas": `${Math.min(2, replicas)}` }
    return onNewTopic(kafka, { partitions: PARTITIONS, replicas, configs })
  }

  /** Index of the node that leads partition 0. */
  const leaderOf = async (topic: string): Promise<number> => (await partitionsOf(kafka, topic))[0]!.leader - 1

  const allInSync = (topic: string): Promise<void> =>
    until("all replicas in sync", async () =>
      (await partitionsOf(kafka, topic)).every(({ isr }) => isr.length === 3),
    )

  test("the leader killed, then one more, then back: nothing is lost, and with one alone nothing is acknowledged", async () => {
    const to = await replicated(3)
    let [aloneMs, endMs] = [0, 0]
    const { posted } = await fault("leader of three killed, then another, then back", to, {
      sending,
      async during({ senders }) {
        const first = await leaderOf(to.topic)
        await kafka.nodes[first]!.kill()
        const killedMs = steadyMs()
        const moved = senders.backAfterMs(killedMs, isOfFirst)
        const takenMs = await takenFromKcat(kafka, to.topic, 0)
        const movedMs = killedMs + (await moved)
        await senders.many(300)

        const second = await leaderOf(to.topic)
        await kafka.nodes[second]!.kill()
        aloneMs = steadyMs()
        await senders.first((it) => it.startedMs > aloneMs + DELIVERY_TIMEOUT_MS && it.answer === 503)
        let left = REFUSED
        await senders.first((it) => it.startedMs > aloneMs && --left === 0)
        endMs = steadyMs()
        const started = Promise.all([first, second].map((node) => kafka.nodes[node]!.start()))
        const again = senders.backAfterMs(endMs, isOfFirst)
        const takenAgainMs = await takenFromKcat(kafka, to.topic, 0)
        const backAfterMs = Math.max(0, movedMs - takenMs, endMs + (await again) - takenAgainMs)
        await started
        return backAfterMs
      },
    })
    const alone = posted.filter((it) => it.startedMs > aloneMs && it.answeredMs < endMs)
    expect(alone.length).toBeGreaterThanOrEqual(REFUSED)
    expect(alone.filter(isAcknowledged)).toEqual([])
  })

  test("a leader that stalls until another leads its partitions: what was out goes there, once", async () => {
    const to = await replicated(3)
    await fault("leader of three paused until another leads", to, {
      sending,
      allAcked: true,
      async during({ senders }) {
        await allInSync(to.topic)
        const stalled = await leaderOf(to.topic)
        kafka.nodes[stalled]!.pause()
        const pausedMs = steadyMs()
        const moved = senders.backAfterMs(pausedMs, isOfFirst)
        const takenMs = await takenFromKcat(kafka, to.topic, 0)
        const backAfterMs = Math.max(0, pausedMs + (await moved) - takenMs)
        await senders.many(300)
        kafka.nodes[stalled]!.resume()
        return backAfterMs
      },
    })
  })

  test("a rolling restart: nothing is lost or doubled", async () => {
    const to = await replicated(3)
    await fault(`rolling restart of ${RESTARTS} of three`, to, {
      sending,
      async during() {
        await allInSync(to.topic)
        for (let node = 0; node < RESTARTS; node++) {
          await kafka.nodes[node]!.shutDown()
          await kafka.nodes[node]!.start()
          await allInSync(to.topic)
        }
      },
    })
  })

  test("a leader that stalls holds up the events of its own partitions only, and keyless ones go elsewhere", async () => {
    const to = await replicated(1)
    let held: readonly number[] = []
    const isHeld = (it: Posted): boolean => held.some((partition) => partition === partitionOfKey(it))
    const { posted } = await fault("one leader of three paused, without replicas", to, {
      sending,
      deliveryTimeoutMs: HELD_MS,
      events: [300, 0],
      async during({ senders }) {
        const partitions = await partitionsOf(kafka, to.topic)
        const { leader: stalled } = partitions[0]!
        held = partitions.flatMap(({ leader }, at) => (leader === stalled ? at : []))
        kafka.nodes[stalled - 1]!.pause()
        const pausedMs = steadyMs()
        await senders.first((it) => it.startedMs > pausedMs && it.answer === 503 && isHeld(it))
        kafka.nodes[stalled - 1]!.resume()
        await senders.acknowledged(isHeld)
      },
    })
    // The leader may have stalled with a batch of keyless events, one of each sender; the next ones go elsewhere.
    const keyless = posted.filter((it) => it.key === undefined && !isAcknowledged(it))
    expect(keyless.length).toBeLessThanOrEqual(KEYLESS)
    const others = posted.filter((it) => it.key !== undefined && !isHeld(it))
    expect(others.every(isAcknowledged)).toBe(true)
    // Those that it held waited for the whole of delivery_timeout.
    expect(longestOwnWaitMs(others)).toBeLessThan(HELD_MS / 2)
  })
})
