import { afterAll, beforeAll, expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { pino } from "pino"
import { readTopic, type ReadFrom } from "../read-topic.ts"
import type { Broker, LogReader, OffsetRange, StoredRecord } from "../broker.ts"
import { openEmbeddedReader } from "./reader.ts"
import { openEmbedded } from "./broker.ts"
import { steadyMs } from "../../clock/clock.ts"
import { folderOfTests, temporaryFolder } from "../../../test/support/hookline.ts"
import { HANG_MS } from "../../../test/support/hang.ts"

const folder = folderOfTests()
let broker: Broker
let reader: LogReader
beforeAll(async () => {
  broker = open(folder.path)
  await publish("t", 200)
  reader = openEmbeddedReader(folder.path)
})
afterAll(async () => {
  await reader.close()
  await broker.close()
})

function open(directory: string, retention_bytes = Number.POSITIVE_INFINITY): Broker {
  return openEmbedded(
    { directory, retention_bytes },
    { log: pino({ level: "silent" }), metrics: { batch() {} } },
  )
}

async function publish(topic: string, count: number, to = broker): Promise<void> {
  const value = Buffer.from("0123456789")
  await Promise.all(Array.from({ length: count }, () => to.publish({ topic, value }, steadyMs() + HANG_MS)))
}

function read(topic: string, from: ReadFrom, follow = false): AsyncIterator<StoredRecord> & { stop(): void } {
  const stop = new AbortController()
  const records = readTopic(reader, topic, { from, follow, signal: stop.signal })[Symbol.asyncIterator]()
  return Object.assign(records, { stop: () => stop.abort() })
}

test("reading ends at the end as it was when it began", async () => {
  await publish("moving", 1)
  const records = read("moving", "beginning")
  expect((await records.next()).value).toMatchObject({ offset: 0 })
  await publish("moving", 1)
  expect(await records.next()).toEqual({ value: undefined, done: true })
})

test("a reader that stands still holds up no publisher, and continues where it stood", async () => {
  await publish("still", 100)
  const records = read("still", "beginning")
  await records.next()
  await publish("still", 100)
  expect((await records.next()).value).toMatchObject({ offset: 1 })
})

test("records that retention deletes while they are read are skipped, and named as missed", async () => {
  using own = temporaryFolder()
  let broker = open(own.path)
  await publish("trimmed", 200, broker)
  const reader = openEmbeddedReader(own.path)
  const stop = new AbortController()
  const missed: OffsetRange[] = []
  const ranges = [{ partition: 0, first: 0, end: Number.POSITIVE_INFINITY }]
  const options = {
    retries: false,
    signal: stop.signal,
    missed: (range: OffsetRange) => void missed.push(range),
  }
  const records = reader.read("trimmed", ranges, options)[Symbol.asyncIterator]()
  expect((await records.next()).value).toMatchObject({ offset: 0 })
  await broker.close()
  broker = open(own.path, 50)
  while ((await reader.topics()).reduce((sum, { bytes }) => sum + bytes!, 0) > 50) await Bun.sleep(5)
  await publish("trimmed", 1, broker)
  const seen: number[] = []
  while (seen.at(-1) !== 200) seen.push((await records.next()).value!.offset)
  expect(seen).toEqual(seen.toSorted((a, b) => a - b))
  expect(seen.length).toBeLessThan(200)
  // all offsets are either read or missed, once
  const gone = missed.flatMap(({ first, end }) => Array.from({ length: end - first }, (_, i) => first + i))
  expect([...seen, ...gone].toSorted((a, b) => a - b)).toEqual(Array.from({ length: 200 }, (_, i) => i + 1))
  stop.abort()
  await reader.close()
  await broker.close()
})

test("what a log has no more of a range is named as missed", async () => {
  const { signal } = new AbortController()
  const missed: OffsetRange[] = []
  const ranges = [{ partition: 0, first: 198, end: 300 }]
  const records = await Array.fromAsync(
    reader.read("t", ranges, { retries: false, signal, missed: (range) => void missed.push(range) }),
  )
  expect(records.map(({ offset }) => offset)).toEqual([198, 199])
  expect(missed).toEqual([{ partition: 0, first: 200, end: 300 }])
})

test("topics() lists names, records and bytes", async () => {
  await publish("counted", 7)
  expect(await reader.topics()).toContainEqual({ topic: "counted", partitions: 1, records: 7, bytes: 70 })
})

test("ranges of a time begin and end at the first record of it or later", async () => {
  const first = 1000
  for (let n = 0; n < 100; n++)
    await broker.publish(
      { topic: "timed", value: Buffer.from("v"), timestampMs: first + 10 * n },
      steadyMs() + HANG_MS,
    )
  const range = async (sinceMs?: number, untilMs?: number): Promise<[number, number]> => {
    const [range] = await reader.ranges("timed", { sinceMs, untilMs })
    return [range!.first, range!.end]
  }
  expect(await range()).toEqual([0, 100])
  for (let n = 0; n < 100; n++) expect(await range(first + 10 * n)).toEqual([n, 100])
  for (let n = 0; n < 100; n++) expect(await range(undefined, first + 10 * n - 9)).toEqual([0, n])
  expect(await range(0, 5000)).toEqual([0, 100])
  expect(await range(5000, 5000)).toEqual([100, 100])
  expect(await range(1500, 1200)).toEqual([50, 50])
})

test.each([false, true])(
  "an unknown topic is an error that names the nearest, follow: %p",
  async (follow) => {
    await publish("webhooks", 1)
    await expect(read("webhoks", "beginning", follow).next()).rejects.toMatchObject({
      code: "no_topic",
      message: "The log has no topic webhoks; did you mean webhooks?",
    })
  },
)

test("a directory without a log, and a file that is none, are errors that say so", () => {
  using elsewhere = temporaryFolder()
  expect(() => openEmbeddedReader(elsewhere.path)).toThrow(
    expect.objectContaining({ code: "no_log", message: expect.stringContaining("There is no log in") }),
  )
  writeFileSync(join(elsewhere.path, "log.sqlite"), "x".repeat(5000))
  expect(() => openEmbeddedReader(elsewhere.path)).toThrow(
    expect.objectContaining({ code: "no_input", message: expect.stringContaining("is not a Hookline log") }),
  )
})
