import type { Log, Offsets, PartitionOf, Placed } from "../log.ts"
import type { LogView } from "../log-view.ts"
import { ERROR } from "../../kafka-protocol/error-codes.ts"
import type { ResponseOf } from "../../kafka-protocol/fields.ts"
import { ListOffsets, OffsetForLeaderEpoch } from "../../kafka-protocol/messages.ts"
import { checkEpoch, served } from "./context.ts"

/** Timestamps that stand for a place: org.apache.kafka.common.requests.ListOffsetsRequest. */
const LATEST = -1
const EARLIEST = -2
const MAX_TIMESTAMP = -3
const EARLIEST_LOCAL = -4
const LATEST_TIERED = -5
const EARLIEST_PENDING_UPLOAD = -6

type Listed = NonNullable<NonNullable<ResponseOf<typeof ListOffsets>["topics"]>[number]["partitions"]>[number]

export const listOffsets = served(ListOffsets, ({ topics }, { log }) => {
  const asked = new Asked()
  for (const { name, partitions } of topics)
    for (const { partitionIndex } of partitions) asked.add(name, partitionIndex)
  return {
    topics: topics.map(({ name, partitions }) => {
      const topic = log.topic(name)
      return {
        name,
        partitions: partitions.map(({ partitionIndex, timestamp }): Listed => {
          if (asked.isTwice(name, partitionIndex)) return { partitionIndex, errorCode: ERROR.INVALID_REQUEST }
          if (timestamp < EARLIEST_PENDING_UPLOAD)
            return { partitionIndex, errorCode: ERROR.UNSUPPORTED_VERSION }
          const of = topic && { topic, partition: partitionIndex }
          return unlessUnreadable(log, partitionIndex, () => {
            const offsets = of && log.offsets(of)
            if (offsets === undefined) return { partitionIndex, errorCode: ERROR.UNKNOWN_TOPIC_OR_PARTITION }
            const found = find(log.source, of!, offsets, timestamp)
            const leaderEpoch = found.offset === -1 ? -1 : log.source.epochAt(of!, found.offset!)
            return { partitionIndex, leaderEpoch, ...found }
          })
        }),
      }
    }),
  }
})

/** Records that can't be read have no place in an answer. */
function unlessUnreadable(log: LogView, partitionIndex: number, list: () => Listed): Listed {
  try {
    return list()
  } catch (error) {
    const errorCode = log.codeOf(error)
    if (errorCode === undefined) throw error
    return { partitionIndex, errorCode }
  }
}

/** The partitions that a request names, and which of them it names twice. */
class Asked {
  readonly #once = new Set<string>()
  readonly #twice = new Set<string>()

  add(topic: string, partition: number): void {
    const key = `${partition} ${topic}`
    if (this.#once.has(key)) this.#twice.add(key)
    this.#once.add(key)
  }

  isTwice(topic: string, partition: number): boolean {
    return this.#twice.size > 0 && this.#twice.has(`${partition} ${topic}`)
  }
}

/** The place of a time, which may be one of those above. */
function find(log: Log, of: PartitionOf, offsets: Offsets, timeMs: number): Listed {
  switch (timeMs) {
    case LATEST:
      return { offset: offsets.end }
    case EARLIEST:
    case EARLIEST_LOCAL:
    case EARLIEST_PENDING_UPLOAD:
      return { offset: offsets.first }
    case LATEST_TIERED:
      return { offset: -1 }
    case MAX_TIMESTAMP:
      // times rise with offsets, but for a clock that was set back
      return placed(log.last(of))
    default:
      return placed(log.firstAt(of, timeMs))
  }
}

const placed = (found: Placed | undefined): Listed =>
  found === undefined ? { offset: -1 } : { offset: found.offset, timestamp: found.timestampMs }

/** Shows a client that has read further than a log's copy, which then replaced it, where the copy ended (KIP-320). */
export const offsetForLeaderEpoch = served(OffsetForLeaderEpoch, ({ topics }, { log }) => ({
  topics: topics.map(({ topic: name, partitions }) => {
    const topic = log.topic(name)
    return {
      topic: name,
      partitions: partitions.map(({ partition, currentLeaderEpoch, leaderEpoch }) => {
        const of = topic && { topic, partition }
        const offsets = of && log.offsets(of)
        if (offsets === undefined) return { partition, errorCode: ERROR.UNKNOWN_TOPIC_OR_PARTITION }
        const errorCode = checkEpoch(currentLeaderEpoch, log.source)
        if (errorCode !== ERROR.NONE) return { partition, errorCode }
        if (leaderEpoch < 0 || leaderEpoch > log.source.epoch) return { partition }
        const endOffset = log.source.epochEnd(of!, leaderEpoch) ?? offsets.end
        return { partition, leaderEpoch: log.source.epochUpTo(leaderEpoch), endOffset }
      }),
    }
  }),
}))
