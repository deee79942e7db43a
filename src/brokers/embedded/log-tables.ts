import type { Database } from "bun:sqlite"
import { Damage } from "../../storage/damage.ts"
import { hasTable, pragma, type Layout } from "../../storage/database-file.ts"
import type { StoredRecord } from "../broker.ts"
import { createBounds, prepareBounds, saveBounds, seedOf } from "./log-bounds.ts"
import { unpackHeaders } from "../packed-headers.ts"
import {
  hasBounds,
  partitionRows,
  startOf,
  type PartitionRow,
  type PlacedPartition,
} from "./partition-rows.ts"
import type { ChecksummedRow } from "./record-checksum.ts"

/*
 * A log's file, of the embedded log `log.sqlite`, in WAL mode with synchronous=FULL:
 *
 *   topics                                       records_<topics.id>, the records of partition 0
 *   id  name      first_offset  first_position   offset  end_position  timestamp  key   headers  value    crc   clock
 *   1   webhooks  2             900              2       1310          1795…      NULL  NULL     {"id":…  71…   1795…
 *   2   audit     0             0                3       1742          1795…      NULL  NULL     {"id":…  -4…   1795…
 *
 *   partitions, those after 0                           records_<topic_id>_<number>
 *   topic_id  number  first_offset  first_position      as above
 *   1         1       0             0
 *
 *   bounds, where each partition begins and ends: log-bounds.ts
 *
 * - A topic has as many partitions as there are rows of it in both tables. They are never deleted.
 * - `offset` is the rowid: records are appended at the right edge of a B-tree of their own, whose pages stay full.
 * - `end_position` counts the bytes of keys, values and packed headers from the partition's first record ever to the end of
 *   this one: the bytes between two records are a subtraction.
 * - `first_offset` is that of the oldest record, or of the next if there is none, and `first_position` where it begins:
 *   offsets continue after everything was deleted. Only retention changes them.
 * - `timestamp` is in milliseconds since 1970, by the time of day. `headers` are packed as below, NULL without any. `crc` is
 *   that of record-checksum.ts, and `clock` the time of the log's own clock when the record was committed, by which it gets
 *   older (storage/kept-clock.ts). Both are NULL, or no columns at all, in what earlier versions wrote; a spool has no clock.
 *
 * After a crash: a batch is one transaction, there whole or not at all. Acknowledgements follow the fsync of the WAL: what was
 * acknowledged is in it, and a batch committed and not yet acknowledged may be. For a failed fsync see storage/recovery.ts.
 */

/** Measured from 4 to 64 KiB: large pages make fewer frames in the WAL, and fewer writes. */
export const PAGE_BYTES = 16_384

/** `PRAGMA user_version` of a file whose records have a clock. */
const LATEST = 4

export const LOG_LAYOUT: Layout = {
  pageBytes: PAGE_BYTES,
  createTables(db) {
    // a file that has lost its tables must not begin anew
    const rows = partitionRows(db)
    const isBounded = hasBounds(db)
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
    if (pragma(db, "user_version") < LATEST) db.run(`PRAGMA user_version = ${LATEST}`)
    if (isBounded) return
    createBounds(db)
    using to = prepareBounds(db)
    for (const row of rows) {
      const { offset, position } = endOfRecords(db, row)
      saveBounds(to, row, seedOf(row.name), {
        ...startOf(row),
        next_offset: offset,
        end_position: position,
        unchecked: null,
      })
    }
  },
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
  if (number > 0) db.query("INSERT INTO partitions (topic_id, number) VALUES (?, ?)").run(id, number)
  createRecordsTable(db, recordsTable({ id, partition: number }))
  const start = { first_offset: 0, first_position: 0 }
  const bounds = { ...start, next_offset: 0, end_position: 0, unchecked: 0 }
  using to = prepareBounds(db)
  saveBounds(to, { id, partition: number, name }, seedOf(name), bounds)
  return { id, name, partition: number, ...start, bounds }
}

/** The id of the log, which Kafka clients see as that of a cluster, in a table of the embedded log's file. */
export function createIdentity(db: Database): void {
  db.run("CREATE TABLE IF NOT EXISTS identity (cluster_id TEXT NOT NULL) STRICT")
  const id = Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString("base64url")
  db.run("INSERT INTO identity SELECT ? WHERE NOT EXISTS (SELECT 1 FROM identity)", [id])
}

