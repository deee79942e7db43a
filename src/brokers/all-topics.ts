import { nextTurn } from "../clock/slices.ts"
import { HooklineError } from "../errors.ts"
import type { LogReader, OffsetRange, StoredRecord, TimeRange } from "./broker.ts"
import { mergeByTime } from "./merge-by-time.ts"
import { murmur2 } from "./murmur2.ts"

/** Partitions that are read side by side at most: their offsets have to fit into a URL. */
export const MOST_PARTITIONS = 200
/** Topics whose offsets are looked up at once. */
const AT_ONCE = 20
/** More partitions than a topic that is read has. */
const SLOTS = 1000

/** A number of a topic's partition that none of other topics has; the same in every process. */
const slotOf = (topic: string, partition: number): number => hashOf(topic) * SLOTS + partition
const hashOf = (topic: string): number => murmur2(Buffer.from(topic)) >>> 0

/** A reader that shows many topics as a single one, each of whose partitions, its slots, is a partition of one of them. */
export interface AllTopics extends LogReader {
  /** Topics whose partitions are too many to be read, too, as of the last `ranges`. */
  readonly leftOut: number
}

/**
 * Reads topics side by side. Those that do not exist yet have no records.
 *
 * @param names those that matter most first
 * @param within slots of which one has to be a topic's; undefined: all topics
 */
export function allTopics(
  reader: LogReader,
  names: Iterable<string>,
  within: ReadonlyMap<number, unknown> | undefined,
): AllTopics {
  const wanted = within && new Set([...within.keys()].map(hashOfSlot))
  const topics = new Map<number, string>()
  for (const name of names) {
    const hash = hashOf(name)
    if (wanted?.has(hash) !== false && !topics.has(hash)) topics.set(hash, name)
  }
  let leftOut = 0
  return {
    get leftOut() {
      return leftOut
    },
    topics: () => reader.topics(),
    clusterId: () => reader.clusterId(),
    close: () => reader.close(),
    async ranges(_, times) {
      const all = [...topics.values()]
      const found: OffsetRange[] = []
      let at = 0
      let dropped = 0
      for (; at < all.length && found.length < MOST_PARTITIONS; at += AT_ONCE) {
        const next = all.slice(at, at + AT_ONCE)
        const ranges = await Promise.all(next.map((name) => rangesIfAny(reader, name, times)))
        for (const [n, of] of ranges.entries())
          if (found.length + of.length <= MOST_PARTITIONS)
            found.push(...of.map((it) => ({ ...it, partition: slotOf(next[n]!, it.partition) })))
          else dropped++
        await nextTurn()
      }
      leftOut = dropped + Math.max(0, all.length - at)
      return found
    },
    read(_, ranges, { retries, signal }) {
      const byTopic = Map.groupBy(ranges, ({ partition }) => topics.get(hashOfSlot(partition))!)
      const readings = [...byTopic].map(async function* ([topic, of]): AsyncGenerator<StoredRecord> {
        const real = of.map((it) => ({ ...it, partition: it.partition % SLOTS }))
        for await (const record of reader.read(topic, real, { retries, signal }))
          yield { ...record, partition: slotOf(topic, record.partition) }
      })
      return readings.length === 1 ? readings[0]! : mergeByTime(readings)
    },
  }
}

const hashOfSlot = (slot: number): number => Math.floor(slot / SLOTS)

/** The partition of a slot. */
export const partitionOfSlot = (slot: number): number => slot % SLOTS

/** The ranges of a topic; none if it does not exist. @throws HooklineError as LogReader */
export const rangesIfAny = (
  reader: LogReader,
  topic: string,
  times?: TimeRange,
): Promise<readonly OffsetRange[]> =>
  reader.ranges(topic, times).catch((error: unknown) => {
    if (error instanceof HooklineError && error.code === "no_topic") return []
    throw error
  })
