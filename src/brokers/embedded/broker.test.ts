import { Database } from "bun:sqlite"
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as fc from "fast-check"
import { pino } from "pino"
import { PublishError } from "../../errors.ts"
import type { Receipt } from "../../pipeline/record.ts"
import { steadyMs } from "../../clock/clock.ts"
import { readTopic } from "../read-topic.ts"
import type { Broker, StoredRecord } from "../broker.ts"
import { openEmbeddedReader } from "./reader.ts"
import { openEmbedded, type EmbeddedOptions } from "./broker.ts"

let directory: string
let batches: number[]
let opened: Broker[]
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "hookline-embedded-"))
  batches = []
  opened = []
})
afterEach(async () => {
  await Promise.all(opened.map((broker) => broker.close()))
  rmSync(directory, { recursive: true })
})

function open(options: Partial<EmbeddedOptions> = {}, now: () => number = Date.now): Broker {
  const metrics = { batch: (records: number) => void batches.push(records) }
  const broker = openEmbedded(
    { directory, ...options },
    { log: pino({ level: "silent" }), metrics, now, roundMs: 20 },
  )
  opened.push(broker)
  return broker
}

const publish = (broker: Broker, text: string, topic = "t"): Promise<Receipt> =>
  broker.publish({ topic, value: Buffer.from(text) }, steadyMs() + 5000)

async function readAll(
  topic = "t",
  from: "beginning" | "end" | number = "beginning",
): Promise<StoredRecord[]> {
  const reader = openEmbeddedReader(directory)
  const { signal } = new AbortController()
  const records = await Array.fromAsync(readTopic(reader, topic, { from, follow: false, signal }))
  await reader.close()
  return records
}

async function topicNames(): Promise<string[]> {
  const reader = openEmbeddedReader(directory)
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
  const broker = open({}, () => 1_795_000_000_123)
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
  const published = Array.from({ length: 7 }, () => broker.publish({ topic: "t", value }, steadyMs() + 5000))
  await broker.close()
  expect((await Promise.all(published)).map(({ offset }) => offset)).toEqual([0, 1, 2, 3, 4, 5, 6])
  expect(batches).toEqual([3, 3, 1])
})

describe("while another process holds the file", () => {
  test("a record is refused at its deadline and never published; one with more time is published", async () => {
    const broker = open()
    await publish(broker, "first")
    const other = new Database(join(directory, "log.sqlite"))
    other.run("BEGIN IMMEDIATE")
    const startedAt = steadyMs()
    const patient = publish(broker, "patient")
    const hasty = broker.publish({ topic: "t", value: Buffer.from("hasty") }, startedAt + 60)
    await expect(hasty).rejects.toMatchObject({ code: "deadline" })
    expect(steadyMs() - startedAt).toBeWithin(60, 160)
    other.run("ROLLBACK")
    other.close()
    expect(await patient).toEqual({ partition: 0, offset: 1 })
    expect(texts(await readAll())).toEqual(["first", "patient"])
  })

  test("close waits for it as long as deadlines allow", async () => {
    const broker = open()
    const other = new Database(join(directory, "log.sqlite"))
    other.run("BEGIN IMMEDIATE")
    const refused = broker.publish({ topic: "t", value: Buffer.from("x") }, steadyMs() + 40)
    const closed = broker.close()
    await expect(refused).rejects.toMatchObject({ code: "deadline" })
    await closed
    other.close()
  })
})

test("a record past its deadline when its turn comes is not published", async () => {
  const broker = open()
  const late = broker.publish({ topic: "t", value: Buffer.from("late") }, steadyMs())
  const inTime = publish(broker, "in time")
  await expect(late).rejects.toBeInstanceOf(PublishError)
  await inTime
  expect(texts(await readAll())).toEqual(["in time"])
})

