import { Database } from "bun:sqlite"
import { afterEach, beforeEach, expect, test } from "bun:test"
import { copyFileSync, existsSync } from "node:fs"
import { join } from "node:path"
import { pino } from "pino"
import { SqliteKeys } from "../dedupe/sqlite-keys.ts"
import { dedupeFileIn } from "../dedupe/key-database.ts"
import { steadyMs } from "../clock/clock.ts"
import { logIn, type DatabaseLocation } from "./database-file.ts"
import { openEmbedded } from "../brokers/embedded/broker.ts"
import { openEmbeddedReader } from "../brokers/embedded/reader.ts"
import { spoolAt } from "../brokers/spool/spool-database.ts"
import { SpooledBroker } from "../brokers/spool/spool.ts"
import { temporaryFolder } from "../../test/support/hookline.ts"
import { HANG_MS } from "../../test/support/hang.ts"

const folder = temporaryFolder()
let lines: { level: number; msg: string }[]
beforeEach(() => {
  lines = []
})
afterEach(() => folder[Symbol.dispose]())

/** What is opened durably, as its users see it. */
interface Durable {
  /** Rejects when it is not taken. */
  put(key: string): Promise<unknown>
  ready(): true | string
  close(): Promise<void>
}

const log = pino({}, { write: (line) => void lines.push(JSON.parse(line) as { level: number; msg: string }) })
const soon = (): number => steadyMs() + HANG_MS
const kinds: [string, () => DatabaseLocation, () => Durable][] = [
  [
    "the embedded log",
    () => logIn(folder.path),
    () => {
      const broker = openEmbedded({ directory: folder.path }, { log, metrics: { batch() {} } })
      return {
        put: (key) => broker.publish({ topic: "t", value: Buffer.from(key) }, soon()),
        ready: () => broker.ready(),
        close: () => broker.close(),
      }
    },
  ],
  [
    "a spool",
    () => spoolAt(join(folder.path, "spool.sqlite")),
    () => {
      const metrics = { spooled() {}, forwarded() {}, quarantined() {} }
      const spool = new SpooledBroker(
        { file: join(folder.path, "spool.sqlite"), maxBytes: 1e6 },
        { log, metrics },
      )
      return {
        put: (key) => spool.publish({ topic: "t", value: Buffer.from(key) }, soon()),
        ready: () => spool.spool().problem ?? true,
        close: () => spool.close(),
      }
    },
  ],
  [
    "a Deduplicator's store",
    () => dedupeFileIn(folder.path),
    () => {
      const store = new SqliteKeys(folder.path, { log })
      return {
        async put(key) {
          await store.claim(key, soon())
          if (!(await store.add(key, 60_000, soon()))) throw new Error("it is not durable")
        },
        ready: () => store.ready(),
        close: () => store.close(),
      }
    },
  ],
]

test.each(kinds)(
  "%s takes nothing while a reader keeps its WAL at the start, and says so",
  async (_, place, open) => {
    const first = open()
    await first.put("before")
    const reader = new Database(place().file, { readonly: true })
    reader.run("BEGIN")
    reader.query("SELECT count(*) FROM sqlite_schema").get()
    await first.close()

    const second = open()
    while (second.ready() === true) await Bun.sleep(1)
    expect(second.ready()).toContain("is being read")
    await expect(second.put("meanwhile")).rejects.toThrow("is being read")
    expect(lines.filter(({ msg }) => msg.includes("is being read"))).toHaveLength(1)

    reader.run("COMMIT")
    while (second.ready() !== true) await Bun.sleep(5)
    while (!(await taken(second, "after"))) await Bun.sleep(5)
    expect(lines.some(({ msg }) => /can be (written|used) again/.test(msg))).toBe(true)
    reader.close()
    await second.close()
    expect(existsSync(`${place().file}-wal`)).toBe(false)
  },
)

test("a reader that closes last leaves the WAL to the writer", async () => {
  const broker = openEmbedded({ directory: folder.path }, { log, metrics: { batch() {} } })
  await broker.publish({ topic: "t", value: Buffer.from("a") }, soon())
  const reader = openEmbeddedReader(folder.path)
  expect(await reader.topics()).toHaveLength(1)
  const snapshot = new Database(logIn(folder.path).file, { readonly: true })
  snapshot.run("BEGIN")
  snapshot.query("SELECT count(*) FROM sqlite_schema").get()
  await broker.close()
  snapshot.close()
  const { size } = Bun.file(`${logIn(folder.path).file}-wal`)
  await reader.close()
  expect([size > 0, Bun.file(`${logIn(folder.path).file}-wal`).size]).toEqual([true, size])
})

test("a log that is closed beside an open reader is whole in its file alone", async () => {
  const broker = openEmbedded({ directory: folder.path }, { log, metrics: { batch() {} } })
  await broker.publish({ topic: "t", value: Buffer.from("a") }, soon())
  const reader = openEmbeddedReader(folder.path)
  expect(await reader.topics()).toHaveLength(1)
  await broker.close()
  using copied = temporaryFolder()
  copyFileSync(logIn(folder.path).file, logIn(copied.path).file)
  await reader.close()
  const copy = openEmbeddedReader(copied.path)
  expect(await copy.topics()).toMatchObject([{ topic: "t", records: 1 }])
  await copy.close()
})

const taken = (durable: Durable, key: string): Promise<boolean> =>
  durable.put(key).then(
    () => true,
    () => false,
  )
