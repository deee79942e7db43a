import type { LogReader, OffsetRange, StoredRecord } from "./broker.ts"
import type { Matches } from "./record-filter.ts"

/** Records that are read at once, where a filter leaves most of them out. */
const FILTERED_CHUNK = 500
const LEAST_CHUNK = 16
/** How long reading keeps the event loop, in milliseconds. */
const SLICE_MS = 5

interface Page<T> {
  /** The newest first. */
  readonly records: readonly T[]
  /** What each partition has before these records; empty: nothing. */
  readonly older: readonly OffsetRange[]
  /** Offsets that were read. */
  readonly scanned: number
}

/** A partition that is read backwards, in growing chunks. */
interface Backward<T> {
  readonly range: OffsetRange
  /** Everything from here on was read. */
  at: number
  /** What was read and is on no page yet, the newest last. */
  found: { readonly offset: number; readonly timestampMs: number; readonly value: T }[]
  chunk: number
}

/**
 * Reads the last records of some ranges, by time across partitions, without reading the rest. Holds what `toValue` makes of
 * records, not these.
 *
 * @throws HooklineError as LogReader
 */
export async function recordsBefore<T>(
  reader: LogReader,
  topic: string,
  ranges: readonly OffsetRange[],
  {
    limit,
    maxScanned = Number.POSITIVE_INFINITY,
    matches,
    toValue,
    signal,
  }: {
    readonly limit: number
    /** Offsets to read at most, where a filter leaves out most records. */
    readonly maxScanned?: number
    readonly matches: Matches | undefined
    readonly toValue: (record: StoredRecord) => T
    readonly signal: AbortSignal
  },
): Promise<Page<T>> {
  const share = Math.max(LEAST_CHUNK, Math.ceil(limit / Math.max(1, ranges.length)))
  const parts = ranges.map((range): Backward<T> => {
    const chunk = matches === undefined ? share : FILTERED_CHUNK
    return { range, at: range.end, found: [], chunk }
  })
  const records: T[] = []
  let scanned = 0
  let endsMs = performance.now() + SLICE_MS
  const readChunk = async (part: Backward<T>, most: number): Promise<void> => {
    const { range } = part
    const first = Math.max(range.first, part.at - Math.min(part.chunk, most))
    const read: Backward<T>["found"] = []
    const chunk = [{ partition: range.partition, first, end: part.at }]
    for await (const record of reader.read(topic, chunk, { retries: false, signal })) {
      if (matches?.(record) !== false)
        read.push({ offset: record.offset, timestampMs: record.timestampMs, value: toValue(record) })
      if (performance.now() < endsMs) continue
      await new Promise(setImmediate)
      endsMs = performance.now() + SLICE_MS
    }
    part.found = read
    scanned += part.at - first
    part.at = first
    part.chunk *= 2
  }
  const isOver = (part: Backward<T>): boolean => part.at <= part.range.first
  while (records.length < limit) {
    const lacking = parts.filter((part) => part.found.length === 0 && !isOver(part))
    if (lacking.length > 0 && (scanned >= maxScanned || signal.aborted)) break
    if (lacking.length > 0) {
      const most = Math.max(1, Math.floor((maxScanned - scanned) / lacking.length))
      await Promise.all(lacking.map((part) => readChunk(part, most)))
      // a chunk may have no record: offsets have gaps, and the filter leaves out
      continue
    }
    const newest = newestOf(parts)
    if (newest === undefined) break
    records.push(newest.found.pop()!.value)
  }
  const older = parts.flatMap(({ range, at, found }) => {
    const end = found.length > 0 ? found.at(-1)!.offset + 1 : at
    return end > range.first ? [{ ...range, end }] : []
  })
  return { records, older, scanned }
}

/**
 * Narrows ranges to the last `count` records that match, by time across partitions.
 *
 * @param matches undefined: every record does
 */
export async function lastRecords(
  reader: LogReader,
  topic: string,
  ranges: readonly OffsetRange[],
  count: number,
  matches: Matches | undefined,
  signal: AbortSignal,
): Promise<OffsetRange[]> {
  const toValue = ({ partition, offset }: StoredRecord): readonly [number, number] => [partition, offset]
  const { records } = await recordsBefore(reader, topic, ranges, { limit: count, matches, toValue, signal })
  // the oldest record of each partition comes last
  const firsts = new Map(records)
  return ranges.map((range) => ({ ...range, first: firsts.get(range.partition) ?? range.end }))
}

/** The partition whose last record is the newest. */
function newestOf<T>(parts: readonly Backward<T>[]): Backward<T> | undefined {
  let newest: Backward<T> | undefined
  for (const part of parts) {
    const last = part.found.at(-1)
    if (last !== undefined && last.timestampMs >= (newest?.found.at(-1)!.timestampMs ?? -Infinity))
      newest = part
  }
  return newest
}
