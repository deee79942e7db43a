import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { partitionOf } from "../../src/brokers/murmur2.ts"
import { steadyMs } from "../../src/clock/clock.ts"
import { hasKcat, readWithKcat } from "../support/kcat.ts"
import { openTestBroker, until } from "../support/kafka-options.ts"
import { createTopic, deleteTopic, freshTopic, kafkaForTests, topicNames } from "../support/kafka.ts"

// The first test that wants a Kafka waits for its start.
setDefaultTimeout(60_000)

const kafka = await kafkaForTests()
const soon = (ms = 20_000): number => steadyMs() + ms
const value = (text: string): Buffer => Buffer.from(text)

describe.skipIf(kafka === undefined || !hasKcat())("publishing to Kafka", () => {
  test("a record is in the log, byte for byte, where its receipt says", async () => {
    await using broker = openTestBroker(kafka!)
    const topic = freshTopic()
    await createTopic(kafka!, topic, { partitions: 3 })
    const headers = [["x-id", value("1")] as const, ["x-id", value("2")] as const]
    const records = [
      { topic, value: Buffer.from([0, 10, 13, 255, 128]) },
      { topic, value: Buffer.alloc(0), key: value("k") },
      { topic, value: value('{"a":1}'), key: Buffer.from([0, 255]), headers },
    ]
    const receipts = await Promise.all(records.map((record) => broker.publish(record, soon())))
    const read = await readWithKcat(kafka!, topic)
    expect(read).toHaveLength(3)
    for (const [at, { partition, offset }] of receipts.entries()) {
      const found = read.find((one) => one.partition === partition && one.offset === offset)
      expect(found?.value).toEqual(records[at]!.value)
      expect(found?.key).toEqual(records[at]!.key)
      expect(found?.headers).toBe(at === 2 ? "x-id=1,x-id=2" : "")
      expect(Math.abs(found!.timestampMs - Date.now())).toBeLessThan(60_000)
    }
  })

  test("what comes together goes together, on one partition, and the next batch takes the next", async () => {
    await using broker = openTestBroker(kafka!)
    const topic = freshTopic()
    await createTopic(kafka!, topic, { partitions: 4 })
    broker.prepare([topic])
    const partitions: number[] = []
    for (let round = 0; round < 8; round++) {
      const together = Array.from({ length: 20 }, () => broker.publish({ topic, value: value("v") }, soon()))
      const used = new Set((await Promise.all(together)).map(({ partition }) => partition))
      expect(used.size).toBe(1)
      partitions.push(...used)
    }
    expect(partitions).toEqual([0, 1, 2, 3, 0, 1, 2, 3])
    expect(broker.batches).toEqual([20, 20, 20, 20, 20, 20, 20, 20])
  })

  test("a topic that is no longer named is not looked up, which would make it anew; named again, it continues", async () => {
    await using broker = openTestBroker(kafka!)
    const [kept, left, back] = [freshTopic(), freshTopic(), freshTopic()]
    const isThere = async (topic: string): Promise<boolean> => (await topicNames(kafka!)).includes(topic)
    /** Names topics beside a new one, and waits until that was looked up, which makes it. */
    const name = async (...topics: string[]): Promise<void> => {
      const witness = freshTopic("witness")
      broker.prepare([...topics, witness])
      await until("a look-up has named the new topic", () => isThere(witness))
    }
    const publish = async (topic: string): Promise<void> => {
      for (const text of ["1", "2", "3"]) await broker.publish({ topic, value: value(text) }, soon())
    }
    await name(kept, left, back)
    for (const topic of [kept, left, back]) await publish(topic)
    // the answer to the first look-up ends it, so that the second does not ask any more
    await name(kept)
    await name(kept)
    await deleteTopic(kafka!, left)
    await until("it is deleted", async () => !(await isThere(left)))
    await name(kept)
    await name(kept, back)
    expect(await isThere(left)).toBe(false)
    await publish(back)
    const found = (await readWithKcat(kafka!, back)).map((it) => it.value.toString())
    expect(found).toEqual(["1", "2", "3", "1", "2", "3"])
  })

  test("keys go to the partitions that librdkafka's murmur2 partitioner, the Java client's, takes them to", async () => {
    await using broker = openTestBroker(kafka!)
    const [ours, theirs] = [freshTopic(), freshTopic()]
    await Promise.all([ours, theirs].map((topic) => createTopic(kafka!, topic, { partitions: 12 })))
    const keys = Array.from({ length: 300 }, (_, at) => `key-${"x".repeat(at % 7)}${at}-é`)
    const receipts = await Promise.all(
      keys.map((key) => broker.publish({ topic: ours, key: value(key), value: value(key) }, soon())),
    )
    const servers = kafka!.bootstrapServers.join(",")
    const kcat = Bun.spawn(
      ["kcat", "-P", "-b", servers, "-t", theirs, "-K:", "-X", "topic.partitioner=murmur2"],
      {
        stdin: new Blob(keys.map((key) => `${key}:${key}\n`)),
      },
    )
    expect(await kcat.exited).toBe(0)
    const placed = new Map(
      (await readWithKcat(kafka!, theirs)).map(({ key, partition }) => [key!.toString(), partition]),
    )
    expect(keys.map((key, at) => [key, receipts[at]!.partition])).toEqual(
      keys.map((key) => [key, placed.get(key)!]),
    )
    expect(new Set(placed.values()).size).toBe(12)
  })

  test("records of a key are in the log in the order in which they were published", async () => {
    await using broker = openTestBroker(kafka!)
    const topic = freshTopic()
    await createTopic(kafka!, topic, { partitions: 5 })
    const all = Array.from({ length: 2000 }, (_, at) => ({
      topic,
      key: value(`k${at % 10}`),
      value: value(`${at}`),
    }))
    const rounds = Array.from({ length: 20 }, (_, round) => all.slice(round * 100, round * 100 + 100))
    const sent: Promise<unknown>[] = []
    for (const round of rounds) {
      sent.push(...round.map((record) => broker.publish(record, soon())))
      await Bun.sleep(1)
    }
    await Promise.all(sent)
    const read = await readWithKcat(kafka!, topic)
    expect(read).toHaveLength(2000)
    for (let key = 0; key < 10; key++) {
      const order = read
        .filter((record) => record.key!.toString() === `k${key}`)
        .map((record) => Number(record.value))
      expect(order).toEqual(order.toSorted((a, b) => a - b))
      expect(new Set(read.filter((r) => r.key!.toString() === `k${key}`).map((r) => r.partition))).toEqual(
        new Set([partitionOf(value(`k${key}`), 5)]),
      )
    }
  })

  test.each(["gzip", "snappy", "lz4", "zstd"] as const)(
    "what is compressed with %s is read back byte for byte",
    async (compression_type) => {
      await using broker = openTestBroker(kafka!, { compression_type })
      const topic = freshTopic(compression_type)
      await createTopic(kafka!, topic)
      const values = Array.from({ length: 200 }, (_, at) => value(`${at} ${"hook".repeat(at * 3)}`))
      await Promise.all(values.map((each) => broker.publish({ topic, value: each }, soon())))
      expect((await readWithKcat(kafka!, topic)).map((record) => record.value)).toEqual(values)
    },
  )

  test("what is published at once to many partitions of several topics is all there", async () => {
    await using broker = openTestBroker(kafka!)
    const topics = [freshTopic("a"), freshTopic("b"), freshTopic("c")]
    await Promise.all(topics.map((topic) => createTopic(kafka!, topic, { partitions: 40 })))
    const sent = topics.flatMap((topic) =>
      Array.from({ length: 400 }, (_, at) => {
        const key = at % 4 === 0 ? undefined : value(`${at}`)
        return broker.publish({ topic, key, value: value(`${topic} ${at}`) }, soon())
      }),
    )
    await Promise.all(sent)
    for (const topic of topics) {
      const records = await readWithKcat(kafka!, topic)
      expect(new Set(records.map(({ partition }) => partition)).size).toBeGreaterThan(30)
      const read = records.map((record) => record.value.toString())
      expect(read.toSorted()).toEqual(Array.from({ length: 400 }, (_, at) => `${topic} ${at}`).toSorted())
    }
  })

  test("close publishes what was accepted, and refuses what comes later", async () => {
    const broker = openTestBroker(kafka!)
    const topic = freshTopic()
    await createTopic(kafka!, topic)
    const accepted = Array.from({ length: 50 }, (_, at) =>
      broker.publish({ topic, value: value(`${at}`) }, soon()),
    )
    const closed = broker.close()
    expect(broker.ready()).toBe("the connection is closing")
    await expect(broker.publish({ topic, value: value("late") }, soon())).rejects.toMatchObject({
      code: "closing",
    })
    await closed
    await Promise.all(accepted)
    expect(await readWithKcat(kafka!, topic)).toHaveLength(50)
  })
})

describe.skipIf(kafka === undefined || !hasKcat())(
  "a topic that does not exist, where the cluster creates topics",
  () => {
    test("is created, and the first record is in it", async () => {
      await using broker = openTestBroker(kafka!)
      const topic = freshTopic("created")
      const began = steadyMs()
      await broker.publish({ topic, value: value("first") }, soon())
      expect(steadyMs() - began).toBeLessThan(3000)
      expect((await readWithKcat(kafka!, topic)).map((record) => record.value.toString())).toEqual(["first"])
    })
  },
)
