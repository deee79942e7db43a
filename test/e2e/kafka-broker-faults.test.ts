import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import type { Broker } from "../../src/brokers/broker.ts"
import { PublishError } from "../../src/errors.ts"
import type { Receipt } from "../../src/record.ts"
import { partitionOf } from "../../src/brokers/kafka-murmur2.ts"
import { steadyMs } from "../../src/steady-clock.ts"
import { hasKcat, readWithKcat } from "../support/kcat.ts"
import { Starvation } from "../support/starvation.ts"
import { openTestBroker, until } from "../support/kafka-options.ts"
import {
  canStartKafka,
  createTopic,
  freshTopic,
  openAdmin,
  startKafka,
  type OwnKafka,
} from "../support/kafka.ts"

setDefaultTimeout(90_000)

const EVERY_MS = 5
/** How much later than its deadline a record may be answered. */
const LATE_MS = 100

interface Outcome {
  readonly text: string
  readonly deadlineMs: number
  readonly answeredMs: number
  readonly receipt: Receipt | undefined
  readonly code: string | undefined
}

/** Publishes a numbered record every few milliseconds until stopped, and keeps what became of each. */
class Load {
  readonly outcomes: Outcome[] = []
  readonly starvation = new Starvation()
  readonly #open: Promise<void>[] = []
  readonly #timer: Timer
  #count = 0

  constructor(
    broker: Broker,
    topic: string,
    { deadlineMs, keys = 0 }: { deadlineMs: number; keys?: number },
  ) {
    this.#timer = setInterval(() => {
      for (let burst = 0; burst < 5; burst++) this.#open.push(this.#publish(broker, topic, deadlineMs, keys))
    }, EVERY_MS)
  }

  /** Ends the load and waits for every answer. */
  async stop(): Promise<readonly Outcome[]> {
    clearInterval(this.#timer)
    this.starvation[Symbol.dispose]()
    await Promise.all(this.#open)
    return this.outcomes
  }

  async #publish(broker: Broker, topic: string, allowedMs: number, keys: number): Promise<void> {
    const number = this.#count++
    const text = `${number}`
    const deadlineMs = steadyMs() + allowedMs
    const key = keys > 0 ? Buffer.from(`k${number % keys}`) : undefined
    const answer = await broker
      .publish({ topic, key, value: Buffer.from(text) }, deadlineMs)
      .catch((error: unknown) => {
        if (!(error instanceof PublishError)) throw error
        return error
      })
    const receipt = answer instanceof PublishError ? undefined : answer
    const code = answer instanceof PublishError ? answer.code : undefined
    this.outcomes.push({ text, deadlineMs, answeredMs: steadyMs(), receipt, code })
  }
}

/** How late the latest answer was, but for the time for which the machine did not let this process run. */
const latestMs = ({ outcomes, starvation }: Load): number =>
  Math.max(...outcomes.map(({ answeredMs, deadlineMs }) => answeredMs - deadlineMs)) - starvation.longestMs

/** Every acknowledged record is where its receipt says, and no record is there twice. */
async function expectKept(kafka: OwnKafka, topic: string, outcomes: readonly Outcome[]): Promise<void> {
  const read = await readWithKcat(kafka, topic)
  const texts = read.map(({ value }) => value.toString())
  expect(texts.length - new Set(texts).size).toBe(0)
  const places = new Map(
    read.map(({ partition, offset, value }) => [`${partition}@${offset}`, value.toString()]),
  )
  const acknowledged = outcomes.filter(({ receipt }) => receipt !== undefined)
  expect(acknowledged.length).toBeGreaterThan(100)
  const wrong = acknowledged.filter(({ text, receipt }) => {
    return places.get(`${receipt!.partition}@${receipt!.offset}`) !== text
  })
  expect(wrong).toEqual([])
}

