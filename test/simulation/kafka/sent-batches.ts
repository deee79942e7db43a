import { ByteReader } from "../../../src/kafka-protocol/byte-reader.ts"
import { isIn, readRequest } from "../../../src/kafka-protocol/fields.ts"
import { Produce } from "../../../src/kafka-protocol/messages.ts"
import { readBatch, type RecordBatch } from "./record-batches.ts"

interface SentBatch {
  readonly topic: string
  readonly index: number
  /** Undefined: damaged. */
  readonly batch: RecordBatch | undefined
}

/** The batches of a request as a client writes it; none, if it is another request. */
export function sentBatches(frame: Buffer): SentBatch[] {
  const from = new ByteReader(frame)
  from.int32()
  if (from.int16() !== Produce.key) return []
  const version = from.int16()
  from.int32()
  from.take(Math.max(0, from.int16()))
  if (isIn(Produce.flexible, version)) from.skipTags()
  return readRequest(Produce, version, from).topicData.flatMap(({ name: topic, partitionData }) =>
    partitionData.map(({ index, records }) => ({ topic, index, batch: readBatch(records as Buffer) })),
  )
}
