import { nextTurn } from "../clock/slices.ts"
import type { LogReader, OffsetRange, TimeRange } from "./broker.ts"

/** Lookups of offsets by time that are under way at once. */
const AT_ONCE = 10
/** Offsets at the beginning of a partition in which its first record is looked for: some may have none. */
const FIRST_OFFSETS = 20

interface CountsByTime {
  /** Milliseconds since 1970. */
  readonly sinceMs: number
  readonly untilMs: number
  /** How many records each of the equal parts of that time has; none: there is no record. */
  readonly counts: readonly number[]
}

/**
 * Counts a topic's records by their time: as differences of offsets, so that millions cost as little as a few, and nothing is
 * read but the oldest ones. Without `sinceMs` the first part begins with these; without `untilMs` the last one ends now.
 *
 * @throws HooklineError as LogReader
 */
export async function countByTime(
  reader: LogReader,
  topic: string,
  { sinceMs, untilMs = Date.now() }: TimeRange,
  { parts, signal }: { readonly parts: number; readonly signal: AbortSignal },
): Promise<CountsByTime> {
  const whole = await reader.ranges(topic, { sinceMs, untilMs })
  const ranges = whole.filter(({ first, end }) => first < end)
  const startMs = sinceMs ?? (await oldestMs(reader, topic, ranges, signal))
  if (startMs >= untilMs || ranges.length === 0) return { sinceMs: untilMs, untilMs, counts: [] }
  const ends = new Map(ranges.map(({ partition, end }) => [partition, end]))
  const reached = new Map(ranges.map(({ partition, first }) => [partition, first]))
  const countTo = (bounds: readonly OffsetRange[]): number => {
    let count = 0
    for (const { partition, first } of bounds) {
      const from = reached.get(partition)
      if (from === undefined) continue
      // where the clock was set back, an offset of a later time may be lower
      const to = Math.min(Math.max(from, first), ends.get(partition)!)
      count += to - from
      reached.set(partition, to)
    }
    return count
  }
  const counts: number[] = []
  for (let part = 1; part < parts && !signal.aborted; part += AT_ONCE) {
    const times = Array.from({ length: Math.min(AT_ONCE, parts - part) }, (_, n) => part + n)
    const timeOf = (it: number): number => startMs + ((untilMs - startMs) * it) / parts
    const bounds = await Promise.all(times.map((it) => reader.ranges(topic, { sinceMs: timeOf(it) })))
    counts.push(...bounds.map(countTo))
    await nextTurn()
  }
  counts.push(countTo(ranges.map((range) => ({ ...range, first: range.end }))))
  return { sinceMs: startMs, untilMs, counts }
}

/** The time of the oldest record; Infinity: there is none. */
async function oldestMs(
  reader: LogReader,
  topic: string,
  ranges: readonly OffsetRange[],
  signal: AbortSignal,
): Promise<number> {
  let oldest = Number.POSITIVE_INFINITY
  for (const range of ranges) {
    const begin = { ...range, end: Math.min(range.end, range.first + FIRST_OFFSETS) }
    for await (const { timestampMs } of reader.read(topic, [begin], { retries: false, signal })) {
      oldest = Math.min(oldest, timestampMs)
      break
    }
  }
  return oldest
}
