import { Database } from "bun:sqlite"
import { afterEach, beforeEach, expect, test } from "bun:test"
import { closeSync, existsSync, openSync, readdirSync, readlinkSync, rmSync } from "node:fs"
import { join } from "node:path"
import { pino } from "pino"
import { packBatch } from "../brokers/embedded/batch.ts"
import { LogDatabase } from "../brokers/embedded/log-database.ts"
import { openSpoolDatabase, spoolAt } from "../brokers/spool/spool-database.ts"
import { dedupeFileIn, KeyDatabase } from "../dedupe/key-database.ts"
import { logIn } from "./database-file.ts"
import { DurableWriter } from "./durable-writer.ts"
import type { ThreadAnswer } from "./serve-database.ts"
import { temporaryFolder } from "../../test/support/hookline.ts"

const folder = temporaryFolder()
let lines: { level: number; msg: string }[]
let events: string[]
let opened: DurableWriter<KeyDatabase>[]
beforeEach(() => {
  lines = []
  events = []
  opened = []
})
afterEach(async () => {
  await Promise.all(opened.map((writer) => writer.close()))
  folder[Symbol.dispose]()
})

function open(probed = (): void => {}): DurableWriter<KeyDatabase> {
  const log = pino({}, { write: (line) => void lines.push(JSON.parse(line)) })
  const location = dedupeFileIn(folder.path)
  const probe = (): void => {
    new KeyDatabase(location).close()
    probed()
  }
  const writer = new DurableWriter<KeyDatabase>(location, probe, {
    log,
    failed: () => void events.push("failed"),
    recovered: () => void events.push("recovered"),
  })
  opened.push(writer)
  return writer
}

/** With its file open in the thread, too. */
async function openWhole(): Promise<DurableWriter<KeyDatabase>> {
  const writer = open()
  await find(writer, "")
  return writer
}
const file = (): string => dedupeFileIn(folder.path).file
const write = (writer: DurableWriter<KeyDatabase>, key: string): Promise<ThreadAnswer<void>> =>
  new Promise((resolve) => writer.do("write", [[[key, 1, -1, -1]], []], resolve))
const find = (
  writer: DurableWriter<KeyDatabase>,
  key: string,
): Promise<ThreadAnswer<(number | undefined)[]>> =>
  new Promise((resolve) => writer.do("untilOf", [[key]], resolve))
/** Ends when another process, or so it seems, has released the write lock. */
function holdLock(): () => void {
  const other = new Database(file())
  other.run("BEGIN IMMEDIATE")
  return () => {
    other.run("ROLLBACK")
    other.close()
  }
}
const levels = (level: number): string[] => lines.filter((it) => it.level === level).map(({ msg }) => msg)

test("open: requests are answered in their order, and what they wrote is stored", async () => {
  const writer = open()
  const answered: string[] = []
  const [, found] = await Promise.all([
    write(writer, "a").then(() => answered.push("write")),
    find(writer, "a").then((answer) => {
      answered.push("find")
      return answer
    }),
  ])
  expect(answered).toEqual(["write", "find"])
  expect(found).toEqual({ kind: "done", value: [1], isCommitted: false })
  expect(writer.problem).toBeUndefined()
})

test("open: a request that finds the lock taken is busy, changes nothing, and may be made again", async () => {
  const writer = await openWhole()
  const letGo = holdLock()
  expect(await write(writer, "a")).toEqual({ kind: "busy" })
  expect(await find(writer, "a")).toMatchObject({ kind: "done", value: [undefined] })
  letGo()
  expect(await write(writer, "a")).toMatchObject({ kind: "done", isCommitted: true })
  expect(events).toEqual([])
})

test("open: a lock that is not released is reported while nothing is written, and its release, too", async () => {
  const writer = await openWhole()
  const letGo = holdLock()
  while (levels(50).length === 0) await Bun.sleep(20)
  expect(writer.problem).toBe(`another process holds the write lock of ${file()}`)
  letGo()
  while (levels(30).length === 0) await Bun.sleep(20)
  expect(writer.problem).toBeUndefined()
  expect(levels(50)).toHaveLength(1)
})

test("failed: a failure is logged and reported once, requests fail with it, and the first opening that succeeds ends it", async () => {
  const writer = await openWhole()
  const other = new Database(file())
  other.run("CREATE TABLE other (a)")
  other.close()
  expect(await write(writer, "a")).toMatchObject({ kind: "failed", isDiskFull: false })
  expect(writer.failure?.reason).toContain("was changed by another program")
  expect(await write(writer, "b")).toMatchObject({ kind: "failed", reason: writer.failure!.reason })
  expect([events, levels(50).length]).toEqual([["failed"], 1])
  while (writer.failure !== undefined) await Bun.sleep(20)
  expect(events).toEqual(["failed", "recovered"])
  expect(levels(30)).toEqual([expect.stringContaining("can be written again")])
  expect(await write(writer, "c")).toMatchObject({ kind: "done" })
})

