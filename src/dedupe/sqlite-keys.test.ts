import { Database } from "bun:sqlite"
import { afterEach, beforeEach, expect, setSystemTime, test } from "bun:test"
import { existsSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { pino } from "pino"
import { steadyMs } from "../clock/clock.ts"
import type { HooklineError } from "../errors.ts"
import { SqliteKeys } from "./sqlite-keys.ts"
import type { KeyStore } from "./key-store.ts"
import { temporaryFolder } from "../../test/support/hookline.ts"
import { HANG_MS } from "../../test/support/hang.ts"

const folder = temporaryFolder()
let stores: KeyStore[]
beforeEach(() => {
  stores = []
  setSystemTime(1_800_000_000_000)
})
afterEach(async () => {
  await Promise.all(stores.map((store) => store.close()))
  folder[Symbol.dispose]()
  setSystemTime()
})

const soon = (): number => steadyMs() + HANG_MS
const open = (directory = folder.path): KeyStore => {
  const store = new SqliteKeys(directory, { log: pino({ level: "silent" }) })
  stores.push(store)
  return store
}
const add = (store: KeyStore, key: string, forMs = 1000) => store.add(key, Date.now() + forMs, soon())
const count = (): number => {
  const db = new Database(join(folder.path, "marks.sqlite"), { readonly: true })
  try {
    return db.query<{ n: number }, []>("SELECT count(*) AS n FROM marks").get()!.n
  } finally {
    db.close()
  }
}

test("a key is known until its time has passed, also for a store that is opened later", async () => {
  const store = open()
  expect(await store.claim("a", soon())).toBe("first")
  expect(await add(store, "a")).toBe(true)
  expect(await store.claim("a", soon())).toBe("duplicate")
  await store.close()

  const again = open()
  setSystemTime(Date.now() + 1000)
  expect(await again.claim("a", soon())).toBe("duplicate")
  setSystemTime(Date.now() + 1)
  expect(await again.claim("a", soon())).toBe("first")
  expect(await add(again, "a")).toBe(true)
  expect(await again.claim("a", soon())).toBe("duplicate")
})

test("a key is known while it is on its way into the file", async () => {
  const store = open()
  const added = add(store, "a")
  expect(await store.claim("a", soon())).toBe("duplicate")
  expect(await added).toBe(true)
})

test("keys of one turn of the event loop are one transaction", async () => {
  const store = open()
  const db = new Database(join(folder.path, "marks.sqlite"), { readonly: true })
  const version = () => db.query<{ data_version: number }, []>("PRAGMA data_version").get()!.data_version
  const seen = new Set([version()])
  const added = Array.from({ length: 100 }, (_, n) => add(store, `key ${n}`))
  for (const one of added) {
    expect(await one).toBe(true)
    seen.add(version())
  }
  expect(seen.size).toBe(2)
  db.close()
})

test("what ran out is deleted, slice by slice, and what did not stays", async () => {
  const store = open()
  const added = Array.from({ length: 1800 }, (_, n) => add(store, `short ${n}`))
  await Promise.all([...added, add(store, "long", 100_000)])
  expect(count()).toBe(1801)
  setSystemTime(Date.now() + 1001)
  while (count() > 1) await Bun.sleep(5)
  expect([await store.claim("long", soon()), await store.claim("short 7", soon())]).toEqual([
    "duplicate",
    "first",
  ])
})

test("a file that is something else is not touched", () => {
  writeFileSync(join(folder.path, "marks.sqlite"), "these are notes, and no keys at all")
  expect(() => open()).toThrow(expect.objectContaining({ code: "log_io" }))
  expect(existsSync(join(folder.path, "marks.pid"))).toBe(false)
})

test("while another process holds the file a key waits for its deadline, and is written afterwards", async () => {
  const store = open()
  const other = new Database(join(folder.path, "marks.sqlite"))
  other.run("BEGIN IMMEDIATE")
  expect(await store.add("a", Date.now() + 1000, steadyMs() + 30)).toBe(false)
  const patient = add(store, "b")
  expect([store.claim("a", soon()), store.ready()]).toEqual(["duplicate", true])
  other.run("ROLLBACK")
  other.close()
  expect(await patient).toBe(true)
  expect(count()).toBe(2)
})

test("keys that a log has gather up to a bound while another process holds the file, and are written then", async () => {
  const store = open()
  await store.claim("", soon())
  const other = new Database(join(folder.path, "marks.sqlite"))
  other.run("BEGIN IMMEDIATE")
  const most = 50_000
  const forgotten = Promise.withResolvers<void>()
  const forget = (id: number): void => void (id === most && forgotten.resolve())
  const lost = () => Promise.resolve({ gaps: 0, lost: [] })
  store.useJournal!({ read: () => Promise.resolve([]), forget, lost })
  for (let id = 1; id <= most; id++) store.withRecord!(`key ${id}`, Date.now() + 1000).committed(id)
  const claim = (key: string): unknown => {
    try {
      return store.claim(key, soon())
    } catch (error) {
      return (error as HooklineError).code
    }
  }
  expect([claim("new"), claim("key 1")]).toEqual(["unavailable", "duplicate"])
  other.run("ROLLBACK")
  other.close()
  await forgotten.promise
  expect(count()).toBe(most)
  expect(await store.claim("new", soon())).toBe("first")
})
