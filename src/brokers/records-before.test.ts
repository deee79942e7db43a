import { expect, test } from "bun:test"
import * as fc from "fast-check"
import type { LogReader, OffsetRange, StoredRecord } from "./broker.ts"
import { mergeByTime } from "./merge-by-time.ts"
import { lastRecords, recordsBefore } from "./records-before.ts"

const { signal } = new AbortController()

/** Partitions of records by their times; offsets skip one after each, as after a transaction's marker. */
function logOf(partitions: readonly (readonly number[])[]): {
  reader: LogReader
  ranges: OffsetRange[]
  read: number[]
} {
  const records = partitions.map((times, partition) =>
    times.map((timestampMs, at): StoredRecord => {
      return {
        topic: "t",
        partition,
        offset: at * 2,
        timestampMs,
        key: undefined,
        value: Buffer.alloc(0),
        headers: [],
      }
    }),
  )
  const read: number[] = []
  async function* one({ partition, first, end }: OffsetRange): AsyncGenerator<StoredRecord> {
    for (const record of records[partition]!) {
      if (record.offset < first || record.offset >= end) continue
      read.push(record.offset)
      yield record
    }
  }
  const reader: LogReader = {
    topics: () => Promise.resolve([]),
    clusterId: () => Promise.resolve(undefined),
    ranges: () => Promise.resolve([]),
    read: (_, ranges) => mergeByTime(ranges.map(one)),
    close: () => Promise.resolve(),
  }
  const ranges = partitions.map((times, partition) => ({ partition, first: 0, end: times.length * 2 }))
  return { reader, ranges, read }
}

const place = ({ partition, offset }: StoredRecord): string => `${partition}:${offset}`
const readAll = (reader: LogReader, ranges: readonly OffsetRange[]): Promise<StoredRecord[]> =>
  Array.fromAsync(reader.read("t", ranges, { retries: false, signal }))

test("the last records are those at the end of all records merged by time, whatever their times", async () => {
  const times = fc.array(fc.integer({ min: 0, max: 50 }), { maxLength: 30 })
  const logs = fc.array(times, { minLength: 1, maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(
      logs,
      fc.nat({ max: 40 }),
      fc.integer({ min: 1, max: 4 }),
      async (partitions, count, every) => {
        const { reader, ranges } = logOf(partitions)
        const matches =
          every === 1 ? undefined : ({ offset }: StoredRecord): boolean => offset % (2 * every) === 0
        const all = (await readAll(reader, ranges)).filter((it) => matches?.(it) ?? true)
        const last = await lastRecords(reader, "t", ranges, count, matches, signal)
        const found = (await readAll(reader, last)).filter((it) => matches?.(it) ?? true)
        expect(found).toHaveLength(Math.min(count, all.length))
        const risen = partitions.every((times) =>
          times.every((time, at) => at === 0 || times[at - 1]! <= time),
        )
        if (risen && partitions.length === 1)
          expect(found.map(place)).toEqual(all.slice(all.length - found.length).map(place))
        // either of two equal times may be left out
        if (risen)
          expect(found.map(({ timestampMs }) => timestampMs)).toEqual(
            all.slice(all.length - found.length).map(({ timestampMs }) => timestampMs),
          )
      },
    ),
  )
})

test("only what is asked for is read, a partition's end first", async () => {
  const { reader, ranges, read } = logOf([Array.from({ length: 10_000 }, (_, at) => at)])
  await lastRecords(reader, "t", ranges, 20, undefined, signal)
  expect(read.length).toBeLessThan(60)
})

test("a filter that leaves out most records ends after the offsets that may be read, and says where to continue", async () => {
  const { reader, ranges } = logOf([0, 1, 2].map(() => Array.from({ length: 5000 }, (_, at) => at)))
  const matches = (): boolean => false
  const options = { limit: 10, maxScanned: 6000, matches, toValue: place, signal }
  const { records, older, scanned } = await recordsBefore(reader, "t", ranges, options)
  expect([records, scanned]).toEqual([[], 6000])
  expect(older).toEqual([0, 1, 2].map((partition) => ({ partition, first: 0, end: 8000 })))
})