test("failed: a start next to a reader that keeps the WAL is one, which is reported once", async () => {
  const first = open()
  await write(first, "a")
  const reader = new Database(file(), { readonly: true })
  reader.run("BEGIN")
  reader.query("SELECT count(*) FROM marks").get()
  await first.close()

  const second = open()
  expect(second.failure?.reason).toContain("is being read")
  expect(await write(second, "b")).toMatchObject({ kind: "failed" })
  reader.run("COMMIT")
  reader.close()
  while (second.failure !== undefined) await Bun.sleep(20)
  expect(await find(second, "a")).toMatchObject({ value: [1] })
  expect(levels(50)).toHaveLength(1)
  expect(events).toEqual(["recovered"])
})

/** Has the thread end with a fault: no message can carry what it answers. */
const crash = (writer: DurableWriter<KeyDatabase>): Promise<ThreadAnswer<unknown>> =>
  new Promise((resolve) =>
    writer.do("__lookupGetter__" as "untilOf", ["__proto__"] as never, resolve as never),
  )

test("failed: a thread that ended is started again, and opens the file as after a failed fsync: alone", async () => {
  const writer = await openWhole()
  await write(writer, "a")
  const reader = new Database(file(), { readonly: true })
  reader.query("SELECT count(*) FROM marks").get()
  expect(await crash(writer)).toMatchObject({ kind: "failed" })
  expect(writer.failure?.reason).toContain("its thread failed")
  while (!levels(40).some((line) => line.includes("is being read"))) await Bun.sleep(20)
  expect(await write(writer, "b")).toMatchObject({ kind: "failed" })
  reader.close()
  while (writer.failure !== undefined) await Bun.sleep(20)
  expect(await find(writer, "a")).toMatchObject({ value: [1] })
  expect(await write(writer, "b")).toMatchObject({ kind: "done" })
  expect(events).toEqual(["failed", "recovered"])
})

test("closing: what was asked before is answered, and the lock is free when it is closed", async () => {
  const writer = open()
  const answers = Promise.all([write(writer, "a"), write(writer, "b")])
  await writer.close()
  expect(await answers).toMatchObject([{ kind: "done" }, { kind: "done" }])
  expect(existsSync(`${file()}-wal`)).toBe(false)
  expect(await find(open(), "b")).toMatchObject({ value: [1] })
})

test("closing: when its thread ends, what was asked fails, and what is asked upon that", async () => {
  const writer = await openWhole()
  void crash(writer)
  const { promise: answer, resolve } = Promise.withResolvers<ThreadAnswer<unknown>>()
  writer.do("untilOf", [["a"]], () => writer.do("untilOf", [["b"]], resolve))
  await writer.close()
  expect(await answer).toMatchObject({ kind: "failed", pages: "lost" })
})

test("closing: a thread that does not answer is reported, left behind, and keeps the lock until it ends", async () => {
  const journal = `${file()}-journal`
  // SQLite opens it to read it, which waits for one that writes
  const writer = open(() => void Bun.spawnSync(["mkfifo", journal]))
  while (levels(40).length === 0) await Bun.sleep(20)
  expect(writer.problem).toContain("has not answered for")
  await writer.close()
  expect(levels(50)).toEqual([expect.stringContaining("its disk does not answer")])
  expect(() => open()).toThrow(expect.objectContaining({ code: "log_locked" }))

  closeSync(openSync(journal, "r+"))
  rmSync(journal)
  const again = async (): Promise<DurableWriter<KeyDatabase>> => {
    for (;;) {
      try {
        return open()
      } catch {
        await Bun.sleep(20)
      }
    }
  }
  expect(await write(await again(), "a")).toMatchObject({ kind: "done" })
})

test("a file that turns out to be damaged when it is opened is closed again", () => {
  const openFiles = (): number =>
    readdirSync("/proc/self/fd").filter((fd) => {
      const target = `/proc/self/fd/${fd}`
      return existsSync(target) && readlinkSync(target).startsWith(folder.path)
    }).length
  const location = { log: logIn(folder.path), spool: spoolAt(join(folder.path, "spool.sqlite")) }
  for (const [it, open] of [
    [location.log, () => new LogDatabase(location.log)],
    [location.spool, () => openSpoolDatabase(location.spool)],
  ] as const) {
    const made = open()
    made.commit(packBatch([{ record: { topic: "t", value: new Uint8Array(1) } }]), 0)
    made.close()
    const db = new Database(it.file)
    db.run("DROP TABLE records_1")
    db.close()
    for (let times = 0; times < 5; times++) expect(open).toThrow("no such table")
    expect(openFiles()).toBe(0)
  }
})
