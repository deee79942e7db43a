import { Database } from "bun:sqlite"
import { afterEach, beforeEach, describe, expect, setSystemTime, spyOn, test } from "bun:test"
import { logIn } from "../../storage/database-file.ts"
import { packBatch } from "./batch.ts"
import { LogDatabase } from "./log-database.ts"
import type { Deletions } from "./retention-trimmer.ts"
import { temporaryFolder } from "../../../test/support/hookline.ts"
import { TestMachine } from "../../../test/support/kept-clock.ts"

const HOUR_MS = 3_600_000
const YEAR_MS = 365 * 24 * HOUR_MS
const FOREVER = Number.POSITIVE_INFINITY

const folder = temporaryFolder()
let machine: TestMachine
let writer: LogDatabase
beforeEach(() => {
  machine = new TestMachine()
  writer = opened()
})
afterEach(() => {
  setSystemTime()
  writer.close()
  folder[Symbol.dispose]()
})

const opened = (): LogDatabase => new LogDatabase(logIn(folder.path), machine)

function reopen(meanwhile = (): void => {}): void {
  writer.close()
  meanwhile()
  writer = opened()
}

function append(count: number, { topic = "t", bytes = 100 } = {}): void {
  const record = { topic, value: new Uint8Array(bytes) }
  writer.commitWithKeys(
    packBatch(Array.from({ length: count }, () => ({ record }))),
    [],
    Date.now(),
    undefined,
  )
}

/** Deletes a slice. @param keptMs age of the oldest record that is kept */
const trim = (keptMs: number, bytes = FOREVER): Deletions | undefined => writer.trim({ ms: keptMs, bytes })

function trimAll(keptMs: number, maxBytes = FOREVER): { records: number; slices: number } {
  let [records, slices] = [0, 0]
  for (let slice = trim(keptMs, maxBytes); slice !== undefined; slice = trim(keptMs, maxBytes)) {
    records += slice.age.records + slice.size.records
    slices++
  }
  return { records, slices }
}

/** How many records each topic has. */
const kept = (): { [topic: string]: number } =>
  Object.fromEntries(
    [...writer.topics].map(([name, { partitions }]) => [
      name,
      partitions.reduce((sum, { firstOffset, nextOffset }) => sum + nextOffset - firstOffset, 0),
    ]),
  )

test("with 2,000 topics of which none is due, the file is asked nothing; with one, only what is deleted costs", () => {
  const names = Array.from({ length: 2000 }, (_, n) => `topic-${n}`)
  append(600, { topic: "topic-7" })
  machine.ms += 1000
  const records = names.map((topic) => ({ record: { topic, value: new Uint8Array(10) } }))
  writer.commitWithKeys(packBatch(records), [], Date.now(), undefined)
  reopen()
  const asked = [
    spyOn(Database.prototype, "query"),
    spyOn(Database.prototype, "run"),
    spyOn(Database.prototype, "prepare"),
  ]
  const count = (): number => asked.reduce((sum, { mock }) => sum + mock.calls.length, 0)
  try {
    for (let round = 0; round < 10; round++) expect(trim(1000 + round, 1_000_000)).toBeUndefined()
    expect(count()).toBe(0)
    expect(trimAll(FOREVER, 20_000)).toEqual({ records: 600, slices: 2 })
    expect(count()).toBeLessThan(20)
  } finally {
    for (const spy of asked) spy.mockRestore()
  }
})

test("a slice of large records is a few of them", () => {
  append(5, { topic: "large", bytes: 400_000 })
  expect(trim(FOREVER, 0)).toEqual({
    age: { records: 0, bytes: 0 },
    size: { records: 2, bytes: 800_000 },
  })
})

test("what is due by age and what the log is too large for are counted apart", () => {
  append(3)
  machine.ms += 1000
  append(4)
  expect(trim(500, 150)).toEqual({
    age: { records: 3, bytes: 300 },
    size: { records: 3, bytes: 300 },
  })
})

