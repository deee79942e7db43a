import { describe, expect, test } from "bun:test"
import { steadyMs } from "../../src/clock/clock.ts"
import { PATIENT_MS } from "../support/hang.ts"
import { hasKcat, readWithKcat } from "../support/kcat.ts"
import { openTestBroker, until } from "../support/kafka-options.ts"
import { createTopic, deleteTopic, freshTopic, kafkaForTests, topicNames } from "../support/kafka.ts"

const kafka = await kafkaForTests()
const soon = (): number => steadyMs() + PATIENT_MS
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
})
