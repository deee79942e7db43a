import { compressionsAlgorithms } from "./client-library.ts"
import { NO_VALUE, type Record } from "../../pipeline/record.ts"
import {
  BATCH_HEADER_BYTES,
  setAttributes,
  writeBatchHeader,
  type Sequence,
} from "../../kafka-protocol/batch-header.ts"
import { varintBytes, writeBytes, writeVarint } from "../../kafka-protocol/varints.ts"
import type { BatchMemory } from "./batch-memory.ts"

/*
 * A hot path: a batch is written here in one pass over one buffer, since the client library's encoder makes some ten objects a
 * record (see docs/decisions on the Kafka client).
 */
export type Compression = keyof typeof compressionsAlgorithms

/** How many bytes a record takes in a batch of up to 8192, at most. */
export function recordBytes(record: Record): number {
  const body = bodyBytes(record, 0, 8191)
  return varintBytes(body) + body
}

/**
 * @param timestampMs milliseconds since 1970, for the records that have no time of their own
 * @param memory that the batch is written to; it may be given back
 */
export function encodeBatch(
  records: readonly { readonly record: Record }[],
  sequence: Sequence,
  timestampMs: number,
  memory: BatchMemory,
): Buffer {
  let firstMs = Number.POSITIVE_INFINITY
  let lastMs = 0
  for (const { record } of records) {
    const ms = record.timestampMs ?? timestampMs
    if (ms < firstMs) firstMs = ms
    if (ms > lastMs) lastMs = ms
  }
  let size = BATCH_HEADER_BYTES
  const bodies: number[] = []
  for (let index = 0; index < records.length; index++) {
    const { record } = records[index]!
    const body = bodyBytes(record, (record.timestampMs ?? timestampMs) - firstMs, index)
    bodies.push(body)
    size += varintBytes(body) + body
  }
  const bytes = memory.take(size)
  let at = BATCH_HEADER_BYTES
  for (let index = 0; index < records.length; index++) {
    const { record } = records[index]!
    at = writeVarint(bytes, at, bodies[index]!)
    at = writeBody(bytes, at, record, (record.timestampMs ?? timestampMs) - firstMs, index)
  }
  writeBatchHeader(bytes, {
    baseOffset: 0,
    leaderEpoch: -1,
    lastOffsetDelta: records.length - 1,
    baseTimestamp: firstMs,
    maxTimestamp: lastMs,
    count: records.length,
    sequence,
  })
  return bytes
}

/** A batch with its records compressed. @param compressed what follows the header of the plain batch */
export function withCompressed(
  plain: Buffer,
  compressed: Uint8Array,
  algorithm: Exclude<Compression, "none">,
): Buffer {
  const bytes = Buffer.concat([plain.subarray(0, BATCH_HEADER_BYTES), compressed])
  setAttributes(bytes, compressionsAlgorithms[algorithm].bitmask)
  return bytes
}

function bodyBytes({ key, value, headers }: Record, timestampDelta: number, offsetDelta: number): number {
  let size = 1 + varintBytes(timestampDelta) + varintBytes(offsetDelta)
  size += key === undefined ? 1 : varintBytes(key.length) + key.length
  size += varintBytes(value.length) + value.length
  if (headers === undefined) return size + 1
  size += varintBytes(headers.length)
  for (const [name, content] of headers) {
    const nameBytes = Buffer.byteLength(name)
    size += varintBytes(nameBytes) + nameBytes + varintBytes(content.length) + content.length
  }
  return size
}

function writeBody(
  bytes: Buffer,
  start: number,
  { key, value, headers }: Record,
  timestampDelta: number,
  offsetDelta: number,
): number {
  let at = start
  bytes[at++] = 0
  at = writeVarint(bytes, at, timestampDelta)
  at = writeVarint(bytes, at, offsetDelta)
  at = writeBytes(bytes, at, key && orNone(key))
  at = writeBytes(bytes, at, orNone(value))
  if (headers === undefined) {
    bytes[at++] = 0
    return at
  }
  at = writeVarint(bytes, at, headers.length)
  for (const [name, content] of headers) {
    at = writeVarint(bytes, at, Buffer.byteLength(name))
    at += bytes.write(name, at)
    at = writeBytes(bytes, at, orNone(content))
  }
  return at
}

const orNone = (content: Uint8Array): Uint8Array | undefined => (content === NO_VALUE ? undefined : content)
