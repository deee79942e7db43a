import type { Database } from "bun:sqlite"
import type { Layout } from "../../storage/database-file.ts"
import type { StoredRecord } from "../broker.ts"
import { unpackHeaders } from "./record-headers.ts"

/*
 * A log's file, of the embedded log `log.sqlite`, in WAL mode with synchronous=FULL:
 *
 *   topics                                       records_<topics.id>, one table a topic
 *   id  name      first_offset  first_position   offset  end_position  timestamp  key   headers  value
 *   1   webhooks  2             900              2       1310          1795…      NULL  NULL     {"id":…
 *   2   audit     0             0                3       1742          1795…      NULL  NULL     {"id":…
 *
 * - `offset` is the rowid: records are appended at the right edge of a B-tree of their own, whose pages stay full.
 * - `end_position` counts the bytes of keys, values and packed headers of the topic from its first record ever to the end of this one:
 *   the bytes from one record to another are a subtraction.
 * - `first_offset` is the oldest record kept, or the next one to come when none is, and `first_position` where it
 *   begins: offsets go on from where they were even when everything was deleted. Retention moves both; publishing
 *   touches only the records' table, so that a commit writes no page more than it must.
 * - `timestamp` is in milliseconds since 1970. `headers` are packed as in record-headers.ts, NULL when there are none.
 *
 * What a crash leaves: a batch is one transaction, there whole or not at all. Acknowledgements follow the fsync of the
 * WAL, so what was acknowledged is there; a batch that was committed and not yet acknowledged may be there too. What a
 * failed fsync leaves stands in storage/recovery.ts.
 */

/** Large pages cost less a record: fewer frames in the WAL, fewer writes. Measured from 4 to 64 KiB. */
export const PAGE_BYTES = 16_384

export interface TopicRow {
  readonly id: number
  readonly name: string
  readonly first_offset: number
  readonly first_position: number
}

export const LOG_LAYOUT: Layout = {
  pageBytes: PAGE_BYTES,
  createTables(db) {
    db.run(
      `CREATE TABLE IF NOT EXISTS topics (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        first_offset INTEGER NOT NULL DEFAULT 0,
        first_position INTEGER NOT NULL DEFAULT 0
      ) STRICT`,
    )
  },
}

export const recordsTable = (topicId: number): string => `records_${topicId}`

/** Makes a topic's table. */
export function createRecordsTable(db: Database, topicId: number): void {
  db.run(
    `CREATE TABLE ${recordsTable(topicId)} (
      offset INTEGER PRIMARY KEY,
      end_position INTEGER NOT NULL,
      timestamp INTEGER NOT NULL,
      key BLOB,
      headers BLOB,
      value BLOB NOT NULL
    ) STRICT`,
  )
}

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
