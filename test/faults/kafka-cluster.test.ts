import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import { partitionOf } from "../../src/brokers/murmur2.ts"
import { steadyMs } from "../../src/clock/clock.ts"
import { isFull, report } from "../support/fault-table.ts"
import { compare, expectKept, longestOwnWaitMs } from "../support/findings.ts"
import { temporaryFolder, type RunningHookline } from "../support/hookline.ts"
import { until } from "../support/kafka-options.ts"
import {
  canStartKafka,
  createTopic,
  freshTopic,
  partitionsOf,
  startKafka,
  type OwnKafka,
} from "../support/kafka.ts"
import { hasKcat, takenFromKcat } from "../support/kcat.ts"
import { isAcknowledged, NumberedSenders, type Posted } from "../support/numbered-senders.ts"
import { eventsInKafka, onKafka, serving, startService } from "../support/webhook-service.ts"

const DELIVERY_TIMEOUT_MS = 2000
/** Longer than it takes until another leads. */
const PATIENCE_MS = 8000
const PARTITIONS = 3
/** The goal for the time from the broker taking requests again to the first acknowledgement. */
const BACK_WITHIN_MS = 2000
/** Acknowledgements that were on their way when a broker went are answered within this time. */
const ON_THEIR_WAY_MS = 200
/** How many brokers are restarted, one after the other. */
const RESTARTS = isFull ? 3 : 1

const KEYLESS = 8

const partitionOfKey = ({ key }: Posted): number | undefined =>
  key === undefined ? undefined : partitionOf(Buffer.from(key), PARTITIONS)

