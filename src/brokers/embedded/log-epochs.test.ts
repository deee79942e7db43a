import { expect, test } from "bun:test"
import { Database } from "bun:sqlite"
import { beginEpoch, createEpochs, Epochs, readEpochs } from "./log-epochs.ts"
import { createPartition, LOG_LAYOUT, recordsTable } from "./log-tables.ts"

const epochs = new Epochs([
  { epoch: 5, starts: { records_1: 100 } },
  { epoch: 9, starts: { records_1: 120, records_2: 7 } },
])

test("each record is of the last epoch that began at or before it", () => {
  const at = [0, 99, 100, 119, 120].map((offset) => epochs.at("records_1", offset))
  expect(at).toEqual([0, 0, 5, 5, 9])
  // a partition that is younger than an epoch has no record before it
  expect(epochs.at("records_2", 6)).toBe(5)
  expect(epochs.at("records_3", 0)).toBe(9)
})

test("an epoch ends where the next one began, and the current one does not end", () => {
  const ends = [0, 4, 5, 8, 9, 10].map((epoch) => epochs.endOf(epoch, "records_1"))
  expect(ends).toEqual([100, 100, 120, 120, undefined, undefined])
  expect(epochs.endOf(0, "records_2")).toBe(0)
  expect([0, 4, 5, 8, 9, 10].map((epoch) => epochs.upTo(epoch))).toEqual([0, 0, 5, 5, 9, 9])
})

test("two copies of a log that begin an epoch at different times give it different numbers, above all before", () => {
  using db = new Database(":memory:")
  LOG_LAYOUT.createTables(db)
  createEpochs(db)
  const row = createPartition(db, "webhooks", undefined, 0)
  db.run(`INSERT INTO ${recordsTable(row)} VALUES (41, 10, 0, NULL, NULL, x'7b7d')`)
  const nowMs = Date.UTC(2026, 0, 1)
  const copy = Database.deserialize(db.serialize())
  beginEpoch(db, 0, nowMs)
  beginEpoch(copy, 0, nowMs + 1000)
  expect(readEpochs(copy).current).toBe(readEpochs(db).current + 1)
  expect(readEpochs(db).endOf(0, "records_1")).toBe(42)
  const { current } = readEpochs(db)
  beginEpoch(db, current, nowMs - 5000)
  expect(readEpochs(db).current).toBe(current + 1)
  copy.close()
})
