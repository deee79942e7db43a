import type { Database } from "bun:sqlite"
import type { Layout } from "../../storage/database-file.ts"
import type { StoredRecord } from "../broker.ts"
import type { RecordHeader } from "../../pipeline/record.ts"

/*
 * A log's file, of the embedded log `log.sqlite`, in WAL mode with synchronous=FULL:
 *
 *   topics                                       records_<topics.id>, the records of partition 0
 *   id  name      first_offset  first_position   offset  end_position  timestamp  key   headers  value
 *   1   webhooks  2             900              2       1310          1795…      NULL  NULL     {"id":…
 *   2   audit     0             0                3       1742          1795…      NULL  NULL     {"id":…
 *
 *   partitions, those after 0                           records_<topic_id>_<number>
 *   topic_id  number  first_offset  first_position      as above
 *   1         1       0             0
 *
 * - A topic has as many partitions as there are rows of it in both tables. They are never deleted.
 * - `offset` is the rowid: records are appended at the right edge of a B-tree of their own, whose pages stay full.
 * - `end_position` counts the bytes of keys, values and packed headers from the partition's first record ever to the end of
 *   this one: the bytes between two records are a subtraction.
 * - `first_offset` is that of the oldest record, or of the next if there is none, and `first_position` where it begins:
 *   offsets continue after everything was deleted. Only retention changes them, so that a commit writes no other page.
 * - `timestamp` is in milliseconds since 1970. `headers` are packed as below, NULL without any.
 *
 * After a crash: a batch is one transaction, there whole or not at all. Acknowledgements follow the fsync of the WAL: what was
 * acknowledged is in it, and a batch committed and not yet acknowledged may be. For a failed fsync see storage/recovery.ts.
 */

/** Measured from 4 to 64 KiB: large pages make fewer frames in the WAL, and fewer writes. */
export const PAGE_BYTES = 16_384

/** A partition. */
export interface PartitionRow {
  /** Id of its topic. */
  readonly id: number
  readonly name: string
  readonly partition: number
  readonly first_offset: number
  readonly first_position: number
}

/** `PRAGMA user_version` of a file with partitions after 0, which earlier versions of Hookline would not read. */
const PARTITIONED = 2

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
    db.run(
      `CREATE TABLE IF NOT EXISTS partitions (
        topic_id INTEGER NOT NULL,
        number INTEGER NOT NULL,
        first_offset INTEGER NOT NULL DEFAULT 0,
        first_position INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (topic_id, number)
      ) STRICT, WITHOUT ROWID`,
    )
  },
}

const FIRST_PARTITIONS = "SELECT id, name, 0 AS partition, first_offset, first_position FROM topics"
const OTHER_PARTITIONS = `SELECT id, name, number AS partition, partitions.first_offset, partitions.first_position
   FROM partitions JOIN topics ON id = topic_id`

/** By topic, then number; of one topic, where it is named. A file that a writer has just begun, or that is of an earlier version, has fewer tables. */
export function partitionRows(db: Database, topic?: string): PartitionRow[] {
  const tables = db
    .query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE name IN ('topics', 'partitions')")
    .all()
  if (tables.length === 0) return []
  const all = tables.length === 1 ? FIRST_PARTITIONS : `${FIRST_PARTITIONS} UNION ALL ${OTHER_PARTITIONS}`
  const wanted = topic === undefined ? all : `SELECT * FROM (${all}) WHERE name = ?1`
  const values = topic === undefined ? [] : [topic]
  return db.query<PartitionRow, string[]>(`${wanted} ORDER BY name, partition`).all(...values)
}

/** undefined: there is none. */
export function partitionRow(db: Database, topicId: number, partition: number): PartitionRow | undefined {
  const row =
    partition === 0
      ? db.query<PartitionRow, [number]>(`${FIRST_PARTITIONS} WHERE id = ?`).get(topicId)
      : db
          .query<PartitionRow, [number, number]>(`${OTHER_PARTITIONS} WHERE topic_id = ? AND number = ?`)
          .get(topicId, partition)
  return row ?? undefined
}

