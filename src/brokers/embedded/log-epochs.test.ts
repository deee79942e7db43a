import { expect, test } from "bun:test"
import { Database } from "bun:sqlite"
import { disagreement } from "../log-place.ts"
import { beginEpoch, createEpochs, Epochs, readEpochs, type Extents } from "./log-epochs.ts"

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

test("a partition without records in an epoch begins the next one where it began the last", () => {
  const both = new Epochs([
    { epoch: 5, starts: { records_1: 100, records_2: 7 } },
    { epoch: 9, starts: { records_1: 120 } },
    { epoch: 12, starts: { records_2: 9 } },
    { epoch: 13, starts: {} },
  ])
  expect([99, 100, 119, 120, 500].map((offset) => both.at("records_1", offset))).toEqual([0, 5, 5, 13, 13])
  expect([6, 7, 8, 9].map((offset) => both.at("records_2", offset))).toEqual([0, 9, 9, 13])
  expect([0, 5, 9, 12, 13].map((epoch) => both.endOf(epoch, "records_2"))).toEqual([7, 7, 9, 9, undefined])
})

const extents = (...all: [first: number, end: number][]): Extents =>
  new Map(all.map(([first, end], at) => [`records_${at + 1}`, { first, end }]))

test("an epoch begins where records came since, and those whose records were all deleted go", () => {
  using db = new Database(":memory:")
  createEpochs(db)
  const startsMs = [1, 2, 3, 4].map((day) => Date.UTC(2026, 0, day))
  const begun = [
    beginEpoch(db, extents([0, 0], [0, 0]), startsMs[0]),
    beginEpoch(db, extents([0, 10], [0, 0]), startsMs[1]),
    beginEpoch(db, extents([4, 10], [0, 5]), startsMs[2]),
  ].map(({ number }) => number)
  const starts = () =>
    db
      .query<{ epoch: number; starts: string }, []>("SELECT * FROM epochs")
      .all()
      .map((it) => {
        const { id: _, ...starts } = JSON.parse(it.starts) as { [table: string]: number }
        return [begun.indexOf(it.epoch), JSON.stringify(starts)]
      })
  expect(starts()).toEqual([
    [0, "{}"],
    [1, '{"records_1":10}'],
    [2, '{"records_2":5}'],
  ])
  begun.push(beginEpoch(db, extents([12, 20], [5, 5]), startsMs[3]).number)
  expect(starts()).toEqual([
    [2, '{"records_1":10,"records_2":5}'],
    [3, '{"records_1":20}'],
  ])
  const epochs = readEpochs(db)
  expect([19, 20].map((offset) => begun.indexOf(epochs.at("records_1", offset)))).toEqual([2, 3])
  // of an epoch that is gone the oldest one's start is the end
  expect(epochs.endOf(begun[0]!, "records_1")).toBe(10)
})

test("two copies of a log that begin an epoch at different times give it different numbers, above all before", () => {
  using db = new Database(":memory:")
  createEpochs(db)
  const nowMs = Date.UTC(2026, 0, 1)
  using copy = Database.deserialize(db.serialize())
  beginEpoch(db, extents([0, 42]), nowMs)
  beginEpoch(copy, extents([0, 42]), nowMs + 1000)
  expect(readEpochs(copy).current).toBe(readEpochs(db).current + 1)
  expect(readEpochs(db).endOf(0, "records_1")).toBe(42)
  const { current } = readEpochs(db)
  beginEpoch(db, extents([0, 50]), nowMs - 5000)
  expect(readEpochs(db).current).toBe(current + 1)
})

test.each([0, 3])("copies that begin an epoch in one second are told apart, %d records after", (more) => {
  using db = new Database(":memory:")
  createEpochs(db)
  const nowMs = Date.UTC(2026, 0, 1)
  beginEpoch(db, extents([0, 10]), nowMs - 10_000)
  using copy = Database.deserialize(db.serialize())
  // the original has grown before
  beginEpoch(db, extents([0, 50]), nowMs)
  beginEpoch(copy, extents([0, 42]), nowMs)
  expect(readEpochs(copy).current).toBe(readEpochs(db).current)
  const place = { clusterId: "log", offset: 60, epoch: readEpochs(db).of("records_1").before(60) }
  const log = { clusterId: "log", end: 60 + more, epochs: readEpochs(copy).of("records_1") }
  expect(disagreement(place, log)).toEqual({ kind: "an earlier copy", offset: 42 })
  expect(disagreement(place, { ...log, epochs: readEpochs(db).of("records_1") })).toBeUndefined()
})
