import { Database } from "bun:sqlite"
import { afterEach, beforeEach, expect, test } from "bun:test"
import { join } from "node:path"
import { pino } from "pino"
import { openEmbedded, type EmbeddedBroker } from "../brokers/embedded/broker.ts"
import { packBatch } from "../brokers/embedded/batch.ts"
import { LogFile } from "../brokers/embedded/log-file.ts"
import { steadyMs } from "../clock/clock.ts"
import { DedupeKeys } from "../dedupe/dedupe-keys.ts"
import type { KeyStore } from "../dedupe/key-store.ts"
import { SqliteKeys } from "../dedupe/sqlite-keys.ts"
import type { HooklineError } from "../errors.ts"
import type { DedupeKey } from "../pipeline/record.ts"
import { logIn } from "./database-file.ts"
import { temporaryFolder } from "../../test/support/hookline.ts"
import { HANG_MS } from "../../test/support/hang.ts"

const folder = temporaryFolder()
let opened: { close(): Promise<void> }[]
beforeEach(() => {
  opened = []
})
afterEach(async () => {
  for (const one of opened) await one.close()
  folder[Symbol.dispose]()
})

const log = pino({ level: "silent" })
const soon = (): number => steadyMs() + HANG_MS
const WINDOW_MS = 3_600_000
const untilMs = Date.now() + WINDOW_MS
function openLog(): EmbeddedBroker {
  const broker = openEmbedded({ directory: folder.path }, { log, metrics: { batch() {} } })
  opened.push(broker)
  return broker
}
/** @param broker the log next to it, where it is open */
function openKeys(broker?: EmbeddedBroker): KeyStore {
  const store: KeyStore = new SqliteKeys(folder.path, { log })
  if (broker !== undefined) store.useJournal?.(broker.keyJournal)
  opened.push(store)
  return store
}
const publish = (broker: EmbeddedBroker, dedupeKey?: DedupeKey, deadlineMs = soon()): Promise<unknown> =>
  broker.publish({ topic: "t", value: Buffer.from("x"), dedupeKey }, deadlineMs)
/** As of a process that is killed when the log has the record: the store hears nothing of it. */
const unheard = (key: string): DedupeKey => ({ directory: folder.path, key, untilMs, committed: () => {} })
function inJournal(): string[] {
  const db = new Database(join(folder.path, "log.sqlite"), { readonly: true })
  const rows = db.query<{ key: string }, []>("SELECT key FROM dedupe_keys ORDER BY id").all()
  db.close()
  return rows.map(({ key }) => key)
}

test("a key is durable with its record, and known to the store at once, which writes nothing for the answer", async () => {
  const broker = openLog()
  const store = openKeys(broker)
  // it has its file open then
  await store.claim("", soon())
  const other = new Database(join(folder.path, "marks.sqlite"))
  other.run("BEGIN IMMEDIATE")
  await publish(broker, store.withRecord!("a", WINDOW_MS))
  expect(inJournal()).toEqual(["a"])
  expect(store.claim("a", soon())).toBe("duplicate")
  expect(store.add("a", WINDOW_MS, soon())).toBe(true)
  other.run("ROLLBACK")
  other.close()
})

/** What a claim comes to, or the code that it fails with. */
async function claim(store: KeyStore, key: string): Promise<unknown> {
  try {
    return await store.claim(key, soon())
  } catch (error) {
    return (error as HooklineError).code
  }
}

test("a store whose log is closed before it was ever open waits for nothing more", async () => {
  const before = openLog()
  await publish(before)
  const reader = new Database(join(folder.path, "log.sqlite"), { readonly: true })
  reader.run("BEGIN")
  reader.query("SELECT count(*) FROM topics").get()
  await before.close()
  const broker = openLog()
  const store = openKeys(broker)
  expect(await claim(store, "a")).toBe("unavailable")
  await broker.close()
  reader.close()
  let claimed: unknown
  while ((claimed = await claim(store, "a")) === "unavailable") await Bun.sleep(20)
  expect(claimed).toBe("first")
})

test("a key that the log still has does not shorten the time of one that was published again", async () => {
  const broker = openLog()
  const shorter = Date.now() + 500
  await publish(broker, { ...unheard("a"), untilMs: shorter })
  const first = openKeys()
  expect(await first.add("a", WINDOW_MS, soon())).toBe(true)
  await first.close()
  const store = openKeys(broker)
  expect(await store.claim("a", soon())).toBe("duplicate")
  while (inJournal().length > 0) {
    await publish(broker)
    await Bun.sleep(20)
  }
  await Bun.sleep(Math.max(0, shorter + 50 - Date.now()))
  expect(await store.claim("a", soon())).toBe("duplicate")
})

class FirstLog extends LogFile {
  readonly operations = {}
}

test("a log of 0.1.0, which has no journal, gets one", async () => {
  const before = new FirstLog(logIn(folder.path))
  before.commit(packBatch([{ record: { topic: "t", value: Buffer.from("old") } }]), Date.now())
  before.close()
  const broker = openLog()
  const store = openKeys(broker)
  expect(await store.claim("a", soon())).toBe("first")
  expect(await publish(broker, store.withRecord!("a", WINDOW_MS))).toEqual({ partition: 0, offset: 1 })
  expect(store.claim("a", soon())).toBe("duplicate")
})

/** Publishes an event of a key as a pipeline with a Deduplicator does; gives what its end came to. */
async function publishOnce(broker: EmbeddedBroker, keys: DedupeKeys, key: string, deadlineMs: number) {
  const dedupeKey = keys.store.withRecord?.(key, WINDOW_MS)
  const published = publish(broker, dedupeKey, deadlineMs)
  const isPublished = await published.then(
    () => true,
    () => false,
  )
  await keys.end(key, isPublished ? WINDOW_MS : undefined, deadlineMs, dedupeKey)
  return isPublished
}

test("an expired key that the log still has does not stand for its record of later, which a failure lost", async () => {
  const broker = openLog()
  const keys = new DedupeKeys(openKeys(broker))
  const shorter = Date.now() + 100
  await publish(broker, { ...unheard("a"), untilMs: shorter })
  await Bun.sleep(shorter + 50 - Date.now())
  expect(await keys.begin("a", soon())).toBe("first")
  const other = new Database(join(folder.path, "log.sqlite"))
  other.run("ALTER TABLE dedupe_keys RENAME TO gone")
  expect(await publishOnce(broker, keys, "a", soon())).toBe(false)
  other.run("DROP TABLE IF EXISTS dedupe_keys")
  other.run("ALTER TABLE gone RENAME TO dedupe_keys")
  other.close()
  expect(inJournal()).toEqual(["a"])
  // what the file has is not known before
  while (broker.ready() !== true) await Bun.sleep(20)
  expect(await keys.begin("a", soon())).toBe("first")
})

test("keys of another folder's store are left to that one", async () => {
  openKeys()
  const broker = openLog()
  await publish(broker, { ...unheard("elsewhere"), directory: join(folder.path, "elsewhere") })
  expect(inJournal()).toEqual([])
})
