// Hot path: each record that is published to PostgreSQL passes here.
import type { Record } from "../../pipeline/record.ts"
import { packHeaders } from "../packed-headers.ts"

const NONE = -1

/** Records of one statement: the arguments of the function `append`. */
export type Appended = readonly [
  partitions: string,
  times: string,
  keyBytes: string,
  headerBytes: string,
  valueBytes: string,
  bytes: Buffer,
]

/**
 * Packs a batch as one value of bytes, key, headers and value of each record after those of the one before, and their lengths:
 * a value of its own for each record costs client and server three times as much.
 *
 * @param partitionIds of each record, as the database counts them @param nowMs the time of records that have none
 */
export function packAppend(
  batch: readonly { readonly record: Record }[],
  partitionIds: readonly number[],
  nowMs: number,
): Appended {
  const times: number[] = []
  const keyBytes: number[] = []
  const headerBytes: number[] = []
  const valueBytes: number[] = []
  const parts: Uint8Array[] = []
  for (const { record } of batch) {
    const { timestampMs, key, headers, value } = record
    times.push(timestampMs ?? nowMs)
    keyBytes.push(key === undefined ? NONE : key.length)
    if (key !== undefined) parts.push(key)
    const packed = headers === undefined || headers.length === 0 ? undefined : packHeaders(headers)
    headerBytes.push(packed?.length ?? 0)
    if (packed !== undefined) parts.push(packed)
    valueBytes.push(value.length)
    parts.push(value)
  }
  const arrays = [partitionIds, times, keyBytes, headerBytes, valueBytes].map((it) => `{${it.join()}}`)
  return [...arrays, Buffer.concat(parts)] as unknown as Appended
}
