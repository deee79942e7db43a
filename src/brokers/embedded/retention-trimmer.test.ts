import { Database } from "bun:sqlite"
import { afterEach, beforeEach, expect, spyOn, test } from "bun:test"
import { logIn } from "../../storage/database-file.ts"
import { packBatch } from "./batch.ts"
import { LogDatabase } from "./log-database.ts"
import type { TrimLimits } from "./retention-trimmer.ts"
import { temporaryFolder } from "../../../test/support/hookline.ts"

const NOW_MS = 1_795_000_000_000
const KEEP_ALL: TrimLimits = {
  beforeMs: Number.NEGATIVE_INFINITY,
  nowMs: NOW_MS,
  maxBytes: Number.POSITIVE_INFINITY,
}

const folder = temporaryFolder()
let writer: LogDatabase
beforeEach(() => {
  writer = new LogDatabase(logIn(folder.path))
})
afterEach(() => {
  writer.close()
  folder[Symbol.dispose]()
})

const append = (topic: string, count: number, ms: number, bytes = 100): unknown =>
  writer.commit(
    packBatch(Array.from({ length: count }, () => ({ record: { topic, value: new Uint8Array(bytes) } }))),
    ms,
  )

function trimAll(limits: TrimLimits): { records: number; slices: number } {
  let [records, slices] = [0, 0]
  for (let slice = writer.trim(limits); slice !== undefined; slice = writer.trim(limits)) {
    records += slice.age.records + slice.size.records
    slices++
  }
  return { records, slices }
}

test("with 2,000 topics of which none is due, the file is asked nothing; with one, only what is deleted costs", () => {
  const names = Array.from({ length: 2000 }, (_, n) => `topic-${n}`)
  append("topic-7", 600, NOW_MS - 1000)
  const records = names.map((topic) => ({ record: { topic, value: new Uint8Array(10) } }))
  writer.commit(packBatch(records), NOW_MS)
  writer.close()
  writer = new LogDatabase(logIn(folder.path))
  const asked = [
    spyOn(Database.prototype, "query"),
    spyOn(Database.prototype, "run"),
    spyOn(Database.prototype, "prepare"),
  ]
  const count = (): number => asked.reduce((sum, { mock }) => sum + mock.calls.length, 0)
  try {
    for (let round = 0; round < 10; round++) {
      expect(
        writer.trim({ ...KEEP_ALL, beforeMs: NOW_MS - 1000 - round, maxBytes: 1_000_000 }),
      ).toBeUndefined()
    }
    expect(count()).toBe(0)
    expect(trimAll({ ...KEEP_ALL, maxBytes: 20_000 })).toEqual({ records: 600, slices: 2 })
    expect(count()).toBeLessThan(20)
  } finally {
    for (const spy of asked) spy.mockRestore()
  }
})

test("a slice of large records is a few of them", () => {
  append("large", 5, NOW_MS, 400_000)
  expect(writer.trim({ ...KEEP_ALL, maxBytes: 0 })).toEqual({
    age: { records: 0, bytes: 0 },
    size: { records: 2, bytes: 800_000 },
  })
})

test("what is due by age and what the log is too large for are counted apart", () => {
  append("t", 3, NOW_MS - 1000)
  append("t", 4, NOW_MS)
  expect(writer.trim({ beforeMs: NOW_MS - 500, nowMs: NOW_MS, maxBytes: 150 })).toEqual({
    age: { records: 3, bytes: 300 },
    size: { records: 3, bytes: 300 },
  })
})
