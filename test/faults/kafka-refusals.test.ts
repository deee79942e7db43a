import { describe, expect, test } from "bun:test"
import { partitionOf } from "../../src/brokers/murmur2.ts"
import { steadyMs } from "../../src/clock/clock.ts"
import { PATIENT_MS } from "../support/hang.ts"
import { hasKcat, readWithKcat } from "../support/kcat.ts"
import { openTestBroker, until } from "../support/kafka-options.ts"
import { kafkaOfTests } from "../support/kafka-behind.ts"
import { administer, canStartKafka, createTopic, freshTopic, setTopic } from "../support/kafka.ts"

const soon = (): number => steadyMs() + PATIENT_MS
const value = (text: string): Buffer => Buffer.from(text)

describe.skipIf(!(await canStartKafka()) || !hasKcat())(
  "a Kafka with limits, which creates no topics",
  () => {
    const kafka = kafkaOfTests({
      properties: {
        "auto.create.topics.enable": "false",
        "message.max.bytes": "20000",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
        "super.users": "User:ANONYMOUS",
      },
    })

    test("a record over the topic's max.message.bytes is refused as too large, and others pass", async () => {
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
      await using broker = openTestBroker(kafka)
      const topic = freshTopic()
      await createTopic(kafka, topic, { configs: { "max.message.bytes": "10000" } })
      // 61 bytes of batch, and of record: 3 length, 1 attributes, 1 timestamp, 1 offset, 1 no key, 3 length, 1 no headers.
      const largest = 10_000 - 61 - 11
      await broker.publish({ topic, value: Buffer.alloc(largest) }, soon())
      const more = broker.publish({ topic, value: Buffer.alloc(largest + 1) }, soon())
      await expect(more).rejects.toMatchObject({ code: "record_too_large" })
    })

    test.each(["none", "gzip"] as const)(
      "a limit that was raised meanwhile is noticed: %s",
      async (compression_type) => {
        await using broker = openTestBroker(kafka, { compression_type })
        const topic = freshTopic()
        await createTopic(kafka, topic, { configs: { "max.message.bytes": "5000" } })
        const incompressible = crypto.getRandomValues(new Uint8Array(8000))
        const publish = (): Promise<unknown> => broker.publish({ topic, value: incompressible }, soon())
        await expect(publish()).rejects.toMatchObject({ code: "record_too_large" })
        await setTopic(kafka, topic, "max.message.bytes", "9000")
        await until("taken", async () => (await Promise.allSettled([publish()]))[0].status === "fulfilled")
      },
    )

    test("a topic that does not exist is unavailable at once, logged once, and works once it exists", async () => {
      await using broker = openTestBroker(kafka)
      const topic = freshTopic("missing")
      const publish = (): Promise<unknown> => broker.publish({ topic, value: value("v") }, soon())
      // and not by the deadline
      await expect(publish()).rejects.toMatchObject({
        code: "unavailable",
        message: expect.stringContaining(topic),
      })
      const again = await Promise.allSettled(Array.from({ length: 100 }, publish))
      for (const one of again) expect(one).toMatchObject({ reason: { code: "unavailable" } })
      expect(broker.log.filter(({ level }) => level === "error")).toHaveLength(1)
      await createTopic(kafka, topic)
      await until("taken", async () => (await Promise.allSettled([publish()]))[0].status === "fulfilled")
      expect(broker.log.filter(({ msg }) => msg.startsWith("topic available"))).toHaveLength(1)
      expect(await readWithKcat(kafka, topic)).toHaveLength(1)
    })

    test("compressed, a record is too large when its compressed batch is", async () => {
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
      expect(outcomes.map(({ status }) => status)).toEqual([
        "fulfilled",
        "fulfilled",
        "rejected",
        "fulfilled",
      ])
      expect(outcomes[2]).toMatchObject({ reason: { code: "record_too_large" } })
      expect((await readWithKcat(kafka, topic)).map((record) => record.value.length)).toEqual([500_000, 1, 1])
    })

    test("partitions that are added are used, by keys as well", async () => {
      await using broker = openTestBroker(kafka)
      const topic = freshTopic()
      await createTopic(kafka, topic)
      const publish = async (key: Buffer | undefined): Promise<number> =>
        (await broker.publish({ topic, key, value: value("v") }, soon())).partition
      expect(await publish(undefined)).toBe(0)
      await administer(kafka, (admin) => admin.createPartitions({ topics: [{ name: topic, count: 8 }] }))
      await until("a new one is used", async () => (await publish(undefined)) > 0)
      const keys = Array.from({ length: 50 }, (_, at) => value(`k${at}`))
      expect(await Promise.all(keys.map(publish))).toEqual(keys.map((key) => partitionOf(key, 8)))
    })

    test("a name that no topic can have is refused", async () => {
      await using broker = openTestBroker(kafka)
      const refused = broker.publish({ topic: "not a topic!", value: value("v") }, soon())
      await expect(refused).rejects.toMatchObject({ code: "refused" })
    })
  },
)