describe("the oldest records of all topics go first", () => {
  test("by size: none of a quiet topic goes before older ones of a busy one", () => {
    for (let round = 0; round < 20; round++) {
      append(50, { topic: "busy", bytes: 1000 })
      machine.ms += 10
      append(1, { topic: "quiet" })
      machine.ms += 10
    }
    expect(trim(FOREVER, 500_000)?.size.records).toBe(500)
    expect(kept()).toEqual({ busy: 509, quiet: 11 })
    expect(trimAll(FOREVER, 500_000).slices).toBe(1)
    const { busy, quiet } = kept()
    expect(Math.ceil(busy! / 50)).toBe(quiet!)
  })

  test("64 topics whose records alternate take a transaction for some hundreds of records", () => {
    const names = Array.from({ length: 64 }, (_, n) => `topic-${n}`)
    for (let round = 0; round < 50; round++)
      for (const topic of names) {
        machine.ms += 1
        append(1, { topic })
      }
    const { commits } = writer
    expect(trimAll(FOREVER, 64 * 100).records).toBe(49 * 64)
    expect(writer.commits - commits).toBeLessThan(10)
    expect(kept()).toEqual(Object.fromEntries(names.map((name) => [name, 1])))
    machine.ms += HOUR_MS
    expect(trimAll(HOUR_MS - 1).records).toBe(64)
  })

  test("over thousands of topics a slice takes some of them", () => {
    for (let n = 0; n < 200; n++) append(1, { topic: `topic-${n}` })
    expect(trim(FOREVER, 0)?.size.records).toBe(64)
    expect(trimAll(FOREVER, 0).records).toBe(136)
  })
})

describe("age is by the log's clock", () => {
  test.each([
    ["ahead", YEAR_MS],
    ["back", -YEAR_MS],
  ])("a time of day that is set a year %s, over starts, deletes nothing early or late", (_, byMs) => {
    append(1)
    setSystemTime(Date.now() + byMs)
    append(1)
    reopen()
    append(1)
    machine.ms += HOUR_MS
    expect(trim(HOUR_MS)).toBeUndefined()
    setSystemTime()
    reopen(() => (machine.ms += 1))
    append(1)
    expect(trimAll(HOUR_MS).records).toBe(3)
    expect(kept()).toEqual({ t: 1 })
  })

  test("the time that a machine was off does not count, and what ran before does", () => {
    append(1)
    machine.ms += 3 * HOUR_MS
    append(1)
    reopen(() => machine.restart())
    expect(trimAll(3 * HOUR_MS).records).toBe(0)
    machine.ms += 1
    expect(trimAll(3 * HOUR_MS).records).toBe(1)
    machine.ms += 3 * HOUR_MS
    expect(trimAll(3 * HOUR_MS).records).toBe(1)
  })

  test("a machine that was started again, and has run for longer than before, is another one", () => {
    append(1)
    reopen(() => {
      machine.restart()
      machine.ms += YEAR_MS
    })
    expect(trim(1)).toBeUndefined()
  })

  test("it is saved while nothing is written", () => {
    append(1)
    machine.ms += HOUR_MS
    writer.keep({ ms: FOREVER, bytes: FOREVER })
    reopen(() => machine.restart())
    machine.ms += 1
    expect(trimAll(HOUR_MS).records).toBe(1)
  })

  test("a row of it that damage has changed is not believed", () => {
    append(1)
    machine.ms += HOUR_MS
    append(1)
    reopen(() => {
      using db = new Database(logIn(folder.path).file)
      db.run(`UPDATE clock SET now = now + ${YEAR_MS}`)
    })
    expect(trimAll(HOUR_MS).records).toBe(0)
    machine.ms += 1
    expect(trimAll(HOUR_MS).records).toBe(1)
  })

  test("records of an earlier version are as old as they say beside their newest, if that is not after now", () => {
    const atMs = Date.now()
    for (const ageMs of [3 * HOUR_MS, 2 * HOUR_MS, -YEAR_MS, HOUR_MS]) {
      setSystemTime(atMs - ageMs)
      append(1)
    }
    setSystemTime(atMs + YEAR_MS)
    reopen(() => {
      using db = new Database(logIn(folder.path).file)
      db.run("ALTER TABLE records_1 DROP COLUMN clock")
      db.run("UPDATE records_1 SET crc = NULL")
      db.run("DROP TABLE clock")
      for (const table of ["bounds"]) db.run(`DROP TABLE ${table}`)
      db.run("PRAGMA user_version = 2")
    })
    expect(trimAll(2 * HOUR_MS).records).toBe(0)
    machine.ms += 1
    expect(trimAll(2 * HOUR_MS).records).toBe(1)
    append(1)
    machine.ms += 2 * HOUR_MS
    expect(trimAll(2 * HOUR_MS).records).toBe(3)
  })
})