/** Adds a topic or, with its id, another partition, within a transaction. */
export function createPartition(
  db: Database,
  name: string,
  topicId: number | undefined,
  number: number,
): PartitionRow {
  const id =
    topicId ??
    db.query<{ id: number }, [string]>("INSERT INTO topics (name) VALUES (?) RETURNING id").get(name)!.id
  if (number > 0) {
    db.query("INSERT INTO partitions (topic_id, number) VALUES (?, ?)").run(id, number)
    db.run(`PRAGMA user_version = ${PARTITIONED}`)
  }
  createRecordsTable(db, recordsTable({ id, partition: number }))
  return { id, name, partition: number, first_offset: 0, first_position: 0 }
}

/** Notes where a partition begins, within a transaction. */
export function moveFirst(
  db: Database,
  { id, partition }: Pick<PartitionRow, "id" | "partition">,
  offset: number,
  position: number,
): void {
  if (partition === 0)
    db.query("UPDATE topics SET first_offset = ?, first_position = ? WHERE id = ?").run(offset, position, id)
  else
    db.query(
      "UPDATE partitions SET first_offset = ?, first_position = ? WHERE topic_id = ? AND number = ?",
    ).run(offset, position, id, partition)
}

/** The id of the log, which Kafka clients see as that of a cluster, in a table of the embedded log's file. */
export function createIdentity(db: Database): void {
  db.run("CREATE TABLE IF NOT EXISTS identity (cluster_id TEXT NOT NULL) STRICT")
  const id = Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString("base64url")
  db.run("INSERT INTO identity SELECT ? WHERE NOT EXISTS (SELECT 1 FROM identity)", [id])
}

/** undefined: an older version wrote the file, and no newer one has opened it since. */
export function readIdentity(db: Database): string | undefined {
  const hasTable = db.query("SELECT 1 FROM sqlite_master WHERE name = 'identity'").get() !== null
  if (!hasTable) return undefined
  return db.query<{ cluster_id: string }, []>("SELECT cluster_id FROM identity").get()?.cluster_id
}

export const recordsTable = ({ id, partition }: Pick<PartitionRow, "id" | "partition">): string =>
  partition === 0 ? `records_${id}` : `records_${id}_${partition}`

function createRecordsTable(db: Database, table: string): void {
  db.run(
    `CREATE TABLE ${table} (
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

/** Where the next record of a partition comes, and the time of the last one; undefined: the partition is empty. */
export function endOf(
  db: Database,
  row: PartitionRow,
): { offset: number; position: number; lastMs?: number } {
  const last = db
    .query<{ offset: number; end_position: number; timestamp: number }, []>(
      `SELECT offset, end_position, timestamp FROM ${recordsTable(row)} ORDER BY offset DESC LIMIT 1`,
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
  row: PartitionRow,
  { first, end }: { readonly first: number; readonly end: number },
  timeMs: number,
): number {
  const timeOf = db.prepare<{ timestamp: number }, [number]>(
    `SELECT timestamp FROM ${recordsTable(row)} WHERE offset >= ? ORDER BY offset LIMIT 1`,
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

export function toStored(topic: string, row: RecordRow, partition = 0): StoredRecord {
  return {
    topic,
    partition,
    offset: row.offset,
    timestampMs: row.timestamp,
    key: row.key ?? undefined,
    value: row.value,
    headers: row.headers === null ? [] : unpackHeaders(row.headers),
  }
}

/*
 * Headers in a column: for each, in their order,
 *   name length (u32, little endian) | name (UTF-8) | value length (u32, little endian) | value
 */

export function packHeaders(headers: readonly RecordHeader[]): Uint8Array {
  const parts = headers.map(([name, value]) => [Buffer.from(name), value] as const)
  const packed = Buffer.alloc(parts.reduce((sum, [name, value]) => sum + 8 + name.length + value.length, 0))
  let at = 0
  const put = (bytes: Uint8Array): void => {
    at = packed.writeUInt32LE(bytes.length, at)
    packed.set(bytes, at)
    at += bytes.length
  }
  for (const [name, value] of parts) {
    put(name)
    put(value)
  }
  return packed
}

export function unpackHeaders(packed: Uint8Array): RecordHeader[] {
  const headers: RecordHeader[] = []
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.length)
  let at = 0
  const take = (): Buffer => {
    const length = bytes.readUInt32LE(at)
    const taken = bytes.subarray(at + 4, at + 4 + length)
    at += 4 + length
    return taken
  }
  while (at < bytes.length) {
    const name = take().toString()
    headers.push([name, new Uint8Array(take())])
  }
  return headers
}