const available = (await canStartKafka()) && hasKcat()
describe.skipIf(!available)("three Kafka brokers", () => {
  const folder = temporaryFolder()
  let kafka: OwnKafka
  let running: RunningHookline
  let topic: string
  let senders: NumberedSenders

  beforeAll(async () => {
    kafka = await startKafka({ brokers: 3 })
  }, 60_000)
  beforeEach(async () => {
    topic = freshTopic()
  })
  afterEach(async () => {
    await senders.stop()
    await running.stop()
    await Promise.all(kafka.nodes.map((node) => node.restore()))
  }, 60_000)
  afterAll(async () => {
    await kafka.stop()
    folder[Symbol.dispose]()
  })

  async function underLoad(replicas: number, deliveryTimeoutMs = DELIVERY_TIMEOUT_MS): Promise<void> {
    const configs = { "min.insync.replicas": `${Math.min(2, replicas)}` }
    await createTopic(kafka, topic, { partitions: PARTITIONS, replicas, configs })
    const connection = onKafka(kafka)
    running = await startService({
      folder: folder.path,
      connection,
      topic,
      deliveryTimeoutMs,
    })
    senders = new NumberedSenders(serving(running), { keyless: KEYLESS })
    await senders.many(300)
  }

  /** Index of the node that leads a partition. */
  const leaderOf = async (partition: number): Promise<number> =>
    (await partitionsOf(kafka, topic))[partition]!.leader - 1

  const allInSync = (): Promise<void> =>
    until("all replicas in sync", async () =>
      (await partitionsOf(kafka, topic)).every(({ isr }) => isr.length === 3),
    )

  test("the leader killed, then one more, then back: nothing is lost, and with one alone nothing is acknowledged", async () => {
    await underLoad(3)
    const first = await leaderOf(0)
    await kafka.nodes[first]!.kill()
    const killedMs = steadyMs()
    const moved = senders.first(
      (it) => isAcknowledged(it) && it.answeredMs > killedMs + ON_THEIR_WAY_MS && partitionOfKey(it) === 0,
    )
    const takenMs = await takenFromKcat(kafka, topic, 0)
    const movedMs = (await moved).answeredMs
    await senders.many(300)

    const second = await leaderOf(0)
    await kafka.nodes[second]!.kill()
    const aloneMs = steadyMs()
    await senders.first((it) => it.startedMs > aloneMs + DELIVERY_TIMEOUT_MS && it.answer === 503)
    const endMs = steadyMs()
    const started = Promise.all([first, second].map((node) => kafka.nodes[node]!.start()))
    const again = senders.first(
      (it) => isAcknowledged(it) && it.answeredMs > endMs && partitionOfKey(it) === 0,
    )
    const takenAgainMs = await takenFromKcat(kafka, topic, 0)
    const backAfterMs = Math.max(0, movedMs - takenMs, (await again).answeredMs - takenAgainMs)
    await started
    await senders.many(300)
    await senders.stop()

    const findings = compare(senders.posted, await eventsInKafka(kafka, topic))
    report("leader of three killed, then another, then back", findings, backAfterMs)
    expectKept(findings, DELIVERY_TIMEOUT_MS)
    expect(backAfterMs).toBeLessThan(BACK_WITHIN_MS)
    const alone = senders.posted.filter(
      (it) => it.answeredMs > aloneMs + ON_THEIR_WAY_MS && it.answeredMs < endMs,
    )
    expect(alone.length).toBeGreaterThan(20)
    expect(alone.filter(isAcknowledged)).toEqual([])
  }, 120_000)

  test("a leader that stalls until another leads its partitions: what was out goes there, once", async () => {
    await underLoad(3, PATIENCE_MS)
    await allInSync()
    const stalled = await leaderOf(0)
    kafka.nodes[stalled]!.pause()
    const pausedMs = steadyMs()
    const moved = senders.first(
      (it) => isAcknowledged(it) && it.answeredMs > pausedMs + ON_THEIR_WAY_MS && partitionOfKey(it) === 0,
    )
    const takenMs = await takenFromKcat(kafka, topic, 0)
    const backAfterMs = Math.max(0, (await moved).answeredMs - takenMs)
    await senders.many(300)
    kafka.nodes[stalled]!.resume()
    await senders.many(300)
    await senders.stop()

    const findings = compare(senders.posted, await eventsInKafka(kafka, topic))
    report("leader of three paused until another leads", findings, backAfterMs)
    expectKept(findings, PATIENCE_MS)
    expect(backAfterMs).toBeLessThan(BACK_WITHIN_MS)
    expect(findings.acknowledged).toBe(findings.sent)
  }, 60_000)

  test("a rolling restart: nothing is lost or doubled", async () => {
    await underLoad(3)
    await allInSync()
    for (let node = 0; node < RESTARTS; node++) {
      await kafka.nodes[node]!.shutDown()
      await kafka.nodes[node]!.start()
      await allInSync()
    }
    await senders.many(300)
    await senders.stop()

    const findings = compare(senders.posted, await eventsInKafka(kafka, topic))
    report(`rolling restart of ${RESTARTS} of three`, findings)
    expectKept(findings, DELIVERY_TIMEOUT_MS)
  }, 120_000)

  test("a leader that stalls holds up the events of its own partitions only, and keyless ones go elsewhere", async () => {
    await underLoad(1)
    const stalled = await leaderOf(0)
    const held = (await partitionsOf(kafka, topic)).flatMap(({ leader }, at) =>
      leader - 1 === stalled ? at : [],
    )
    const isHeld = (it: Posted): boolean => held.some((partition) => partition === partitionOfKey(it))
    kafka.nodes[stalled]!.pause()
    const pausedMs = steadyMs()
    await senders.first((it) => it.startedMs > pausedMs && it.answer === 503 && isHeld(it))
    kafka.nodes[stalled]!.resume()
    const resumedMs = steadyMs()
    await senders.first((it) => isAcknowledged(it) && it.startedMs > resumedMs && isHeld(it))
    await senders.stop()

    const findings = compare(senders.posted, await eventsInKafka(kafka, topic))
    report("one leader of three paused, without replicas", findings)
    expectKept(findings, DELIVERY_TIMEOUT_MS)
    // The leader may have stalled with a batch of keyless events, one of each sender; the next ones go elsewhere.
    const keyless = senders.posted.filter((it) => it.key === undefined && !isAcknowledged(it))
    expect(keyless.length).toBeLessThanOrEqual(KEYLESS)
    const others = senders.posted.filter((it) => it.key !== undefined && !isHeld(it))
    expect(others.every(isAcknowledged)).toBe(true)
    // Those that it held waited for the whole of delivery_timeout.
    expect(longestOwnWaitMs(others)).toBeLessThan(DELIVERY_TIMEOUT_MS / 2)
  }, 60_000)
})
