// Hot path: every batch that is sent to a broker or read by a consumer.
import { crc32c } from "./crc32c.ts"

/*
 * The bytes of a record batch (magic 2), https://kafka.apache.org/41/design/design/#record-batch
 *
 *     baseOffset int64 | batchLength int32 | partitionLeaderEpoch int32 | magic int8 = 2 | crc uint32
 *     attributes int16 | lastOffsetDelta int32 | baseTimestamp int64 | maxTimestamp int64
 *     producerId int64 | producerEpoch int16 | baseSequence int32 | count int32 | records, compressed as one
 *
 * batchLength counts from after itself, the CRC-32C from after itself. A record:
 *
 *     length varint | attributes int8 = 0 | timestampDelta varint | offsetDelta varint
 *     keyLength varint, -1: none | key | valueLength varint | value
 *     headers varint, each: nameLength varint | name, UTF-8 | valueLength varint | value
 */

/** Bytes before the records of a batch. */
export const BATCH_HEADER_BYTES = 61
const LENGTH_AT = 8
const EPOCH_AT = 12
const CHECKSUM_AT = 17
const ATTRIBUTES_AT = 21

export interface BatchHeader {
  readonly baseOffset: number
  /** The epoch of the leader that a consumer reads it from; -1 in a producer's request. */
  readonly leaderEpoch: number
  readonly lastOffsetDelta: number
  /** Milliseconds since 1970. */
  readonly baseTimestamp: number
  readonly maxTimestamp: number
  readonly count: number
  /** undefined: no idempotent producer sent it. */
  readonly sequence: Sequence | undefined
}

/** Who sends a batch, and its position among the batches of this producer for the partition. */
export interface Sequence {
  readonly producerId: bigint
  readonly producerEpoch: number
  readonly baseSequence: number
}

/** Writes the header of a batch that is all of the bytes, its records behind BATCH_HEADER_BYTES, which are not compressed. */
export function writeBatchHeader(bytes: Buffer, header: BatchHeader): void {
  const { sequence } = header
  bytes.writeBigInt64BE(BigInt(header.baseOffset), 0)
  bytes.writeInt32BE(header.leaderEpoch, EPOCH_AT)
  bytes[16] = 2
  bytes.writeInt32BE(header.lastOffsetDelta, 23)
  bytes.writeBigInt64BE(BigInt(header.baseTimestamp), 27)
  bytes.writeBigInt64BE(BigInt(header.maxTimestamp), 35)
  bytes.writeBigInt64BE(sequence?.producerId ?? -1n, 43)
  bytes.writeInt16BE(sequence?.producerEpoch ?? -1, 51)
  bytes.writeInt32BE(sequence?.baseSequence ?? -1, 53)
  bytes.writeInt32BE(header.count, 57)
  setAttributes(bytes, 0)
}

/** Sets the attributes, which say how the records are compressed, then the length and the checksum of the batch. */
export function setAttributes(bytes: Buffer, attributes: number): void {
  bytes.writeInt32BE(bytes.length - EPOCH_AT, LENGTH_AT)
  bytes.writeInt16BE(attributes, ATTRIBUTES_AT)
  bytes.writeUInt32BE(crc32c(bytes.subarray(ATTRIBUTES_AT)), CHECKSUM_AT)
}

/** Sets the leader epoch, which no checksum covers. */
export const setLeaderEpoch = (bytes: Buffer, epoch: number): void => void bytes.writeInt32BE(epoch, EPOCH_AT)
