import { ProduceAcks, Producer } from "../../src/brokers/kafka/client-library.ts"
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { readTopic, type ReadFrom } from "../../src/brokers/read-topic.ts"
import type { LogReader, OffsetRange, StoredRecord } from "../../src/brokers/broker.ts"
import { lastRecords } from "../../src/brokers/records-before.ts"
import { openKafkaReader } from "../../src/brokers/kafka/reader.ts"
import { steadyMs } from "../../src/clock/clock.ts"
import { HANG_MS, PATIENT_MS } from "../support/hang.ts"
import { kafkaOptions, openTestBroker, until } from "../support/kafka-options.ts"
import { createTopic, freshTopic, kafkaForTests, administer } from "../support/kafka.ts"

const kafka = await kafkaForTests()
const text = ({ value }: StoredRecord): string => Buffer.from(value).toString()

async function publish(topic: string, values: readonly string[], keyed = false): Promise<void> {
  await using broker = openTestBroker(kafka!, { compression_type: "lz4" })
  for (const value of values) {
    const key = keyed ? Buffer.from(value) : undefined
    await broker.publish(
      { topic, key, value: Buffer.from(value), headers: [["n", Buffer.from(value)]] },
      steadyMs() + PATIENT_MS,
    )
  }
}

describe.skipIf(kafka === undefined)("reading a Kafka topic", () => {
  let reader: LogReader
  beforeAll(() => {
    reader = openKafkaReader(kafkaOptions(kafka!.bootstrapServers))
  })
  afterAll(() => reader.close())

  const readAll = (topic: string, from: ReadFrom): Promise<StoredRecord[]> =>
    Array.fromAsync(readTopic(reader, topic, { from, follow: false, signal: new AbortController().signal }))

  test("begins at an offset, within a batch too, and yields nothing from the end", async () => {
    const topic = freshTopic()
    await createTopic(kafka!, topic)
    await using broker = openTestBroker(kafka!)
    await Promise.all(
      ["a", "b", "c", "d"].map((value) =>
        broker.publish({ topic, value: Buffer.from(value) }, steadyMs() + PATIENT_MS),
      ),
    )
    expect(broker.batches).toEqual([4])
    expect((await readAll(topic, 2)).map(text)).toEqual(["c", "d"])
    expect((await readAll(topic, 99)).map(text)).toEqual([])
    expect((await readAll(topic, "end")).map(text)).toEqual([])
  })

  test("merges partitions by time, and finds the last records and those of a time", async () => {
    const topic = freshTopic()
    await createTopic(kafka!, topic, { partitions: 3 })
    const count = 60
    const firstMs = Date.now() - 3_600_000
    await using broker = openTestBroker(kafka!)
    for (let n = 0; n < count; n++) {
      const key = Buffer.from(`${(n * 7) % 11}`)
      const timestampMs = firstMs + n * 1000
      await broker.publish({ topic, key, value: Buffer.from(`${n}`), timestampMs }, steadyMs() + PATIENT_MS)
    }
    const signal = new AbortController().signal
    const numbers = async (ranges: readonly OffsetRange[]): Promise<number[]> => {
      const records = await Array.fromAsync(reader.read(topic, ranges, { retries: false, signal }))
      return records.map((record) => Number(text(record)))
    }
    const from = (first: number, end = count): number[] =>
      Array.from({ length: end - first }, (_, at) => first + at)

    const ranges = await reader.ranges(topic)
    expect(ranges).toHaveLength(3)
    expect(await numbers(ranges)).toEqual(from(0))
    const last = (n: number, matches?: (record: StoredRecord) => boolean): Promise<OffsetRange[]> =>
      lastRecords(reader, topic, ranges, n, matches, signal)
    expect(await numbers(await last(7))).toEqual(from(count - 7))
    expect(await numbers(await last(1000))).toEqual(from(0))
    const [first, ...rest] = await numbers(await last(3, (record) => Number(text(record)) % 10 === 0))
    expect(first).toBeLessThanOrEqual(30)
    expect(rest.filter((n) => n % 10 === 0)).toEqual([40, 50])
    const at = (n: number): number => firstMs + n * 1000
    expect(await numbers(await reader.ranges(topic, { sinceMs: at(40) }))).toEqual(from(40))
    expect(await numbers(await reader.ranges(topic, { sinceMs: at(40) + 1, untilMs: at(50) }))).toEqual(
      from(41, 50),
    )
    expect(await numbers(await reader.ranges(topic, { untilMs: at(0) }))).toEqual([])
    expect(await numbers(await reader.ranges(topic, { sinceMs: at(count) }))).toEqual([])
  })

  test("continues after records that retention deleted, and ends where the log has lost its own", async () => {
    const topic = freshTopic()
    await createTopic(kafka!, topic)
    await publish(topic, ["a", "b", "c", "d"])
    const topics = [{ name: topic, partitions: [{ partition: 0, offset: 2n }] }]
    await administer(kafka!, (admin) => admin.deleteRecords({ topics }))
    const missing: OffsetRange[] = []
    const missed = (range: OffsetRange): void => void missing.push(range)
    const read = async (first: number, end: number): Promise<string[]> => {
      const ranges = [{ partition: 0, first, end }]
      const options = { retries: false, signal: AbortSignal.timeout(HANG_MS), missed }
      return (await Array.fromAsync(reader.read(topic, ranges, options))).map(text)
    }
    expect(await read(0, 4)).toEqual(["c", "d"])
    expect(await read(10, 12)).toEqual([])
    expect(await read(0, 1)).toEqual([])
    expect(missing.map(({ first, end }) => [first, end])).toEqual([
      [0, 2],
      [10, 12],
      [0, 1],
    ])
  })

  test("leaves out the records of aborted transactions, and waits for those of open ones", async () => {
    const topic = freshTopic()
    await createTopic(kafka!, topic)
    const openProducer = () =>
      new Producer({
        clientId: "hookline-test",
        bootstrapBrokers: [...kafka!.bootstrapServers],
        transactionalId: freshTopic("transactional"),
        idempotent: true,
        retries: 50,
        retryDelay: 50,
      })
    const [one, other] = [openProducer(), openProducer()]
    try {
      const send = (
        transaction: Awaited<ReturnType<typeof one.beginTransaction>>,
        ...values: readonly string[]
      ): Promise<unknown> =>
        transaction.send({
          acks: ProduceAcks.ALL,
          messages: values.map((value) => ({ topic, partition: 0, value: Buffer.from(value) })),
        })
      await publish(topic, ["plain"])
      const committed = await one.beginTransaction()
      await send(committed, "a", "b")
      await committed.commit()
      const [aborted, kept] = [await one.beginTransaction(), await other.beginTransaction()]
      await send(aborted, "lost")
      await send(kept, "kept")
      await send(aborted, "lost too")
      await publish(topic, ["between"])
      // what is behind the first open transaction is not read yet
      expect((await readAll(topic, "beginning")).map(text)).toEqual(["plain", "a", "b"])
      const stop = new AbortController()
      const following: string[] = []
      const followed = (async () => {
        for await (const record of readTopic(reader, topic, { from: 4, follow: true, signal: stop.signal }))
          following.push(text(record))
      })()
      await aborted.abort()
      await kept.commit()
      const next = await one.beginTransaction()
      await send(next, "c")
      await next.commit()
      await until("all was followed", () => following.length === 3)
      stop.abort()
      await followed
      expect(following).toEqual(["kept", "between", "c"])
      const all = ["plain", "a", "b", "kept", "between", "c"]
      expect((await readAll(topic, "beginning")).map(text)).toEqual(all)
    } finally {
      await Promise.all([one.close(true), other.close(true)])
    }
  })

  test("a record that is published while a time is looked up is before the end that is found, or after it", async () => {
    const topic = freshTopic()
    await createTopic(kafka!, topic)
    await using broker = openTestBroker(kafka!)
    const post = () => broker.publish({ topic, value: Buffer.from("a") }, steadyMs() + PATIENT_MS)
    // a leader that was elected answers nothing before it knows
    await post()
    for (let round = 0; round < 60; round++) {
      const sinceMs = Date.now()
      const finding = reader.ranges(topic, { sinceMs })
      await Bun.sleep(round % 6)
      const { offset } = await post()
      // whoever follows continues from there
      expect((await finding)[0]!.first).toBeLessThanOrEqual(offset)
    }
  })

  test("follows a topic whose log begins again before the offset that it has read to", async () => {
    const topic = freshTopic()
    await createTopic(kafka!, topic)
    await publish(topic, ["a"])
    const stop = new AbortController()
    const ranges = [{ partition: 0, first: 5, end: Number.POSITIVE_INFINITY }]
    const seen: string[] = []
    setTimeout(() => stop.abort(), HANG_MS).unref()
    for await (const record of reader.read(topic, ranges, { retries: true, signal: stop.signal })) {
      seen.push(text(record))
      stop.abort()
    }
    expect(seen).toEqual(["a"])
  })

  test("of a partition that the topic does not have fails", async () => {
    const topic = freshTopic()
    await createTopic(kafka!, topic)
    const reading = reader.read(topic, [{ partition: 5, first: 0, end: 1 }], {
      retries: false,
      signal: new AbortController().signal,
    })
    await expect(Array.fromAsync(reading)).rejects.toMatchObject({ code: "unavailable" })
  })

  test("shows the broker's time where that is the topic's", async () => {
    const topic = freshTopic()
    await createTopic(kafka!, topic, { configs: { "message.timestamp.type": "LogAppendTime" } })
    await using broker = openTestBroker(kafka!)
    const value = Buffer.from("a")
    await broker.publish({ topic, value, timestampMs: Date.now() - 3_600_000 }, steadyMs() + PATIENT_MS)
    const [record] = await readAll(topic, "beginning")
    expect(Math.abs(record!.timestampMs - Date.now())).toBeLessThan(60_000)
  })

  test("of several topics at once, first of all, asks each broker over one connection", async () => {
    const topics = [freshTopic(), freshTopic(), freshTopic()]
    for (const topic of topics) {
      await createTopic(kafka!, topic)
      await publish(topic, ["a"])
    }
    const other = openKafkaReader(kafkaOptions(kafka!.bootstrapServers))
    expect(await Promise.all(topics.map((topic) => other.ranges(topic)))).toEqual(
      topics.map(() => [{ partition: 0, first: 0, end: 1 }]),
    )
    await other.close()
  })

  test("of a topic that does not exist fails, and does not create it", async () => {
    const topic = freshTopic("nowhere")
    await expect(readAll(topic, "beginning")).rejects.toMatchObject({
      code: "no_topic",
      message: expect.stringContaining(topic),
    })
    expect((await reader.topics()).map((one) => one.topic)).not.toContain(topic)
  })

  test("leaves no consumer group on the cluster", async () => {
    const topic = freshTopic()
    await createTopic(kafka!, topic)
    const groups = (): Promise<string[]> =>
      administer(kafka!, async (admin) => [...(await admin.listGroups()).keys()])
    const before = await groups()
    await publish(topic, ["a"])
    expect(await readAll(topic, "beginning")).toHaveLength(1)
    expect(await groups()).toEqual(before)
  })

  test("of brokers that are not there fails", async () => {
    const lost = openKafkaReader(kafkaOptions(["127.0.0.1:1"]))
    await expect(lost.topics()).rejects.toMatchObject({ code: "unavailable" })
    await lost.close()
  })
})
