import type { LogReader, OffsetRange, StoredRecord } from "./broker.ts"

/** At least so many records are read at once, going back, where not every record counts. */
const LEAST_WINDOW = 1000

/** A record, as far as the last ones are found by it. */
type Mark = Pick<StoredRecord, "partition" | "offset" | "timestampMs">

/**
 * Narrows ranges to the last `count` records that match, by time across partitions. Each partition is read backwards from its
 * end, in growing steps, until `count` have matched.
 *
 * @param matches undefined: every record does
 */
export async function lastRecords(
  reader: LogReader,
  topic: string,
  ranges: readonly OffsetRange[],
  count: number,
  matches: ((record: StoredRecord) => boolean) | undefined,
  signal: AbortSignal,
): Promise<OffsetRange[]> {
  const lastOf = async (range: OffsetRange): Promise<Mark[]> => {
    let found: Mark[] = []
    let end = range.end
    let window = matches === undefined ? count : Math.max(count, LEAST_WINDOW)
    while (found.length < count && end > range.first && !signal.aborted) {
      const first = Math.max(range.first, end - window)
      const earlier: Mark[] = []
      for await (const record of reader.read(topic, [{ ...range, first, end }], { retries: false, signal })) {
        if (matches?.(record) === false) continue
        earlier.push({
          partition: record.partition,
          offset: record.offset,
          timestampMs: record.timestampMs,
        })
      }
      found = [...earlier, ...found]
      end = first
      window *= 2
    }
    return risingTimes(found.slice(-count))
  }
  if (count === 0) return ranges.map((range) => ({ ...range, first: range.end }))
  const marks = (await Promise.all(ranges.map(lastOf))).flat()
  const last = marks.toSorted((a, b) => a.timestampMs - b.timestampMs).slice(-count)
  return ranges.map((range) => {
    const first = last.find(({ partition }) => partition === range.partition)?.offset
    return { ...range, first: first ?? range.end }
  })
}

/** Times of a partition as merging by time sees them: a record comes after those before it, whatever its own time. */
function risingTimes(marks: readonly Mark[]): Mark[] {
  let latestMs = Number.NEGATIVE_INFINITY
  return marks.map((mark) => ({ ...mark, timestampMs: (latestMs = Math.max(latestMs, mark.timestampMs)) }))
}
