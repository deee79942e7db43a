import { produceV11, produceV7, produceV9 } from "./client-library.ts"
import type { KafkaConnection } from "./connection.ts"
import type { Batch } from "./partition.ts"

/** Of Kafka 4, of 2.4 on, and of old releases and Event Hubs: a release may end the support of old versions. */
const VERSIONS = [produceV11, produceV9, produceV7]

/** Sends batches, one a partition, with acks=all. @param timeoutMs how long the leader waits for its followers */
export function produce(
  connection: KafkaConnection,
  batches: readonly Batch[],
  timeoutMs: number,
): Promise<readonly BatchAnswer[]> {
  const { key, version } = connection.choose(VERSIONS).api
  const topics = byTopic(batches)
  const api = { key, version, answerHasTags: isCompact(version) }
  const { raw } = connection
  const { promise, resolve, reject } = Promise.withResolvers<readonly BatchAnswer[]>()
  raw.request(
    api,
    encodeRequest(topics, version, raw.headBytes, timeoutMs),
    (body) => decodeResponse(body, version, topics),
    (error, answers) => {
      if (answers === undefined) reject(error)
      else resolve(answers)
    },
  )
  return promise
}

/*
 * The bodies of a produce request and its response, https://kafka.apache.org/41/design/protocol/#The_Messages_Produce
 *
 *     request:  transactional_id string, none | acks int16 | timeout_ms int32
 *               topics: name string | partitions: index int32 | records bytes
 *     response: topics: name string | partitions: index int32 | error int16 | base_offset int64
 *                   log_append_time_ms int64 | log_start_offset int64
 *                   from 9: record_errors: index int32 | message string; error_message string
 *               throttle_time_ms int32
 *
 * From 9 on lengths are varints of one more, 0 for none, and each structure ends in tagged fields; before, arrays and bytes
 * have an int32, strings an int16, -1 for none.
 *
 * A hot path, of which each partition of a request has its share: written here since the client library makes some ten
 * objects a partition, and takes messages, not the encoded batches that a retry must repeat.
 */
const FIRST_COMPACT = 9
const ALL_IN_SYNC = -1

/** Whether the bodies of a version, and so the headers before them, have compact lengths and tagged fields. */
export const isCompact = (version: number): boolean => version >= FIRST_COMPACT

/** Batches by topic, and by the index of the partition. */
export type BatchesByTopic = ReadonlyMap<string, ReadonlyMap<number, Batch>>

/** What the broker says of a batch. */
export interface BatchAnswer {
  readonly batch: Batch
  readonly errorCode: number
  readonly baseOffset: number
}

export function byTopic(batches: readonly Batch[]): BatchesByTopic {
  const topics = new Map<string, Map<number, Batch>>()
  for (const batch of batches) {
    const { topic, index } = batch.partition
    topics.getOrInsertComputed(topic.name, () => new Map()).set(index, batch)
  }
  return topics
}

/**
 * A frame in pieces: a large batch is one of its own, which is not copied.
 *
 * @param headBytes that are left free at the beginning
 * @param timeoutMs as of `produce`
 */
export function encodeRequest(
  topics: BatchesByTopic,
  version: number,
  headBytes: number,
  timeoutMs: number,
): Buffer[] {
  const compact = isCompact(version)
  let size = headBytes + MOST_AROUND_TOPICS
  for (const [name, batches] of topics) {
    size += MOST_AROUND_TOPIC + Buffer.byteLength(name)
    for (const { bytes } of batches.values()) size += MOST_AROUND_BATCH + (isCopied(bytes) ? bytes.length : 0)
  }
  const pieces: Buffer[] = []
  const body = Buffer.allocUnsafe(size)
  let from = 0
  let at = headBytes
  const count = (length: number): void => {
    if (!compact) {
      at = body.writeInt32BE(length, at)
      return
    }
    let left = length + 1
    while (left > 127) {
      body[at++] = (left & 127) | 128
      left >>>= 7
    }
    body[at++] = left
  }
  if (compact) body[at++] = NO_TAGS
  if (compact) body[at++] = 0
  else at = body.writeInt16BE(-1, at)
  at = body.writeInt16BE(ALL_IN_SYNC, at)
  at = body.writeInt32BE(timeoutMs, at)
  count(topics.size)
  for (const [name, batches] of topics) {
    const nameBytes = Buffer.byteLength(name)
    if (compact) count(nameBytes)
    else at = body.writeInt16BE(nameBytes, at)
    at += body.write(name, at)
    count(batches.size)
    for (const { partition, bytes } of batches.values()) {
      at = body.writeInt32BE(partition.index, at)
      count(bytes.length)
      if (isCopied(bytes)) {
        body.set(bytes, at)
        at += bytes.length
      } else {
        pieces.push(body.subarray(from, at), bytes)
        from = at
      }
      if (compact) body[at++] = NO_TAGS
    }
    if (compact) body[at++] = NO_TAGS
  }
  if (compact) body[at++] = NO_TAGS
  pieces.push(body.subarray(from, at))
  return pieces
}

/** Whether a copy of a batch costs less than a call of the kernel for it alone. */
const isCopied = (batch: Buffer): boolean => batch.length < 32 * 1024

/** What a length of up to five bytes, an index and tagged fields take. */
const MOST_AROUND_BATCH = 10
const MOST_AROUND_TOPIC = 11
const MOST_AROUND_TOPICS = 15
const NO_TAGS = 0

/** The answers to batches of a request. @throws RangeError when the body is too short */
export function decodeResponse(body: Buffer, version: number, sent: BatchesByTopic): BatchAnswer[] {
  const compact = isCompact(version)
  let at = 0
  const varint = (): number => {
    let value = 0
    for (let shift = 0; ; shift += 7) {
      const byte = body.readUInt8(at++)
      value += (byte & 127) * 2 ** shift
      if (byte < 128) return value
    }
  }
  const int32 = (): number => {
    at += 4
    return body.readInt32BE(at - 4)
  }
  /** Reads the length of an array; a null array reads as empty. */
  const count = (): number => (compact ? varint() - 1 : int32())
  const string = (): string => {
    const bytes = compact ? varint() - 1 : body.readInt16BE(at)
    if (!compact) at += 2
    const start = at
    at += Math.max(0, bytes)
    return bytes > 0 ? body.toString("utf8", start, at) : ""
  }
  const skipTags = (): void => {
    if (!compact) return
    for (let left = varint(); left > 0; left--) {
      varint()
      const bytes = varint()
      at += bytes
    }
  }
  const answers: BatchAnswer[] = []
  for (let topics = count(); topics > 0; topics--) {
    const batches = sent.get(string())
    for (let partitions = count(); partitions > 0; partitions--) {
      const batch = batches?.get(body.readInt32BE(at))
      const errorCode = body.readInt16BE(at + 4)
      const baseOffset = body.readInt32BE(at + 6) * 2 ** 32 + body.readUInt32BE(at + 10)
      at += PARTITION_BYTES
      if (compact) {
        for (let errors = count(); errors > 0; errors--) {
          at += 4
          string()
          skipTags()
        }
        string()
      }
      skipTags()
      if (batch !== undefined) answers.push({ batch, errorCode, baseOffset })
    }
    skipTags()
  }
  // throttle_time_ms, for its being there
  int32()
  return answers
}

/** From the index to the log's start offset. */
const PARTITION_BYTES = 30
