import { Database } from "bun:sqlite"
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { pino } from "pino"
import { steadyMs } from "../../clock/clock.ts"
import type { Receipt, Record } from "../../pipeline/record.ts"
import { logIn } from "../../storage/database-file.ts"
import type { LogReader, StoredRecord } from "../broker.ts"
import { partitionOf } from "../murmur2.ts"
import { readTopic } from "../read-topic.ts"
import { openEmbedded, type EmbeddedBroker, type EmbeddedOptions } from "./broker.ts"
import { checkPartitionsIn } from "./partition-count.ts"
import { openEmbeddedReader } from "./reader.ts"
import { temporaryFolder } from "../../../test/support/hookline.ts"
import { HANG_MS } from "../../../test/support/hang.ts"

const folder = temporaryFolder()
let opened: EmbeddedBroker[]
beforeEach(() => {
  opened = []
})
afterEach(async () => {
  await Promise.all(opened.map((broker) => broker.close()))
  folder[Symbol.dispose]()
})

function open(partitions: number, options: Partial<EmbeddedOptions> = {}): EmbeddedBroker {
  const broker = openEmbedded(
    { directory: folder.path, partitions, ...options },
    { log: pino({ level: "silent" }), metrics: { batch() {} }, roundMs: 10 },
  )
  opened.push(broker)
  return broker
}

const publish = (broker: EmbeddedBroker, record: Partial<Record>): Promise<Receipt> =>
  broker.publish({ topic: "t", value: Buffer.from("value"), ...record }, steadyMs() + HANG_MS)

/** Records n0, n1, … with keys k0 to k9 in turn. */
const publishKeyed = (broker: EmbeddedBroker, count: number, from = 0): Promise<Receipt[]> =>
  Promise.all(
    Array.from({ length: count }, (_, at) =>
      publish(broker, { key: Buffer.from(`k${at % 10}`), value: Buffer.from(`n${from + at}`) }),
    ),
  )

async function withReader<T>(use: (reader: LogReader) => Promise<T>): Promise<T> {
  const reader = openEmbeddedReader(folder.path)
  try {
    return await use(reader)
  } finally {
    await reader.close()
  }
}

const readAll = (topic = "t"): Promise<StoredRecord[]> =>
  withReader((reader) =>
    Array.fromAsync(
      readTopic(reader, topic, { from: "beginning", follow: false, signal: new AbortController().signal }),
    ),
  )

const valuesOf = (records: readonly StoredRecord[]): string[] =>
  records.map(({ value }) => Buffer.from(value).toString())

const partitionsOf = async (topic: string): Promise<number | undefined> =>
  (await withReader((reader) => reader.topics())).find((it) => it.topic === topic)?.partitions

test("a key's records are in one partition, as Kafka's producer would choose it, in their order", async () => {
  const broker = open(4)
  const receipts = await publishKeyed(broker, 100)
  const records = await readAll()
  expect(records).toHaveLength(100)
  for (const [n, { partition, offset }] of receipts.entries()) {
    expect(partition).toBe(partitionOf(Buffer.from(`k${n % 10}`), 4))
    const stored = records.find((it) => it.partition === partition && it.offset === offset)!
    expect(Buffer.from(stored.value).toString()).toBe(`n${n}`)
  }
  for (let key = 0; key < 10; key++) {
    const ofKey = records.filter((it) => Buffer.from(it.key!).toString() === `k${key}`)
    expect(valuesOf(ofKey)).toEqual(Array.from({ length: 10 }, (_, at) => `n${at * 10 + key}`))
  }
  const [topic] = await withReader((reader) => reader.topics())
  expect(topic).toMatchObject({ topic: "t", partitions: 4, records: 100 })
})

test("records without a key go to the next partition with each commit, and after 16 KiB", async () => {
  const broker = open(3)
  const single: number[] = []
  for (let n = 0; n < 6; n++) single.push((await publish(broker, {})).partition)
  expect(single.toSorted()).toEqual([0, 0, 1, 1, 2, 2])
  const value = Buffer.alloc(9000)
  const together = await Promise.all(Array.from({ length: 12 }, () => publish(broker, { value })))
  const counts = [0, 1, 2].map((one) => together.filter(({ partition }) => partition === one).length)
  expect(counts).toEqual([4, 4, 4])
})

test("a replayed record goes where it was, in a topic of as many partitions", async () => {
  const broker = open(3)
  for (const number of [2, 0, 1]) {
    const receipt = await publish(broker, { sourcePartition: { number, of: 3 } })
    expect(receipt.partition).toBe(number)
  }
})

