import { produceV11, produceV7, produceV8, produceV9, Writer } from "@platformatic/kafka"
import type { KafkaConnection } from "./kafka-connection.ts"
import { responseOf } from "./kafka-failure.ts"
import type { Batch } from "./kafka-partition.ts"

type ProduceResponse = ReturnType<typeof produceV11.parseResponse>

/** Kafka 4 and 3, 2.4, 2.1. The request of 9 and later has compact lengths and tags, that of earlier ones has not. */
const VERSIONS = [produceV11, produceV9, produceV8, produceV7]
const FIRST_COMPACT = 9
/** How long the leader may wait for its followers before it answers REQUEST_TIMED_OUT. */
const ACKNOWLEDGE_MS = 2000
const ALL_IN_SYNC = -1

/**
 * Sends batches, one a partition, with acks=all. The answer may carry an error for each partition.
 *
 * The frame, its response and the connection are the client library's; the request's body is written here because the
 * library's encoder takes messages, not the encoded batches that a retry must repeat.
 */
export function produce(connection: KafkaConnection, batches: readonly Batch[]): Promise<ProduceResponse> {
  const { api, parseResponse } = connection.choose(VERSIONS)
  const compact = api.version >= FIRST_COMPACT
  return new Promise((resolve, reject) => {
    connection.raw.send<ProduceResponse>(
      api.key,
      api.version,
      () => request(batches, compact),
      parseResponse,
      compact,
      compact,
      (error, response) => {
        const answer = response ?? responseOf<ProduceResponse>(error)
        if (answer === undefined) reject(error ?? new Error("no response"))
        else resolve(answer)
      },
    )
  })
}

/**
 *     transactional_id string, none | acks int16 | timeout_ms int32
 *     topics: name string | partitions: index int32 | records bytes
 */
function request(batches: readonly Batch[], compact: boolean): Writer {
  const writer = Writer.create()
    .appendString(null, compact)
    .appendInt16(ALL_IN_SYNC)
    .appendInt32(ACKNOWLEDGE_MS)
  const topics = Map.groupBy(batches, ({ partition }) => partition.topic.name)
  writer.appendArray(
    [...topics],
    (_, [name, ofTopic]) => {
      writer.appendString(name, compact).appendArray(
        ofTopic,
        (_, { partition, bytes }) => {
          writer.appendInt32(partition.index).appendBytes(bytes, compact)
        },
        compact,
        compact,
      )
    },
    compact,
    compact,
  )
  return compact ? writer.appendTaggedFields() : writer
}
