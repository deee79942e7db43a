import type { StoredRecord } from "./broker.ts"
import { unpackHeaders } from "./embedded-headers.ts"

/** What a `SELECT` of RECORD_COLUMNS gives for a record. */
export interface RecordRow {
  readonly offset: number
  readonly timestamp: number
  readonly key: Uint8Array | null
  readonly headers: Uint8Array | null
  readonly value: Uint8Array
}

export const RECORD_COLUMNS = "offset, timestamp, key, headers, value"

export function toStored(topic: string, row: RecordRow): StoredRecord {
  return {
    topic,
    partition: 0,
    offset: row.offset,
    timestampMs: row.timestamp,
    key: row.key ?? undefined,
    value: row.value,
    headers: row.headers === null ? [] : unpackHeaders(row.headers),
  }
}
