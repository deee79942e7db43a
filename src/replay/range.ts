import type { LogReader, OffsetRange } from "../brokers/broker.ts"
import type { Matches } from "../brokers/record-filter.ts"
import { steadyMs } from "../clock/clock.ts"
import { HooklineError } from "../errors.ts"

/** Which records of a topic. Without limits: all that it holds now. */
export interface RecordRange {
  /** Only this partition. */
  readonly partition?: number | undefined
  /** The first offset, of each partition. */
  readonly fromOffset?: number | undefined
  /** The first offset that is not included. */
  readonly untilOffset?: number | undefined
  /** Milliseconds since 1970. */
  readonly sinceMs?: number | undefined
  /** The first millisecond that is not included. */
  readonly untilMs?: number | undefined
}

/** Records of a topic, as of one moment. */
export interface Selection {
  readonly topic: string
  readonly ranges: readonly OffsetRange[]
  /** Partitions of the topic. */
  readonly partitions: number
}

/** @throws HooklineError `usage` for a partition that the topic does not have, `no_topic`, `unavailable`, `no_input` */
export async function selectRecords(
  reader: LogReader,
  topic: string,
  { partition, fromOffset = 0, untilOffset = Number.POSITIVE_INFINITY, sinceMs, untilMs }: RecordRange,
): Promise<Selection> {
  const all = await reader.ranges(topic, { sinceMs, untilMs })
  const chosen = partition === undefined ? all : all.filter((one) => one.partition === partition)
  if (chosen.length === 0)
    throw new HooklineError("usage", `topic ${topic} has no partition ${partition}; it has ${all.length}`)
  const ranges = chosen.map(({ partition, first, end }) => {
    const from = Math.min(Math.max(first, fromOffset), end)
    return { partition, first: from, end: Math.max(from, Math.min(end, untilOffset)) }
  })
  return { topic, ranges, partitions: all.length }
}

/** How many offsets there are from the beginnings of ranges to their ends. */
export const lengthOf = (ranges: readonly OffsetRange[]): number =>
  ranges.reduce((sum, { first, end }) => sum + end - first, 0)

export interface RecordCount {
  readonly records: number
  /** Else it is estimated: by offsets, and where records have to match, by the share of those read that do. */
  readonly isExact: boolean
}

/**
 * Counts records by reading them, for a limited time.
 *
 * @throws HooklineError `no_topic`, `unavailable`, `no_input`
 */
export async function countRecords(
  reader: LogReader,
  { topic, ranges }: Selection,
  matches: Matches | undefined,
  { signal, limitMs }: { readonly signal: AbortSignal; readonly limitMs: number },
): Promise<RecordCount> {
  const untilMs = steadyMs() + limitMs
  let read = 0
  let matching = 0
  for await (const record of reader.read(topic, ranges, { retries: false, signal })) {
    read++
    if (matches?.(record) !== false) matching++
    if (read % 64 === 0 && steadyMs() >= untilMs) {
      const offsets = lengthOf(ranges)
      return { records: Math.round((offsets * matching) / read), isExact: false }
    }
  }
  return { records: matching, isExact: !signal.aborted }
}