/** Resolves with the time at which another client's record was taken. */
async function firstTakenFromKcat(kafka: OwnKafka, topic: string): Promise<number> {
  for (;;) {
    const settings = ["-X", "message.timeout.ms=1000", "-X", "socket.timeout.ms=1000", "-X", "topic.acks=all"]
    const kcat = Bun.spawn(["kcat", "-P", "-b", kafka.bootstrapServers.join(","), "-t", topic, ...settings], {
      stdin: new Blob(["probe\n"]),
      stderr: "ignore",
    })
    if ((await kcat.exited) === 0) return steadyMs()
  }
}

const available = (await canStartKafka()) && hasKcat()

describe.skipIf(!available)("one Kafka broker", () => {
  let kafka: OwnKafka
  beforeAll(async () => {
    kafka = await startKafka()
  })
  afterEach(() => Promise.all(kafka.nodes.map((node) => node.restore())))
  afterAll(() => kafka.stop())

  test("that is killed under load and comes back loses and doubles nothing, and is used within two seconds", async () => {
    await using broker = openTestBroker(kafka)
    const [topic, probe] = [freshTopic(), freshTopic("probe")]
    await Promise.all([topic, probe].map((one) => createTopic(kafka, one, { partitions: 3 })))
    const load = new Load(broker, topic, { deadlineMs: 3000 })
    await until("a thousand answers", () => load.outcomes.length > 1000)
    await kafka.nodes[0]!.kill()
    await until("it is noticed", () => broker.ready() !== true, 4000)
    expect(broker.ready()).toMatch(/: connection (refused|reset|closed)$/)
    const started = kafka.nodes[0]!.start()
    const takenMs = await firstTakenFromKcat(kafka, probe)
    await started
    const before = load.outcomes.length
    await until("an acknowledgement", () =>
      load.outcomes.slice(before).some(({ receipt }) => receipt !== undefined),
    )
    await until("readiness", () => broker.ready() === true, 2000)
    const outcomes = await load.stop()
    const firstMs = Math.min(
      ...outcomes
        .filter(({ receipt, deadlineMs }) => receipt && deadlineMs > takenMs)
        .map(({ answeredMs }) => answeredMs),
    )
    expect(firstMs - takenMs).toBeLessThan(2000)
    expect(latestMs(load)).toBeLessThan(LATE_MS)
    expect(outcomes.some(({ code }) => code === "deadline")).toBe(true)
    await expectKept(kafka, topic, outcomes)
    expect(broker.log.map(({ msg }) => msg)).toEqual([
      "connected to Kafka",
      expect.stringContaining("Kafka is not available"),
      "connected to Kafka",
    ])
  })

  test("that stops answering for eight seconds makes no answer late, and is used within two seconds of going on", async () => {
    await using broker = openTestBroker(kafka)
    const topic = freshTopic()
    await createTopic(kafka, topic, { partitions: 2 })
    const load = new Load(broker, topic, { deadlineMs: 1500 })
    await until("a thousand answers", () => load.outcomes.length > 1000)
    kafka.nodes[0]!.pause()
    const pausedMs = steadyMs()
    await until("it is noticed", () => broker.ready() !== true, 5000)
    await Bun.sleep(8000 - (steadyMs() - pausedMs))
    kafka.nodes[0]!.resume()
    const resumedMs = steadyMs()
    const acknowledged = (): boolean =>
      load.outcomes.some(({ receipt, answeredMs }) => receipt && answeredMs > resumedMs)
    await until("an acknowledgement", acknowledged)
    expect(steadyMs() - resumedMs).toBeLessThan(2000)
    await until("readiness", () => broker.ready() === true)
    const outcomes = await load.stop()
    expect(latestMs(load)).toBeLessThan(LATE_MS)
    const during = outcomes.filter(({ deadlineMs }) => deadlineMs > pausedMs + 1500 && deadlineMs < resumedMs)
    expect(during.length).toBeGreaterThan(1000)
    expect(new Set(during.map(({ code }) => code))).toEqual(new Set(["deadline"]))
    await expectKept(kafka, topic, outcomes)
    // What was queued, and not handed over, when its deadline passed is never published. One batch was out: the pause
    // may have met it with records that are younger than `pausedMs`, by far less than this.
    const queued = during.filter(({ deadlineMs }) => deadlineMs > pausedMs + 1500 + 100)
    const texts = new Set((await readWithKcat(kafka, topic)).map(({ value }) => value.toString()))
    expect(queued.length).toBeGreaterThan(1000)
    expect(queued.filter(({ text }) => texts.has(text))).toEqual([])
  })

  test("that is down at the start makes no one wait, and is used once it is there", async () => {
    const topic = freshTopic()
    await createTopic(kafka, topic)
    await kafka.nodes[0]!.kill()
    await using broker = openTestBroker(kafka)
    broker.prepare([topic])
    expect(broker.ready()).toBe("Kafka is not connected yet")
    await until("a reason", () => broker.ready() === "Kafka is not available: connection refused")
    using starvation = new Starvation()
    const began = steadyMs()
    const refused = broker.publish({ topic, value: Buffer.from("early") }, began + 300)
    await expect(refused).rejects.toMatchObject({ code: "deadline" })
    expect(steadyMs() - began).toBeWithin(300, 300 + LATE_MS + starvation.longestMs)
    const patient = broker.publish({ topic, value: Buffer.from("patient") }, began + 60_000)
    await kafka.nodes[0]!.start()
    expect(await patient).toEqual({ partition: 0, offset: 0 })
    expect((await readWithKcat(kafka, topic)).map(({ value }) => value.toString())).toEqual(["patient"])
  })

  test("that is gone does not keep a closing connection longer than the deadlines", async () => {
    const topic = freshTopic()
    await createTopic(kafka, topic)
    const broker = openTestBroker(kafka)
    await broker.publish({ topic, value: Buffer.from("v") }, steadyMs() + 10_000)
    kafka.nodes[0]!.pause()
    const open = broker.publish({ topic, value: Buffer.from("v") }, steadyMs() + 700)
    using starvation = new Starvation()
    const began = steadyMs()
    const [outcome] = await Promise.all([Promise.allSettled([open]), broker.close()])
    expect(outcome[0]).toMatchObject({ status: "rejected", reason: { code: "deadline" } })
    expect(steadyMs() - began).toBeWithin(650, 700 + LATE_MS + starvation.longestMs)
  })
})

