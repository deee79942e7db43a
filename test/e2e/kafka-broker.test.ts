import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { partitionOf } from "../../src/brokers/kafka-murmur2.ts"
import { steadyMs } from "../../src/steady-clock.ts"
import { hasKcat, readWithKcat } from "../support/kcat.ts"
import { openTestBroker, until } from "../support/kafka-options.ts"
import {
  canStartKafka,
  createTopic,
  freshTopic,
  kafkaForTests,
  openAdmin,
  startKafka,
  type OwnKafka,
} from "../support/kafka.ts"

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

  test("a topic that is no longer named is not looked up, which would make it anew; named again, it goes on", async () => {
    await using broker = openTestBroker(kafka!)
    const [kept, left, back] = [freshTopic(), freshTopic(), freshTopic()]
    const admin = openAdmin(kafka!)
    const isThere = async (topic: string): Promise<boolean> => (await admin.listTopics()).includes(topic)
    /** Names topics beside a new one, and waits until that was looked up, which makes it. */
    const name = async (...topics: string[]): Promise<void> => {
      const witness = freshTopic("witness")
      broker.prepare([...topics, witness])
      await until("a look-up has named the new topic", () => isThere(witness))
    }
    const publish = async (topic: string): Promise<void> => {
      for (const text of ["1", "2", "3"]) await broker.publish({ topic, value: value(text) }, soon())
    }
    try {
      await name(kept, left, back)
      for (const topic of [kept, left, back]) await publish(topic)
      // the answer to the first look-up ends it, so that the second does not ask any more
      await name(kept)
      await name(kept)
      await admin.deleteTopics({ topics: [left] })
      await until("it is deleted", async () => !(await isThere(left)))
      await name(kept)
      await name(kept, back)
      expect(await isThere(left)).toBe(false)
      await publish(back)
      const found = (await readWithKcat(kafka!, back)).map((it) => it.value.toString())
      expect(found).toEqual(["1", "2", "3", "1", "2", "3"])
    } finally {
      await admin.close()
    }
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

  test("many partitions of several topics are published to at once", async () => {
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
      const read = (await readWithKcat(kafka!, topic)).map((record) => record.value.toString())
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

describe.skipIf(!(await canStartKafka()) || !hasKcat())("what Kafka does not take", () => {
  let own: OwnKafka
  const start = async (): Promise<OwnKafka> => {
    own ??= await startKafka({
      properties: {
        "auto.create.topics.enable": "false",
        "message.max.bytes": "20000",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
        "super.users": "User:ANONYMOUS",
      },
    })
    return own
  }
  afterAll(() => own?.stop())

  test("a record over the topic's max.message.bytes is refused as too large, and others pass", async () => {
    const kafka = await start()
    await using broker = openTestBroker(kafka)
    const topic = freshTopic()
    await createTopic(kafka, topic, { configs: { "max.message.bytes": "10000" } })
    const sizes = [9_000, 10_000, 100, 50_000, 9_900, 200_000, 1]
    const outcomes = await Promise.allSettled(
      sizes.map((size) => broker.publish({ topic, value: Buffer.alloc(size) }, soon())),
    )
    expect(
      outcomes.map((outcome) => (outcome.status === "rejected" ? outcome.reason.code : "stored")),
    ).toEqual([
      "stored",
      "record_too_large",
      "stored",
      "record_too_large",
      "stored",
      "record_too_large",
      "stored",
    ])
    expect((await readWithKcat(kafka, topic)).map((record) => record.value.length)).toEqual([
      9_000, 100, 9_900, 1,
    ])
  })

  test("the largest record that fits passes, and one byte more is refused", async () => {
    const kafka = await start()
    await using broker = openTestBroker(kafka)
    const topic = freshTopic()
    await createTopic(kafka, topic, { configs: { "max.message.bytes": "10000" } })
    // 61 bytes of batch, and of record: 3 length, 1 attributes, 1 timestamp, 1 offset, 1 no key, 3 length, 1 no headers.
    const largest = 10_000 - 61 - 11
    await broker.publish({ topic, value: Buffer.alloc(largest) }, soon())
    const more = broker.publish({ topic, value: Buffer.alloc(largest + 1) }, soon())
    await expect(more).rejects.toMatchObject({ code: "record_too_large" })
  })

  test("a limit that was lowered meanwhile refuses the large record alone", async () => {
    const kafka = await start()
    await using broker = openTestBroker(kafka)
    const topic = freshTopic()
    await createTopic(kafka, topic, { configs: { "max.message.bytes": "15000" } })
    await broker.publish({ topic, value: Buffer.alloc(12_000) }, soon())
    await setMaxMessageBytes(kafka, topic, "5000")
    const sizes = [
      ...Array.from({ length: 30 }, (_, at) => 100 + at),
      12_000,
      ...Array.from({ length: 30 }, (_, at) => 200 + at),
    ]
    const outcomes = await Promise.allSettled(
      sizes.map((size) => broker.publish({ topic, value: Buffer.alloc(size) }, soon())),
    )
    const refused = outcomes
      .filter((outcome) => outcome.status === "rejected")
      .map((outcome) => outcome.reason.code)
    expect(refused).toEqual(["record_too_large"])
    const read = (await readWithKcat(kafka, topic)).map((record) => record.value.length)
    expect(read).toEqual([12_000, ...sizes.filter((size) => size < 5000)])
  })

  test("a limit that was raised meanwhile is noticed", async () => {
    const kafka = await start()
    await using broker = openTestBroker(kafka)
    const topic = freshTopic()
    await createTopic(kafka, topic, { configs: { "max.message.bytes": "5000" } })
    const publish = (): Promise<unknown> => broker.publish({ topic, value: Buffer.alloc(8000) }, soon())
    await expect(publish()).rejects.toMatchObject({ code: "record_too_large" })
    await setMaxMessageBytes(kafka, topic, "9000")
    await until("taken", async () => (await Promise.allSettled([publish()]))[0].status === "fulfilled")
  })

  test("a record without a key is refused by a compacted topic, and those with one pass", async () => {
    const kafka = await start()
    await using broker = openTestBroker(kafka)
    const topic = freshTopic()
    await createTopic(kafka, topic, { configs: { "cleanup.policy": "compact" } })
    const outcomes = await Promise.allSettled(
      Array.from({ length: 40 }, (_, at) => {
        const key = at === 23 ? undefined : value(`k${at}`)
        return broker.publish({ topic, key, value: value(`${at}`) }, soon())
      }),
    )
    const refused = outcomes.flatMap((outcome, at) =>
      outcome.status === "rejected" ? [[at, outcome.reason.code]] : [],
    )
    expect(refused).toEqual([[23, "refused"]])
    expect(await readWithKcat(kafka, topic)).toHaveLength(39)
  })

  test("a topic that does not exist is unavailable at once, logged once, and works once it is there", async () => {
    const kafka = await start()
    await using broker = openTestBroker(kafka)
    const topic = freshTopic("missing")
    const publish = (): Promise<unknown> => broker.publish({ topic, value: value("v") }, soon())
    const began = steadyMs()
    await expect(publish()).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining(topic),
    })
    expect(steadyMs() - began).toBeLessThan(3000)
    const again = steadyMs()
    await Promise.allSettled(Array.from({ length: 100 }, publish))
    expect(steadyMs() - again).toBeLessThan(500)
    expect(broker.log.filter(({ level }) => level === "error")).toHaveLength(1)
    await createTopic(kafka, topic)
    const created = steadyMs()
    await until("taken", async () => (await Promise.allSettled([publish()]))[0].status === "fulfilled")
    expect(steadyMs() - created).toBeLessThan(2500)
    expect(broker.log.filter(({ msg }) => msg.startsWith("topic available"))).toHaveLength(1)
    expect(await readWithKcat(kafka, topic)).toHaveLength(1)
  })

  test("compressed, a record is too large when its compressed batch is", async () => {
    const kafka = await start()
    await using broker = openTestBroker(kafka, { compression_type: "gzip" })
    const topic = freshTopic()
    await createTopic(kafka, topic, { configs: { "max.message.bytes": "10000" } })
    const values = [
      Buffer.alloc(500_000),
      Buffer.from("a"),
      crypto.getRandomValues(new Uint8Array(15_000)),
      Buffer.from("b"),
    ]
    const outcomes = await Promise.allSettled(
      values.map((each) => broker.publish({ topic, value: each }, soon())),
    )
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled"])
    expect(outcomes[2]).toMatchObject({ reason: { code: "record_too_large" } })
    expect((await readWithKcat(kafka, topic)).map((record) => record.value.length)).toEqual([500_000, 1, 1])
  })

  test("partitions that are added are used, by keys as well", async () => {
    const kafka = await start()
    await using broker = openTestBroker(kafka)
    const topic = freshTopic()
    await createTopic(kafka, topic)
    const publish = async (key: Buffer | undefined): Promise<number> =>
      (await broker.publish({ topic, key, value: value("v") }, soon())).partition
    expect(await publish(undefined)).toBe(0)
    const admin = openAdmin(kafka)
    await admin.createPartitions({ topics: [{ name: topic, count: 8 }] })
    await admin.close()
    await until("a new one is used", async () => (await publish(undefined)) > 0)
    const keys = Array.from({ length: 50 }, (_, at) => value(`k${at}`))
    expect(await Promise.all(keys.map(publish))).toEqual(keys.map((key) => partitionOf(key, 8)))
  })

  test("a topic that is deleted and made anew is used again", async () => {
    const kafka = await start()
    await using broker = openTestBroker(kafka)
    const topic = freshTopic()
    await createTopic(kafka, topic, { partitions: 3 })
    const publish = (): Promise<unknown> => broker.publish({ topic, value: value("v") }, soon(500))
    for (let count = 0; count < 10; count++) await publish()
    const admin = openAdmin(kafka)
    await admin.deleteTopics({ topics: [topic] })
    await admin.close()
    const code = async (): Promise<unknown> => {
      const [outcome] = await Promise.allSettled([publish()])
      return outcome.status === "rejected" ? outcome.reason.code : undefined
    }
    await until("it is missed", async () => (await code()) === "unavailable")
    await createTopic(kafka, topic, { partitions: 2 })
    await until("it is used", async () => (await code()) === undefined)
    const before = (await readWithKcat(kafka, topic)).length
    for (let count = 0; count < 10; count++) await publish()
    expect(await readWithKcat(kafka, topic)).toHaveLength(before + 10)
  })

  test("a name that no topic can have is refused", async () => {
    const kafka = await start()
    await using broker = openTestBroker(kafka)
    const refused = broker.publish({ topic: "not a topic!", value: value("v") }, soon())
    await expect(refused).rejects.toMatchObject({ code: "refused" })
  })
})

async function setMaxMessageBytes(kafka: OwnKafka, topic: string, bytes: string): Promise<void> {
  const admin = openAdmin(kafka)
  const set = { name: "max.message.bytes", value: bytes, configOperation: 0 } as const
  await admin.incrementalAlterConfigs({
    resources: [{ resourceType: 2, resourceName: topic, configs: [set] }],
    validateOnly: false,
  })
  await admin.close()
}

describe.skipIf(kafka === undefined)("a topic that does not exist, where the cluster creates topics", () => {
  test("is created, and the first record is in it", async () => {
    await using broker = openTestBroker(kafka!)
    const topic = freshTopic("created")
    const began = steadyMs()
    await broker.publish({ topic, value: value("first") }, soon())
    expect(steadyMs() - began).toBeLessThan(3000)
    expect((await readWithKcat(kafka!, topic)).map((record) => record.value.toString())).toEqual(["first"])
  })
})