test("readers see every partition: by time up to the end, and as records come", async () => {
  const broker = open(3)
  for (let n = 0; n < 30; n++)
    await publish(broker, { value: Buffer.from(`n${n}`), timestampMs: 1_700_000_000_000 + n })
  expect(valuesOf(await readAll())).toEqual(Array.from({ length: 30 }, (_, n) => `n${n}`))
  await withReader(async (reader) => {
    const ranges = await reader.ranges("t", { sinceMs: 1_700_000_000_020 })
    expect(ranges.map(({ partition }) => partition)).toEqual([0, 1, 2])
    expect(ranges.reduce((sum, { first, end }) => sum + end - first, 0)).toBe(10)
    const stop = new AbortController()
    const following = readTopic(reader, "t", { from: "end", follow: true, signal: stop.signal })
    const next = following.next()
    const receipts = await Promise.all([publishKeyed(broker, 10), next])
    const got = [receipts[1].value as StoredRecord]
    while (got.length < 10) got.push((await following.next()).value as StoredRecord)
    stop.abort()
    expect(valuesOf(got).toSorted()).toEqual(Array.from({ length: 10 }, (_, n) => `n${n}`))
    expect(new Set(got.map(({ partition }) => partition)).size).toBeGreaterThan(1)
  })
})

describe("growing", () => {
  test("adds partitions to all topics, and moves no record", async () => {
    const broker = open(1)
    await publishKeyed(broker, 20)
    await publish(broker, { topic: "idle" })
    const before = await readAll()
    broker.partition(3)
    await publish(broker, { key: Buffer.from("k1") })
    expect(await partitionsOf("t")).toBe(3)
    while ((await partitionsOf("idle")) !== 3) await Bun.sleep(5)
    expect((await readAll()).slice(0, 20)).toEqual(before)
    await broker.close()
    const again = open(3)
    const receipts = await publishKeyed(again, 10)
    expect(receipts.map(({ partition }) => partition)).toEqual(
      receipts.map((_, n) => partitionOf(Buffer.from(`k${n}`), 3)),
    )
    expect(await readAll()).toHaveLength(31)
  })

  test("at a start reaches more topics than one transaction takes", async () => {
    const broker = open(1)
    for (let n = 0; n < 40; n++) await publish(broker, { topic: `t${n}` })
    await broker.close()
    open(2)
    const isGrown = async (): Promise<boolean> =>
      (await withReader((reader) => reader.topics())).every(({ partitions }) => partitions === 2)
    while (!(await isGrown())) await Bun.sleep(5)
  })
})

describe("a log of an earlier version", () => {
  const earlier = async (): Promise<StoredRecord[]> => {
    const broker = open(1)
    await publishKeyed(broker, 20)
    await broker.close()
    using db = new Database(logIn(folder.path).file)
    for (const table of ["partitions", "bounds"]) db.run(`DROP TABLE ${table}`)
    for (const column of ["crc", "clock"]) db.run(`ALTER TABLE records_1 DROP COLUMN ${column}`)
    db.run("PRAGMA user_version = 1")
    return readAll()
  }
  const layout = (): number => {
    const db = new Database(logIn(folder.path).file, { readonly: true })
    const { user_version: version } = db.query<{ user_version: number }, []>("PRAGMA user_version").get()!
    db.close()
    return version
  }

  test("is read as it is", async () => {
    expect(await earlier()).toHaveLength(20)
    expect(await partitionsOf("t")).toBe(1)
    checkPartitionsIn(logIn(folder.path), 1)
  })

  test("continues, and gets checksums and a clock, with which versions before refuse to open it", async () => {
    const records = await earlier()
    expect(layout()).toBe(1)
    const broker = open(1)
    expect((await readAll()).slice(0, 20)).toEqual(records)
    await publish(broker, {})
    await broker.close()
    expect(layout()).toBe(4)
    const grown = open(2)
    await publish(grown, {})
    await grown.close()
    expect((await readAll()).slice(0, 20)).toEqual(records)
    using db = new Database(logIn(folder.path).file, { readonly: true })
    const unchecked = "SELECT count(*) AS records FROM records_1 WHERE crc IS NULL AND clock IS NULL"
    expect(db.query(unchecked).get()).toEqual({ records: 20 })
  })
})

test("retention deletes the oldest records of each partition", async () => {
  const broker = open(2)
  for (let n = 0; n < 200; n++) await publish(broker, { value: Buffer.alloc(100), timestampMs: 1000 + n })
  broker.retain({ retention_bytes: 5000 })
  const bytes = async (): Promise<number> => (await withReader((reader) => reader.topics()))[0]!.bytes!
  while ((await bytes()) > 5000) await Bun.sleep(5)
  const ranges = await withReader((reader) => reader.ranges("t"))
  const receipts = [await publish(broker, {}), await publish(broker, {})]
  // offsets continue
  for (const { partition, offset } of receipts) expect(offset).toBe(ranges[partition]!.end)
  expect(ranges.map(({ end }) => end)).toEqual([100, 100])
  await broker.close()
  const again = open(2)
  const { partition, offset } = await publish(again, {})
  expect(offset).toBe(101)
  expect(partition).toBe(0)
})
