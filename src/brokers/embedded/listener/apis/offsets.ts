import type { LogView, Topic } from "../log-view.ts"
import { ERROR } from "../protocol/error-codes.ts"
import type { ResponseOf } from "../protocol/fields.ts"
import { ListOffsets, OffsetForLeaderEpoch } from "../protocol/messages.ts"
import { LEADER_EPOCH } from "../protocol/record-batch.ts"
import { PARTITION, served } from "./context.ts"

/** Timestamps that stand for a place: org.apache.kafka.common.requests.ListOffsetsRequest. */
const LATEST = -1
const EARLIEST = -2
const MAX_TIMESTAMP = -3
const EARLIEST_LOCAL = -4
const LATEST_TIERED = -5
const EARLIEST_PENDING_UPLOAD = -6

type Listed = NonNullable<NonNullable<ResponseOf<typeof ListOffsets>["topics"]>[number]["partitions"]>[number]

export const listOffsets = served(ListOffsets, ({ topics }, { log }) => ({
  topics: topics.map(({ name, partitions }) => {
    const topic = log.topic(name)
    return {
      name,
      partitions: partitions.map(({ partitionIndex, timestamp }): Listed => {
        if (topic === undefined || partitionIndex !== PARTITION)
          return { partitionIndex, errorCode: ERROR.UNKNOWN_TOPIC_OR_PARTITION }
        return { partitionIndex, leaderEpoch: LEADER_EPOCH, ...find(log, topic, timestamp) }
      }),
    }
  }),
}))

/** The place of a time, which may be one of those above. */
function find(log: LogView, topic: Topic, timeMs: number): Listed {
  switch (timeMs) {
    case LATEST:
      return { offset: log.offsets(topic).end }
    case EARLIEST:
    case EARLIEST_LOCAL:
    case EARLIEST_PENDING_UPLOAD:
      return { offset: log.offsets(topic).first }
    case LATEST_TIERED:
      return { offset: -1, leaderEpoch: -1 }
    case MAX_TIMESTAMP:
      // times rise with offsets, but for a clock that was set back
      return placed(log.last(topic))
    default:
      return placed(log.firstAt(topic, timeMs))
  }
}

const placed = (found: { offset: number; timestampMs: number } | undefined): Listed =>
  found === undefined
    ? { offset: -1, leaderEpoch: -1 }
    : { offset: found.offset, timestamp: found.timestampMs }

/** The log has had one epoch: what a client has read was never taken back. */
export const offsetForLeaderEpoch = served(OffsetForLeaderEpoch, ({ topics }, { log }) => ({
  topics: topics.map(({ topic: name, partitions }) => {
    const topic = log.topic(name)
    return {
      topic: name,
      partitions: partitions.map(({ partition, currentLeaderEpoch, leaderEpoch }) => {
        if (topic === undefined || partition !== PARTITION)
          return { partition, errorCode: ERROR.UNKNOWN_TOPIC_OR_PARTITION }
        if (currentLeaderEpoch > LEADER_EPOCH) return { partition, errorCode: ERROR.UNKNOWN_LEADER_EPOCH }
        if (leaderEpoch !== LEADER_EPOCH) return { partition }
        return { partition, leaderEpoch: LEADER_EPOCH, endOffset: log.offsets(topic).end }
      }),
    }
  }),
}))
