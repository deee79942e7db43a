import { Database } from "bun:sqlite"
import { afterEach, beforeEach, describe, expect, setSystemTime, test } from "bun:test"
import { existsSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { pino } from "pino"
import { steadyMs } from "../clock/clock.ts"
import type { HooklineError } from "../errors.ts"
import { dedupeFileIn, KeyDatabase } from "./key-database.ts"
import { SqliteKeys } from "./sqlite-keys.ts"
import type { KeyStore } from "./key-store.ts"
import { temporaryFolder } from "../../test/support/hookline.ts"
import { passTime, TestMachine } from "../../test/support/kept-clock.ts"
import { HANG_MS } from "../../test/support/hang.ts"

const folder = temporaryFolder()
let stores: KeyStore[]
beforeEach(() => {
  stores = []
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
const add = (store: KeyStore, key: string, windowMs = 60_000) => store.add(key, windowMs, soon())
const marks = (): string => join(folder.path, "marks.sqlite")
const count = (): number => {
  const db = new Database(marks(), { readonly: true })
  try {
    return db.query<{ n: number }, []>("SELECT count(*) AS n FROM marks").get()!.n
  } finally {
    db.close()
  }
}

const YEAR_MS = 365 * 86_400_000

test("a key is known for its window, also for a store that is opened later, whatever the time of day is meanwhile", async () => {
  const store = open()
  expect(await store.claim("a", soon())).toBe("first")
  setSystemTime(Date.now() + YEAR_MS)
  expect(await add(store, "a")).toBe(true)
  expect(await store.claim("a", soon())).toBe("duplicate")
  await store.close()

  setSystemTime()
  passTime(marks(), 50_000)
  const again = open()
  expect(await again.claim("a", soon())).toBe("duplicate")
  setSystemTime(Date.now() + YEAR_MS)
  expect(await again.claim("a", soon())).toBe("duplicate")
  await again.close()
  setSystemTime()
  passTime(marks(), 10_001)
  const last = open()
  expect(await last.claim("a", soon())).toBe("first")
  expect(await add(last, "a")).toBe(true)
  expect(await last.claim("a", soon())).toBe("duplicate")
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

describe("a key is deleted when its window is over", () => {
  const machine = new TestMachine()
  const opened = (): KeyDatabase => new KeyDatabase(dedupeFileIn(folder.path), machine)
  const write = ({ operations, clock }: KeyDatabase, keys: { readonly [key: string]: number }): void =>
    operations.write(
      Object.entries(keys).map(([key, windowMs]) => [key, clock.now() + windowMs, -1, -1] as const),
      [],
    )
  const trimAll = ({ operations }: KeyDatabase): number => {
    for (let slices = 1; ; slices++) if (!operations.trim()) return slices
  }
  const kept = (): string[] => {
    using db = new Database(marks(), { readonly: true })
    return db
      .query<{ key: string }, []>("SELECT key FROM marks ORDER BY key")
      .all()
      .map(({ key }) => key)
  }

  test("slice by slice, in whichever order they came, and over a start of the machine", () => {
    const first = opened()
    write(first, { long: 100_000 })
    write(first, Object.fromEntries(Array.from({ length: 1800 }, (_, n) => [`short ${n}`, 1000])))
    write(first, { middle: 50_000 })
    machine.ms += 1000
    expect(trimAll(first)).toBe(1)
    expect(kept()).toHaveLength(1802)
    machine.ms += 1
    expect(trimAll(first)).toBe(4)
    expect(kept()).toEqual(["long", "middle"])
    first.close()
    machine.restart()
    const second = opened()
    machine.ms += 50_000
    trimAll(second)
    expect(kept()).toEqual(["long", "middle"])
    machine.ms += 1
    trimAll(second)
    expect(kept()).toEqual(["long"])
    second.close()
  })

  test("also one that is published again, with another window", () => {
    const database = opened()
    write(database, { a: 1000, b: 9000 })
    write(database, { a: 5000, b: 1000 })
    machine.ms += 1001
    trimAll(database)
    expect(kept()).toEqual(["a", "b"])
    machine.ms += 4000
    trimAll(database)
    expect(kept()).toEqual(["b"])
    database.close()
  })

  test("also one of an earlier version, behind others that were dated a year ahead", () => {
    opened().close()
    using db = new Database(marks())
    const atMs = Date.now()
    const insert = db.query("INSERT INTO marks (key, until) VALUES (?, ?)")
    for (let n = 0; n < 700; n++) insert.run(`ahead ${n}`, atMs + YEAR_MS)
    for (let n = 0; n < 700; n++) insert.run(`right ${n}`, atMs + 10_000)
    const database = opened()
    trimAll(database)
    expect(kept()).toHaveLength(1400)
    write(database, { new: 5000 })
    machine.ms += 12_000
    trimAll(database)
    expect(kept().filter((key) => !key.startsWith("ahead"))).toEqual([])
    expect(database.operations.untilOf(["ahead 0"])).toEqual([atMs + YEAR_MS])
    database.close()
  })
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
  expect(await store.add("a", 60_000, steadyMs() + 30)).toBe(false)
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
  store.useJournal!({ read: () => Promise.resolve([]), forget, lost, onReopening() {} })
  for (let id = 1; id <= most; id++) store.withRecord!(`key ${id}`, 60_000).committed(id)
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
