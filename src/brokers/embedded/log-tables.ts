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
 * - `end_position` counts the bytes of keys, values and packed headers from the topic's first record ever to the end of this
 *   one: the bytes between two records are a subtraction.
 * - `first_offset` is that of the oldest record, or of the next if there is none, and `first_position` where it begins:
 *   offsets go on after everything was deleted. Only retention changes them, so that a commit writes no other page.
 * - `timestamp` is in milliseconds since 1970. `headers` are packed as in record-headers.ts, NULL without any.
 *
 * After a crash: a batch is one transaction, there whole or not at all. Acknowledgements follow the fsync of the WAL: what was
 * acknowledged is there, and a batch committed and not yet acknowledged may be. For a failed fsync see storage/recovery.ts.
 */

/** Measured from 4 to 64 KiB: large pages make fewer frames in the WAL, and fewer writes. */
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

/** The id of the log, which Kafka clients see as that of a cluster, in a table of the embedded log's file. */
export function createIdentity(db: Database): void {
  db.run("CREATE TABLE IF NOT EXISTS identity (cluster_id TEXT NOT NULL) STRICT")
  const id = Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString("base64url")
  db.run("INSERT INTO identity SELECT ? WHERE NOT EXISTS (SELECT 1 FROM identity)", [id])
}

export const recordsTable = (topicId: number): string => `records_${topicId}`

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

/** A row of RECORD_COLUMNS. */
export interface RecordRow {
  readonly offset: number
  readonly timestamp: number
  readonly key: Uint8Array | null
  readonly headers: Uint8Array | null
  readonly value: Uint8Array
}

/** Where the next record of a topic comes, and the time of the last one; undefined: the topic is empty. */
export function endOf(db: Database, row: TopicRow): { offset: number; position: number; lastMs?: number } {
  const last = db
    .query<{ offset: number; end_position: number; timestamp: number }, []>(
      `SELECT offset, end_position, timestamp FROM ${recordsTable(row.id)} ORDER BY offset DESC LIMIT 1`,
    )
    .get()
  return last === null
    ? { offset: row.first_offset, position: row.first_position }
    : { offset: last.offset + 1, position: last.end_position, lastMs: last.timestamp }
}

/**
 * The first offset whose record has that time or a later one. Found by halving, since times rise with offsets; where the
 * clock was set back, it is one of several.
 */
export function firstAt(
  db: Database,
  row: TopicRow,
  { first, end }: { readonly first: number; readonly end: number },
  timeMs: number,
): number {
  const timeOf = db.prepare<{ timestamp: number }, [number]>(
    `SELECT timestamp FROM ${recordsTable(row.id)} WHERE offset >= ? ORDER BY offset LIMIT 1`,
  )
  try {
    let from = first
    let to = end
    while (from < to) {
      const middle = Math.floor((from + to) / 2)
      const found = timeOf.get(middle)
      if (found !== null && found.timestamp < timeMs) from = middle + 1
      else to = middle
    }
    return from
  } finally {
    timeOf.finalize()
  }
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
