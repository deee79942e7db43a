import { Database } from "bun:sqlite"
import { afterEach, beforeEach, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pino } from "pino"
import { openEmbedded, type EmbeddedBroker } from "../brokers/embedded/broker.ts"
import { LogWriter } from "../brokers/embedded/writer.ts"
import { steadyMs } from "../clock.ts"
import { DedupeKeys } from "../dedupe/dedupe-keys.ts"
import type { KeyStore } from "../dedupe/key-store.ts"
import { SqliteKeys } from "../dedupe/sqlite-keys.ts"
import type { DedupeKey } from "../pipeline/record.ts"
import { logIn } from "./database-file.ts"

let folder: string
let opened: { close(): Promise<void> }[]
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "hookline-journal-"))
  opened = []
})
afterEach(async () => {
  for (const one of opened) await one.close()
  rmSync(folder, { recursive: true })
})

const log = pino({ level: "silent" })
const soon = (): number => steadyMs() + 5000
const untilMs = Date.now() + 3_600_000
function openLog(): EmbeddedBroker {
  const broker = openEmbedded({ directory: folder }, { log, metrics: { batch() {} } })
  opened.push(broker)
  return broker
}
function openKeys(): KeyStore {
  const store = new SqliteKeys(folder, { log })
  opened.push(store)
  return store
}
const publish = (broker: EmbeddedBroker, dedupeKey?: DedupeKey, deadlineMs = soon()): Promise<unknown> =>
  broker.publish({ topic: "t", value: Buffer.from("x"), dedupeKey }, deadlineMs)
/** As of a process that is killed when the log has the record: the store hears nothing of it. */
const unheard = (key: string): DedupeKey => ({ directory: folder, key, untilMs, committed: () => {} })
function inJournal(): string[] {
  const db = new Database(join(folder, "log.sqlite"), { readonly: true })
  const rows = db.query<{ key: string }, []>("SELECT key FROM dedupe_keys ORDER BY id").all()
  db.close()
  return rows.map(({ key }) => key)
}

test("a key is durable with its record, and known to the store at once, which writes nothing for the answer", async () => {
  const store = openKeys()
  const broker = openLog()
  // it has its file open then
  await store.claim("", soon())
  const other = new Database(join(folder, "marks.sqlite"))
  other.run("BEGIN IMMEDIATE")
  await publish(broker, store.withRecord!("a", untilMs))
  expect(inJournal()).toEqual(["a"])
  expect(store.claim("a", soon())).toBe("duplicate")
  expect(store.add("a", untilMs, soon())).toBe(true)
  other.run("ROLLBACK")
  other.close()
})

test("what a killed process left in the log alone is known when the store is opened", async () => {
  const broker = openLog()
  const keys = Array.from({ length: 10_001 }, (_, n) => `left ${n}`)
  await Promise.all(keys.map((key) => publish(broker, unheard(key))))
  const store = openKeys()
  const claims = await Promise.all(keys.map((key) => store.claim(key, soon())))
  expect(new Set(claims)).toEqual(new Set(["duplicate"]))
  expect(await store.claim("other", soon())).toBe("first")
})

test("keys leave the log when they are in the store's file, what a killed process left among them", async () => {
  const before = openLog()
  await publish(before, unheard("left"))
  await before.close()
  const store = openKeys()
  const broker = openLog()
  await publish(broker, store.withRecord!("a", untilMs))
  while (inJournal().length > 0) {
    await Bun.sleep(20)
    await publish(broker)
  }
  await store.close()
  await broker.close()
  const again = openKeys()
  expect([await again.claim("a", soon()), await again.claim("left", soon())]).toEqual([
    "duplicate",
    "duplicate",
  ])
})

test("a key that the log still has does not shorten the time of one that was published again", async () => {
  const broker = openLog()
  await publish(broker, { ...unheard("a"), untilMs: Date.now() - 1 })
  const store = openKeys()
  expect(await store.claim("a", soon())).toBe("first")
  expect(await store.add("a", untilMs, soon())).toBe(true)
  await store.close()
  expect(await openKeys().claim("a", soon())).toBe("duplicate")
})

test("a log of 0.1.0, which has no journal, gets one, and the store beside it opens before that", async () => {
  const before = new LogWriter(logIn(folder))
  before.append([{ record: { topic: "t", value: Buffer.from("old") } }], Date.now())
  before.close()
  const store = openKeys()
  expect(await store.claim("a", soon())).toBe("first")
  const broker = openLog()
  expect(await publish(broker, store.withRecord!("a", untilMs))).toEqual({ partition: 0, offset: 1 })
  expect(store.claim("a", soon())).toBe("duplicate")
})

/** Publishes an event of a key as a pipeline with a Deduplicator does; gives what its end came to. */
async function publishOnce(broker: EmbeddedBroker, keys: DedupeKeys, key: string, deadlineMs: number) {
  const dedupeKey = keys.withRecord(key, untilMs)
  const published = publish(broker, dedupeKey, deadlineMs)
  const isPublished = await published.then(
    () => true,
    () => false,
  )
  await keys.end(key, isPublished ? untilMs : undefined, deadlineMs, dedupeKey)
  return isPublished
}

test("the retry of an event that was not acknowledged in time waits until the log knows whether it has it", async () => {
  const keys = new DedupeKeys(openKeys())
  const broker = openLog()
  await publish(broker)
  expect(await keys.begin("a", soon())).toBe("first")
  const first = publishOnce(broker, keys, "a", steadyMs() + 30)
  // in the same batch, which takes long
  const large = broker.publish({ topic: "t", value: Buffer.alloc(100 * 1024 * 1024) }, steadyMs() + 30_000)
  expect(await first).toBe(false)
  expect(await keys.begin("a", soon() + 30_000)).toBe("duplicate")
  await large
}, 40_000)

test.each([
  [true, "duplicate"],
  [false, "first"],
] as const)(
  "what a failure left of a batch in the log, its keys: %p, is known to the store",
  async (isLeft, claim) => {
    const keys = new DedupeKeys(openKeys())
    const broker = openLog()
    await publish(broker)
    const other = new Database(join(folder, "log.sqlite"))
    other.run("ALTER TABLE dedupe_keys RENAME TO gone")
    expect(await keys.begin("a", soon())).toBe("first")
    expect(await publishOnce(broker, keys, "a", soon())).toBe(false)
    expect(await keys.begin("a", steadyMs() + 50)).toBe("late")
    other.run("DROP TABLE IF EXISTS dedupe_keys")
    other.run("ALTER TABLE gone RENAME TO dedupe_keys")
    // as recovery finds it in a WAL whose fsync failed
    if (isLeft) other.query("INSERT INTO dedupe_keys VALUES (?, 'a', ?)").run(Date.now() * 1000, untilMs)
    other.close()
    expect(await keys.begin("a", soon())).toBe(claim)
    expect(broker.ready()).toBe(true)
  },
)

test("keys of another folder's store are left to that one", async () => {
  openKeys()
  const broker = openLog()
  await publish(broker, { ...unheard("elsewhere"), directory: join(folder, "elsewhere") })
  expect(inJournal()).toEqual([])
})
