// Hot path: every record that a consumer reads.
import { BATCH_HEADER_BYTES, setLeaderEpoch, writeBatchHeader } from "../kafka-protocol/batch-header.ts"
import { varintBytes, writeBytes, writeVarint } from "../kafka-protocol/varints.ts"
import type { LogRecord } from "./log.ts"

/*
 * Makes a record batch of records of the log. Its times are those of creation, it is not compressed, and its producer is nobody.
 */

/** Size of the buffer that batches are written in, until a larger record comes. */
const SCRATCH_BYTES = 1024 * 1024
export interface RecordBatch {
  readonly bytes: Buffer
  readonly firstOffset: number
  /** Behind its last record. */
  readonly endOffset: number
}

/**
 * @param rows without a gap between them
 * @param maxBytes of the batch; its first record is in it however large
 * @returns undefined: there are none
 */
export function encodeRecordBatch(rows: Iterable<LogRecord>, maxBytes: number): RecordBatch | undefined {
  let bytes = scratch
  let at = BATCH_HEADER_BYTES
  let count = 0
  let firstOffset = 0
  let lastOffset = -1
  let firstMs = 0
  let maxMs = 0
  for (const row of rows) {
    if (count === 0) {
      firstOffset = row.offset
      firstMs = maxMs = row.timestamp
    }
    const length = bodyBytes(row, row.timestamp - firstMs, row.offset - firstOffset)
    const end = at + varintBytes(length) + length
    if (end > maxBytes && count > 0) break
    if (end > bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(end, bytes.length * 2))
      larger.set(bytes.subarray(0, at))
      bytes = larger
    }
    at = writeVarint(bytes, at, length)
    at = writeBody(bytes, at, row, row.timestamp - firstMs, row.offset - firstOffset)
    lastOffset = row.offset
    if (row.timestamp > maxMs) maxMs = row.timestamp
    count++
  }
  if (count === 0) return undefined
  const batch = Buffer.from(bytes.subarray(0, at))
  writeBatchHeader(batch, {
    baseOffset: firstOffset,
    leaderEpoch: 0,
    lastOffsetDelta: lastOffset - firstOffset,
    baseTimestamp: firstMs,
    maxTimestamp: maxMs,
    count,
    sequence: undefined,
  })
  return { bytes: batch, firstOffset, endOffset: lastOffset + 1 }
}

/** Sets the leader epoch, which is 0 before. */
export const setEpoch = ({ bytes }: RecordBatch, epoch: number): void => setLeaderEpoch(bytes, epoch)

/** Batches are copied from it in their length. */
const scratch = Buffer.allocUnsafe(SCRATCH_BYTES)

function bodyBytes({ key, value, headers }: LogRecord, timeDelta: number, offsetDelta: number): number {
  let size = 1 + varintBytes(timeDelta) + varintBytes(offsetDelta)
  size += key === null ? 1 : varintBytes(key.length) + key.length
  size += varintBytes(value.length) + value.length
  if (headers === null) return size + 1
  let parts = 0
  for (const part of partsOf(headers)) {
    size += varintBytes(part.length) + part.length
    parts++
  }
  return size + varintBytes(parts / 2)
}

function writeBody(
  bytes: Buffer,
  start: number,
  { key, value, headers }: LogRecord,
  timeDelta: number,
  offsetDelta: number,
): number {
  let at = start
  bytes[at++] = 0
  at = writeVarint(bytes, at, timeDelta)
  at = writeVarint(bytes, at, offsetDelta)
  at = writeBytes(bytes, at, key ?? undefined)
  at = writeBytes(bytes, at, value)
  if (headers === null) {
    bytes[at++] = 0
    return at
  }
  const parts = [...partsOf(headers)]
  at = writeVarint(bytes, at, parts.length / 2)
  for (const part of parts) at = writeBytes(bytes, at, part)
  return at
}

/** Names and values in turn, packed as a LogRecord has them. */
function* partsOf(packed: Uint8Array): Generator<Uint8Array> {
  const view = new DataView(packed.buffer, packed.byteOffset, packed.length)
  for (let at = 0; at < packed.length;) {
    const length = view.getUint32(at, true)
    yield packed.subarray(at + 4, at + 4 + length)
    at += 4 + length
  }
}
