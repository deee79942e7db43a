import { afterEach, beforeEach, describe, expect, setSystemTime, test } from "bun:test"
import { pino } from "pino"
import type { Receipt } from "../../pipeline/record.ts"
import { steadyMs } from "../../clock/clock.ts"
import { readTopic } from "../read-topic.ts"
import type { Broker, StoredRecord } from "../broker.ts"
import { openEmbeddedReader } from "./reader.ts"
import { openEmbedded, type EmbeddedOptions } from "./broker.ts"
import { temporaryFolder } from "../../../test/support/hookline.ts"
import { HANG_MS } from "../../../test/support/hang.ts"

const folder = temporaryFolder()
let batches: number[]
let opened: Broker[]
beforeEach(() => {
  batches = []
  opened = []
})
afterEach(async () => {
  setSystemTime()
  await Promise.all(opened.map((broker) => broker.close()))
  folder[Symbol.dispose]()
})

function open(options: Partial<EmbeddedOptions> = {}): Broker {
  const metrics = { batch: (records: number) => void batches.push(records) }
  const broker = openEmbedded(
    { directory: folder.path, ...options },
    { log: pino({ level: "silent" }), metrics, roundMs: 20 },
  )
  opened.push(broker)
  return broker
}

const publish = (broker: Broker, text: string, topic = "t"): Promise<Receipt> =>
  broker.publish({ topic, value: Buffer.from(text) }, steadyMs() + HANG_MS)

async function readAll(
  topic = "t",
  from: "beginning" | "end" | number = "beginning",
): Promise<StoredRecord[]> {
  const reader = openEmbeddedReader(folder.path)
  const { signal } = new AbortController()
  const records = await Array.fromAsync(readTopic(reader, topic, { from, follow: false, signal }))
  await reader.close()
  return records
}

async function topicNames(): Promise<string[]> {
  const reader = openEmbeddedReader(folder.path)
  const topics = await reader.topics()
  await reader.close()
  return topics.map(({ topic }) => topic)
}

/** The log says nothing when it has made a topic, or retention has run: it is seen by looking. */
async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await Bun.sleep(5)
}

const texts = (records: readonly StoredRecord[]): string[] =>
  records.map(({ value }) => Buffer.from(value).toString())

test("an event does not wait until all of many new topics are made", async () => {
  const broker = open()
  await publish(broker, "before")
  const names = Array.from({ length: 300 }, (_, at) => `new-${at}`)
  broker.prepare(names)
  await publish(broker, "meanwhile")
  expect((await topicNames()).length).toBeLessThan(names.length)
  await until(async () => (await topicNames()).length === names.length + 1)
})

test("what is published at once is one batch, in the order of the calls, each topic counting from 0", async () => {
  const broker = open()
  const receipts = await Promise.all([
    publish(broker, "a"),
    publish(broker, "b", "other"),
    publish(broker, "c"),
    publish(broker, "d", "other"),
  ])
  expect(receipts.map(({ offset }) => offset)).toEqual([0, 0, 1, 1])
  expect(batches).toEqual([4])
  expect(texts(await readAll())).toEqual(["a", "c"])
  expect(texts(await readAll("other"))).toEqual(["b", "d"])
})

test("key, value, headers and timestamp are read back as they were", async () => {
  setSystemTime(1_795_000_000_123)
  const broker = open()
  const headers = [
    ["reason", Buffer.from("not JSON")],
    ["reason", new Uint8Array()],
  ] as const
  const value = crypto.getRandomValues(new Uint8Array(60_000))
  await broker.publish(
    { topic: "t", key: new Uint8Array([0, 255]), value, headers },
    Number.POSITIVE_INFINITY,
  )
  await broker.publish(
    { topic: "t", key: new Uint8Array(), value: new Uint8Array() },
    Number.POSITIVE_INFINITY,
  )
  const [first, second] = await readAll()
  expect(first).toEqual({
    topic: "t",
    partition: 0,
    offset: 0,
    timestampMs: 1_795_000_000_123,
    key: new Uint8Array([0, 255]),
    value,
    headers: headers.map(([name, bytes]) => [name, new Uint8Array(bytes)] as const),
  })
  expect(second).toMatchObject({ key: new Uint8Array(), value: new Uint8Array(), headers: [] })
})

test("a prepared topic exists before anything is published to it", async () => {
  open().prepare(["early", "early"])
  await until(async () => (await topicNames()).includes("early"))
  expect(await readAll("early")).toEqual([])
})

test("what was accepted before close is published, what comes after is refused as closing", async () => {
  const broker = open()
  const accepted = publish(broker, "in time")
  const closed = broker.close()
  await expect(publish(broker, "too late")).rejects.toMatchObject({ code: "closing" })
  expect(await accepted).toEqual({ partition: 0, offset: 0 })
  await closed
  expect(broker.ready()).toBe("the log is closing")
  expect(texts(await readAll())).toEqual(["in time"])
})

test("more than a batch holds is published in several, all of it before close ends", async () => {
  const broker = open()
  const value = Buffer.alloc(3 * 1024 * 1024)
  const published = Array.from({ length: 7 }, () =>
    broker.publish({ topic: "t", value }, steadyMs() + HANG_MS),
  )
  await broker.close()
  expect((await Promise.all(published)).map(({ offset }) => offset)).toEqual([0, 1, 2, 3, 4, 5, 6])
  expect(batches).toEqual([3, 3, 1])
})

describe("retention", () => {
  test("records older than retention are deleted and offsets continue, also when none was left at a restart", async () => {
    const first = open({ retention: 100 })
    await Promise.all(["a", "b", "c"].map((text) => publish(first, text)))
    await emptied()
    await first.close()
    const second = open({ retention: 60_000 })
    expect(await publish(second, "d")).toEqual({ partition: 0, offset: 3 })
    expect((await readAll()).map(({ offset }) => offset)).toEqual([3])
  })

  async function bytesKept(): Promise<number> {
    const reader = openEmbeddedReader(folder.path)
    const topics = await reader.topics()
    await reader.close()
    return topics.reduce((sum, { bytes }) => sum + bytes!, 0)
  }

  const emptied = (): Promise<void> => until(async () => (await bytesKept()) === 0)
})

test("a second writer in the same process is refused, and let in after close", async () => {
  const broker = open()
  expect(() => open()).toThrow(expect.objectContaining({ code: "log_locked" }))
  await publish(broker, "still working")
  await broker.close()
  await publish(open(), "next")
  expect(texts(await readAll())).toEqual(["still working", "next"])
})