describe("retention", () => {
  test("records older than retention are deleted and offsets continue, also when none was left at a restart", async () => {
    let now = 1_000_000
    const first = open({ retention: 100 }, () => now)
    await Promise.all(["a", "b", "c"].map((text) => publish(first, text)))
    now += 101
    await emptied()
    await first.close()
    const second = open({ retention: 100 }, () => now)
    expect(await publish(second, "d")).toEqual({ partition: 0, offset: 3 })
    expect((await readAll()).map(({ offset }) => offset)).toEqual([3])
  })

  test("the oldest records of all topics go until keys and values fit into retention_bytes", async () => {
    let now = 1
    const broker = open({}, () => now)
    await Promise.all(Array.from({ length: 600 }, () => publish(broker, "0123456789", "older")))
    now = 2
    await Promise.all(Array.from({ length: 600 }, () => publish(broker, "0123456789", "newer")))
    await broker.close()
    const limited = open({ retention_bytes: 5900 })
    await until(async () => (await bytesKept()) <= 5900)
    await limited.close()
    expect(await readAll("older")).toEqual([])
    expect((await readAll("newer")).map(({ offset }) => offset)).toEqual(
      Array.from({ length: 590 }, (_, at) => at + 10),
    )
  })

  test("space that retention frees is used again", async () => {
    const broker = open({ retention_bytes: 1 })
    const size = (): number => Bun.file(join(directory, "log.sqlite")).size
    const fill = async (): Promise<void> => {
      await Promise.all(Array.from({ length: 400 }, () => publish(broker, "x".repeat(20_000))))
      await emptied()
    }
    await fill()
    await fill()
    const grown = size()
    await fill()
    await fill()
    expect(size()).toBeLessThan(grown * 1.2)
  })

  async function bytesKept(): Promise<number> {
    const reader = openEmbeddedReader(directory)
    const topics = await reader.topics()
    await reader.close()
    return topics.reduce((sum, { bytes }) => sum + bytes!, 0)
  }

  const emptied = (): Promise<void> => until(async () => (await bytesKept()) === 0)
})

describe("a file that can't be the log is refused with what is wrong", () => {
  const file = (): string => join(directory, "log.sqlite")
  const cases: [string, () => void, string][] = [
    [
      "bytes that are no database",
      () => writeFileSync(file(), "x".repeat(5000)),
      "is not a Hookline log; name another",
    ],
    [
      "another program's database",
      () => foreign("CREATE TABLE users (id)"),
      "is not a Hookline log; name another",
    ],
    [
      "a later layout",
      () => foreign(`PRAGMA application_id = ${0x484b4c4e}; PRAGMA user_version = 9`),
      "layout 9",
    ],
    ["a directory in its place", () => mkdirSync(file()), "is not a file; name another"],
  ]
  const foreign = (sql: string): void => {
    const db = new Database(file())
    db.run(sql)
    db.close()
  }
  test.each(cases)("%s", (_, make, message) => {
    make()
    expect(() => open()).toThrow(
      expect.objectContaining({ code: "log_io", message: expect.stringContaining(message) }),
    )
    rmSync(file(), { recursive: true })
    open()
  })

  test("a directory that can't be made", () => {
    writeFileSync(join(directory, "file"), "")
    expect(() => open({ directory: join(directory, "file", "log") })).toThrow(
      expect.objectContaining({
        code: "log_io",
        message: expect.stringContaining("directory can't be made"),
      }),
    )
  })
})

test("a second writer in the same process is refused, and let in after close", async () => {
  const broker = open()
  expect(() => open()).toThrow(expect.objectContaining({ code: "log_locked" }))
  await publish(broker, "still working")
  await broker.close()
  await publish(open(), "next")
  expect(texts(await readAll())).toEqual(["still working", "next"])
})

test("whatever order batches, restarts and topics come in, each topic has its records once and in order", async () => {
  const topic = fc.constantFrom("a", "b", "c")
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ publish: fc.array(topic, { minLength: 1, maxLength: 12 }) }) },
    { weight: 1, arbitrary: fc.constant("close while publishing" as const) },
    { weight: 1, arbitrary: fc.constant("reopen" as const) },
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 15 }), async (steps) => {
      rmSync(directory, { recursive: true })
      const expected = new Map<string, string[]>()
      let count = 0
      let broker = open()
      const accept = (name: string): Promise<void> => {
        const kept = expected.get(name) ?? []
        expected.set(name, kept)
        const offset = kept.push(String(count++)) - 1
        return publish(broker, kept[offset]!, name).then((receipt) => expect(receipt.offset).toBe(offset))
      }
      for (const action of steps) {
        if (typeof action === "object") {
          await Promise.all(action.publish.map(accept))
        } else {
          const accepted = action === "reopen" ? [] : ["a", "b"].map(accept)
          await broker.close()
          await Promise.all(accepted)
          broker = open()
        }
        for (const [name, kept] of expected) expect(texts(await readAll(name))).toEqual(kept)
      }
      await broker.close()
    }),
    { numRuns: 20 },
  )
}, 60_000)
