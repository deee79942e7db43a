import { expect, test } from "bun:test"
import { started } from "../../../test/support/kafka-topic.ts"
import { Accumulator, MAX_RECORDS } from "./accumulator.ts"
import { PendingQueue, PendingRecord } from "./pending-queue.ts"
import { RoundTrips } from "./round-trips.ts"

const ONE = { topic: "t", key: undefined, value: Buffer.from("{}") }
const NOW_MS = 10_000
const PLENTY = { records: MAX_RECORDS, bytes: 1_000_000, nowMs: NOW_MS, roundTrips: new RoundTrips() }

const accumulatorOf = (): Accumulator => new Accumulator("t", started().partition(0).topic.context)

/** @param deadlineMs from NOW_MS on */
const record = (deadlineMs: number, key?: string): PendingRecord =>
  new PendingRecord(
    { ...ONE, key: key === undefined ? undefined : Buffer.from(key) },
    NOW_MS + deadlineMs,
    () => {},
  )

function roundTrips(...tookMs: readonly number[]): RoundTrips {
  const all = new RoundTrips()
  for (const ms of tookMs) all.add(ms, NOW_MS)
  return all
}

/** The deadlines of the batches that are formed of a queue's records. */
function batches(records: readonly PendingRecord[], limits: Partial<typeof PLENTY> = {}): number[][] {
  const accumulator = accumulatorOf()
  const queue = new PendingQueue()
  for (const one of records) queue.push(one)
  const all: number[][] = []
  for (;;) {
    const batch = accumulator.take(queue, false, { ...PLENTY, ...limits })
    if (batch.length === 0) return all
    all.push(batch.map(({ deadlineMs }) => deadlineMs - NOW_MS))
  }
}

test.each<[string, number[][], number[]]>([
  ["close together share a batch", [[1000, 1500, 1200]], []],
  ["too late start another batch", [[1000, 1500], [1501]], []],
  ["too early start another batch", [[1501, 1001], [1000]], []],
  ["too far from any before start another batch", [[1300, 1000, 1500], [1501]], []],
  ["within two round trips of each other share a batch", [[5000, 5500, 8000], [8001]], [20, 1500, 30]],
  ["less than the least round trip away are not sent", [[700, 900]], [700, 900]],
])("records with deadlines %s", (_, expected, tookMs) => {
  const records = expected.flat().map((deadlineMs) => record(deadlineMs))
  const late = tookMs.length === 2 ? [record(100), record(699)] : []
  expect(batches([...late, ...records], { roundTrips: roundTrips(...tookMs) })).toEqual(expected)
})

test("records without a deadline share no batch with those that have one", () => {
  const records = [record(Infinity), record(1000), record(Infinity)]
  expect(batches(records)).toEqual([[Infinity, Infinity], [1000]])
  expect(batches(records, { roundTrips: roundTrips(100, 5000) })).toEqual([[Infinity, Infinity], [1000]])
})

test("a thousand records of each of two delivery timeouts make two batches in order", () => {
  const records = Array.from({ length: 1000 }, (_, at) => [record(5000 + at / 10), record(2500 + at / 10)])
  const formed = batches(records.flat())
  expect(formed.map(({ length }) => length)).toEqual([1000, 1000])
  for (const batch of formed) expect(batch).toEqual(batch.toSorted((a, b) => a - b))
})

test("full batches of two delivery timeouts take turns", () => {
  const records = Array.from({ length: 4 }, () => [record(5000), record(2500)])
  expect(batches(records.flat(), { records: 2 }).map(([first]) => first)).toEqual([5000, 2500, 5000, 2500])
})

test("records of a key keep their order, whatever their delivery timeouts", () => {
  const records = [
    record(5000, "a"),
    record(2500, "b"),
    record(5000, "b"),
    record(2500, "a"),
    record(5000, "c"),
  ]
  expect(batches(records)).toEqual([[5000, 2500], [2500, 5000], [5000]])
})

test("a record that can't wait for another round trip takes all others with it, but those without a deadline", () => {
  const slow = { roundTrips: roundTrips(100, 1000) }
  const records = [record(9000, "a"), record(2500), record(Infinity), record(9000, "a")]
  expect(batches(records, slow)).toEqual([[9000, 2500, 9000], [Infinity]])
})

test("a record with a key that can't be acknowledged in time is rejected at once, and keeps no other waiting", async () => {
  const accumulator = accumulatorOf()
  const queue = new PendingQueue()
  const { promise, resolve } = Promise.withResolvers<unknown>()
  queue.push(new PendingRecord({ ...ONE, key: Buffer.from("a") }, NOW_MS + 500, resolve))
  queue.push(record(5000, "a"))
  const taken = accumulator.take(queue, false, { ...PLENTY, roundTrips: roundTrips(700, 800) })
  expect(taken.map(({ deadlineMs }) => deadlineMs - NOW_MS)).toEqual([5000])
  expect(await promise).toMatchObject({ code: "deadline" })
})

test("a leader that was not answered lately is tried, however slow it was", () => {
  const all = roundTrips(900, 800)
  expect(all.leastMs(NOW_MS)).toBe(800)
  expect(all.leastMs(NOW_MS + 1001)).toBe(0)
  expect(all.longestMs).toBe(900)
})

test.each([
  ["records with a key", true],
  ["records without a key", false],
])("%s do not wait while others without a deadline keep coming", (_, isKeyed) => {
  const accumulator = accumulatorOf()
  const queue = new PendingQueue()
  const [waiting, others] = isKeyed ? [queue, accumulator.unkeyed] : [accumulator.unkeyed, queue]
  waiting.push(record(1000))
  for (let taken = 0; taken < 2; taken++) {
    others.push(record(Infinity))
    accumulator.take(queue, true, PLENTY)
  }
  expect(waiting.length).toBe(0)
})