/** undefined: an older version wrote the file, and no newer one has opened it since. */
export function readIdentity(db: Database): string | undefined {
  if (!hasTable(db, "identity")) return undefined
  return db.query<{ cluster_id: string }, []>("SELECT cluster_id FROM identity").get()?.cluster_id
}

export const recordsTable = ({ id, partition }: Pick<PartitionRow, "id" | "partition">): string =>
  partition === 0 ? `records_${id}` : `records_${id}_${partition}`

const DEFINITIONS = [
  "offset INTEGER PRIMARY KEY",
  "end_position INTEGER NOT NULL",
  "timestamp INTEGER NOT NULL",
  "key BLOB",
  "headers BLOB",
  "value BLOB NOT NULL",
  "crc INTEGER",
  "clock INTEGER",
]

/** @param columns how many: earlier versions of Hookline had fewer */
export function createRecordsTable(db: Database, table: string, columns = DEFINITIONS.length): void {
  const definitions = DEFINITIONS.slice(0, Math.max(columns, COLUMNS.length))
  db.run(`CREATE TABLE ${table} (${definitions.join(", ")}) STRICT`)
}

/** How many columns a partition's table has. */
export const countColumns = (db: Database, place: Pick<PartitionRow, "id" | "partition">): number =>
  db.query("SELECT 1 FROM pragma_table_info(?)").all(recordsTable(place)).length

/** Whether a partition's table has checksums. */
export const hasChecksums = (db: Database, place: Pick<PartitionRow, "id" | "partition">): boolean =>
  countColumns(db, place) > COLUMNS.length

/**
 * Adds the columns that a table of an earlier version does not have. Its records have no checksum while `unchecked` of its
 * bounds is NULL.
 */
export function addColumns(db: Database, place: Pick<PartitionRow, "id" | "partition">): void {
  for (const definition of DEFINITIONS.slice(countColumns(db, place)))
    db.run(`ALTER TABLE ${recordsTable(place)} ADD COLUMN ${definition}`)
}

/** The tables of records that have a clock. */
export const tablesWithClock = (db: Database): ReadonlySet<string> =>
  new Set(
    db
      .query<{ name: string }, []>(
        "SELECT name FROM sqlite_schema WHERE name GLOB 'records_*' AND instr(sql, 'clock INTEGER') > 0",
      )
      .all()
      .map(({ name }) => name),
  )

/** A record without its place. */
export interface RecordRow {
  readonly offset: number
  readonly timestamp: number
  readonly key: Uint8Array | null
  readonly headers: Uint8Array | null
  readonly value: Uint8Array
}

/** A row of recordColumns. */
export interface PlacedRow extends RecordRow, ChecksummedRow {
  /** null: there is no checksum. */
  readonly crc: number | null
}

const COLUMNS = ["offset", "end_position", "timestamp", "key", "headers", "value"]
const LATER_COLUMNS = ["crc", "clock"]

/**
 * The columns of a partition's records, whether or not its table has all of them.
 *
 * @throws Damage if the description of the table is not what was written
 */
export function recordColumns(db: Database, row: PartitionRow): string {
  const table = recordsTable(row)
  const names = db.query<{ name: string }, [string]>("SELECT name FROM pragma_table_info(?)").all(table)
  if (!COLUMNS.every((name, at) => names[at]?.name === name))
    throw new Damage(`topic ${row.name}, partition ${row.partition}: its table ${table} can't be read`)
  const later = LATER_COLUMNS.map((name, at) =>
    names[COLUMNS.length + at]?.name === name ? name : `NULL AS ${name}`,
  )
  return [...COLUMNS, ...later].join(", ")
}

/**
 * Where the next record of a partition comes, by its records, and the last one's bytes end.
 *
 * @param schema of the records; `source` is that of a database-copy @throws Damage
 */
export function endOfRecords(
  db: Database,
  row: PlacedPartition,
  schema: "main" | "source" = "main",
): { offset: number; position: number } {
  const last = db
    .query<{ offset: number; end_position: number; value: string | null }, []>(
      `SELECT offset, end_position, typeof(value) AS value FROM ${schema}.${recordsTable(row)} ORDER BY offset DESC LIMIT 1`,
    )
    .get()
  if (last === null) return { offset: row.first_offset, position: row.first_position }
  // what damage made of it
  if (last.value !== "blob" || last.offset < row.first_offset || last.end_position < row.first_position)
    throw new Damage(describeNoEnd(row))
  return { offset: last.offset + 1, position: last.end_position }
}

export const describeNoEnd = ({ name, partition }: PlacedPartition): string =>
  `topic ${name}, partition ${partition}: where its records end can't be read`

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