describe.skipIf(!available)("three Kafka brokers", () => {
  let kafka: OwnKafka
  beforeAll(async () => {
    kafka = await startKafka({ brokers: 3, properties: { "broker.session.timeout.ms": "4000" } })
  })
  afterEach(() => Promise.all(kafka.nodes.map((node) => node.restore())))
  afterAll(() => kafka.stop())

  /** Index of the node that leads a partition. */
  async function leaderOf(topic: string, partition: number): Promise<number> {
    const admin = openAdmin(kafka)
    const { topics } = await admin.metadata({ topics: [topic], forceUpdate: true })
    await admin.close()
    return topics.get(topic)!.partitions[partition]!.leader - 1
  }

  test("a leader that stalls holds up its own partitions only, and keyless records go elsewhere", async () => {
    await using broker = openTestBroker(kafka)
    const topic = freshTopic()
    await createTopic(kafka, topic, { partitions: 3, replicas: 1 })
    const keys = [0, 1, 2].map((partition) => {
      return Buffer.from(
        Array.from({ length: 100 }, (_, n) => `k${n}`).find(
          (k) => partitionOf(Buffer.from(k), 3) === partition,
        )!,
      )
    })
    const publish = (key: Buffer | undefined): Promise<Receipt> =>
      broker.publish({ topic, key, value: Buffer.from("v") }, steadyMs() + 2000)
    await Promise.all(keys.map(publish))
    const stalled = await leaderOf(topic, 1)
    kafka.nodes[stalled]!.pause()
    try {
      const began = steadyMs()
      const held = publish(keys[1])
      for (let round = 0; round < 20; round++) {
        expect((await publish(keys[0])).partition).toBe(0)
        expect((await publish(keys[2])).partition).toBe(2)
        const spread = await Promise.all(Array.from({ length: 10 }, () => publish(undefined)))
        expect(spread.some(({ partition }) => partition === 1)).toBe(false)
      }
      expect(steadyMs() - began).toBeLessThan(1500)
      await expect(held).rejects.toMatchObject({ code: "deadline" })
    } finally {
      kafka.nodes[stalled]!.resume()
    }
    await until(
      "the leader is used",
      async () => (await Promise.allSettled([publish(keys[1])]))[0].status === "fulfilled",
    )
  })

  test("a leader that is killed loses and doubles nothing, and its keys keep their order where it has gone", async () => {
    await using broker = openTestBroker(kafka)
    const topic = freshTopic()
    await createTopic(kafka, topic, { partitions: 3, replicas: 3, configs: { "min.insync.replicas": "2" } })
    const load = new Load(broker, topic, { deadlineMs: 20_000, keys: 30 })
    await until("a thousand answers", () => load.outcomes.length > 1000)
    const killed = await leaderOf(topic, 0)
    await kafka.nodes[killed]!.kill()
    await until("new leaders", async () => (await leaderOf(topic, 0)) !== killed)
    const before = load.outcomes.length
    const recent = (): Outcome[] =>
      load.outcomes.slice(before).filter(({ receipt }) => receipt?.partition === 0)
    await until("acknowledgements of the new leader", () => recent().length > 100)
    await kafka.nodes[killed]!.start()
    const outcomes = await load.stop()
    expect(outcomes.filter(({ code }) => code !== undefined)).toEqual([])
    await expectKept(kafka, topic, outcomes)
    for (const records of Map.groupBy(await readWithKcat(kafka, topic), ({ key }) =>
      key!.toString(),
    ).values()) {
      const numbers = records.map(({ value }) => Number(value))
      expect(numbers).toEqual(numbers.toSorted((a, b) => a - b))
    }
  })

  test("a leader that stalls until another leads its partition: what was out goes there, once", async () => {
    await using broker = openTestBroker(kafka)
    const topic = freshTopic()
    await createTopic(kafka, topic, { partitions: 1, replicas: 3, configs: { "min.insync.replicas": "2" } })
    const publish = (text: string): Promise<Receipt> =>
      broker.publish({ topic, value: Buffer.from(text) }, steadyMs() + 20_000)
    await publish("before")
    const stalled = await leaderOf(topic, 0)
    kafka.nodes[stalled]!.pause()
    const began = steadyMs()
    const out = publish("out")
    expect(await out).toEqual({ partition: 0, offset: 1 })
    // Sooner than the request to the old leader times out.
    expect(steadyMs() - began).toBeLessThan(9500)
    kafka.nodes[stalled]!.resume()
    await publish("after")
    const texts = (await readWithKcat(kafka, topic)).map(({ value }) => value.toString())
    expect(texts).toEqual(["before", "out", "after"])
  })

  test("without enough replicas nothing is acknowledged, until they are back", async () => {
    await using broker = openTestBroker(kafka)
    const topic = freshTopic()
    await createTopic(kafka, topic, { partitions: 1, replicas: 3, configs: { "min.insync.replicas": "3" } })
    const publish = (text: string, allowedMs: number): Promise<Receipt> =>
      broker.publish({ topic, value: Buffer.from(text) }, steadyMs() + allowedMs)
    await publish("before", 10_000)
    const leader = await leaderOf(topic, 0)
    const other = (leader + 1) % 3
    await kafka.nodes[other]!.kill()
    await until(
      "too few",
      async () => (await Promise.allSettled([publish("lost", 500)]))[0].status === "rejected",
    )
    await expect(publish("short", 1000)).rejects.toMatchObject({ code: "deadline" })
    const patient = publish("patient", 60_000)
    await kafka.nodes[other]!.start()
    const { offset } = await patient
    const read = (await readWithKcat(kafka, topic)).map(({ value }) => value.toString())
    expect(read[offset]).toBe("patient")
    expect(read.filter((text) => text === "patient")).toHaveLength(1)
  })
})
