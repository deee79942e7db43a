import { pause } from "../../clock/clock.ts"
import type { LogReader, OffsetRange, StoredRecord } from "../../brokers/broker.ts"
import type { Matches } from "../../brokers/record-filter.ts"
import { HooklineError } from "../../errors.ts"
import { lengthOf } from "../../replay/range.ts"
import { encodeEvent, type EventStream } from "./event-stream.ts"
import { formatOffsets } from "./offsets.ts"
import type { LiveRecords, RecordSummary } from "./shapes.ts"

/** Pause between two polls of a topic, in milliseconds. */
const POLL_MS = 200
/** At least that for each partition: many cost no more than some. */
const PARTITION_MS = 5
/** While more comes than is sent: no one reads so fast, and each poll costs the service half a millisecond. */
const FLOODED_MS = 800
/** Polls in a row that found more, within a second: a single burst is shown at once. */
const FLOODED_POLLS = 5
/** Records of one event and of one poll: further ones are skipped unread, since they fill no screen. */
const MAX_RECORDS = 40
/** Where a filter leaves out most of them. */
const MAX_FILTERED = 2000
/** Records that a stream catches up with after it was broken off. */
const MAX_MISSED = 2000
/** While the broker can't be read. */
const RETRY_MS = 1000

interface LiveOptions {
  readonly reader: LogReader
  readonly topic: string
  readonly matches: Matches | undefined
  readonly summarize: (record: StoredRecord) => RecordSummary
  /** Offsets to begin at; undefined or empty: the end. */
  readonly last: ReadonlyMap<number, number> | undefined
  readonly stream: EventStream
}

/**
 * Sends the new records of a topic until the stream ends. It polls the topic's end five times a second, and every 0.8 s
 * while more than two hundred records a second come, most of which are skipped unread: a tail costs the same at any rate.
 */
export async function liveRecords(options: LiveOptions): Promise<void> {
  const { reader, topic, last, stream } = options
  const { ended: signal } = stream
  let next: ReadonlyMap<number, number> | undefined = last !== undefined && last.size > 0 ? last : undefined
  let mayHaveMissed = next !== undefined
  let waitMs = POLL_MS
  let floodedPolls = 0
  while (!signal.aborted) {
    try {
      const ranges = await reader.ranges(topic)
      if (next === undefined) {
        next = new Map(ranges.map(({ partition, end }) => [partition, end]))
        // a stream that breaks off before the first record continues from here
        stream.send(
          encodeEvent("records", { records: [], skipped: 0 } satisfies LiveRecords, formatOffsets(next)),
        )
      } else if (stream.isReading) {
        const max = mayHaveMissed ? MAX_MISSED : options.matches === undefined ? MAX_RECORDS : MAX_FILTERED
        const added = newOf(ranges, next)
        next = await sendNew(options, added, max)
        mayHaveMissed = false
        floodedPolls = lengthOf(added) > (max * waitMs) / POLL_MS ? floodedPolls + 1 : 0
        waitMs = floodedPolls >= FLOODED_POLLS ? FLOODED_MS : POLL_MS
      }
      waitMs = Math.max(waitMs, ranges.length * PARTITION_MS)
    } catch (error) {
      if (!(error instanceof HooklineError) || error.code !== "unavailable") throw error
      mayHaveMissed = next !== undefined
      await pause(RETRY_MS, signal)
    }
    await pause(waitMs, signal)
  }
}

/** What came since: all of a partition that was added, or of a topic that was created again. */
function newOf(ranges: readonly OffsetRange[], next: ReadonlyMap<number, number>): OffsetRange[] {
  return ranges.map((range) => {
    const from = next.get(range.partition) ?? 0
    return { ...range, first: from > range.end ? range.first : Math.max(range.first, from) }
  })
}

/** @returns where to continue: what the client could not be sent comes next time, or is skipped then */
async function sendNew(
  { reader, topic, matches, summarize, stream }: LiveOptions,
  ranges: readonly OffsetRange[],
  max: number,
): Promise<ReadonlyMap<number, number>> {
  const count = lengthOf(ranges)
  const narrowed = lastOf(ranges, count, max)
  const positions = new Map(narrowed.map(({ partition, first }) => [partition, first]))
  let sent: ReadonlyMap<number, number> = new Map(ranges.map(({ partition, first }) => [partition, first]))
  let skipped = Math.max(0, count - max)
  let records: RecordSummary[] = []
  /** @returns false: the client does not read */
  const flush = (): boolean => {
    if (records.length > 0 || skipped > 0) {
      const event: LiveRecords = { records, skipped }
      if (!stream.send(encodeEvent("records", event, formatOffsets(positions)))) return false
    }
    records = []
    skipped = 0
    sent = new Map(positions)
    return true
  }
  const wanted = narrowed.filter(({ first, end }) => first < end)
  if (wanted.length === 0) return sent
  for await (const record of reader.read(topic, wanted, { retries: false, signal: stream.ended })) {
    positions.set(record.partition, record.offset + 1)
    if (matches?.(record) !== false) records.push(summarize(record))
    if (records.length < MAX_RECORDS) continue
    if (!flush()) return sent
    await new Promise(setImmediate)
  }
  for (const { partition, end } of narrowed) positions.set(partition, end)
  flush()
  return sent
}

/** The last `max` of some ranges, each partition's share by what it has. */
function lastOf(ranges: readonly OffsetRange[], count: number, max: number): OffsetRange[] {
  if (count <= max) return [...ranges]
  return ranges.map((range) => {
    const kept = Math.floor(((range.end - range.first) * max) / count)
    return { ...range, first: range.end - kept }
  })
}
