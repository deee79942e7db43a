import type { Database } from "bun:sqlite"
import { crc32 } from "node:zlib"
import { Damage, meetsDamage } from "../../storage/damage.ts"
import { hasTable } from "../../storage/database-file.ts"
import type { RecordRow } from "../embedded/log-tables.ts"
import { checksumOf } from "../embedded/record-checksum.ts"
import { sizeOfRow } from "../embedded/stored-rows.ts"

/*
 * What the broker refused for good, in a table of the spool's file:
 *
 *   set_aside
 *   id  topic     timestamp  key   headers  value   bytes  reason                                          crc
 *   1   webhooks  1795…      NULL  NULL     {"id":… 31     the record is larger than topic webhooks takes  -71…
 *
 * Ids follow each other, since rows are deleted from the front only. `crc` is the checksum of record-checksum.ts, with that of
 * topic and reason in the place of the topic's id, the row's id as offset and `bytes` as position; NULL in what earlier versions
 * wrote.
 */

export const LOST_QUARANTINED = "quarantined records of the spool can't be read"

export interface Quarantined extends Omit<RecordRow, "offset"> {
  readonly topic: string
  readonly reason: string
}

export interface QuarantinedRow extends Quarantined {
  readonly id: number
  readonly bytes: number
  /** null: there is no checksum. */
  readonly crc?: number | null
}

/** Within a transaction. */
export function createQuarantine(db: Database): void {
  db.run(
    `CREATE TABLE IF NOT EXISTS set_aside (
      id INTEGER PRIMARY KEY,
      topic TEXT NOT NULL,
      timestamp INTEGER NOT NULL,
      key BLOB,
      headers BLOB,
      value BLOB NOT NULL,
      bytes INTEGER NOT NULL,
      reason TEXT NOT NULL,
      crc INTEGER
    ) STRICT`,
  )
  const hasChecksums =
    db.query("SELECT 1 FROM pragma_table_info('set_aside') WHERE name = 'crc'").get() !== null
  if (!hasChecksums) db.run("ALTER TABLE set_aside ADD COLUMN crc INTEGER")
}

/** Adds rows within a transaction. */
export function addQuarantined(db: Database, rows: readonly Quarantined[]): void {
  const { last } = db.query<{ last: number }, []>("SELECT coalesce(max(id), 0) AS last FROM set_aside").get()!
  const insert = db.query("INSERT INTO set_aside VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
  for (const [at, one] of rows.entries()) {
    const id = last + 1 + at
    const row = { ...one, id, bytes: sizeOfRow({ ...one, offset: id }) }
    const { topic, timestamp, key, headers, value, bytes, reason } = row
    insert.run(id, topic, timestamp, key, headers, value, bytes, reason, checksumOfRow(row))
  }
}

/** The first rows. @throws Damage if they are not what was written */
export function firstQuarantined(db: Database, limit: number): QuarantinedRow[] {
  const rows = db.query<QuarantinedRow, [number]>("SELECT * FROM set_aside ORDER BY id LIMIT ?").all(limit)
  const bad = rows.find((row) => !isWhole(row))
  if (bad !== undefined) throw new Damage(LOST_QUARANTINED)
  return rows
}

/** Yields the rows that are what was written, in order, up to damage from both ends. @returns whether there is damage */
export function* readQuarantined(db: Database): Generator<QuarantinedRow, boolean> {
  if (!hasTable(db, "set_aside")) return false
  const { isDamaged, last } = yield* rowsUpToDamage(db, "ASC")
  if (!isDamaged) return false
  const after = [...rowsUpToDamage(db, "DESC")].filter(({ id }) => id > last)
  yield* after.toReversed()
  return true
}

/** @returns the last id, without rows 0 */
function* rowsUpToDamage(
  db: Database,
  order: "ASC" | "DESC",
): Generator<QuarantinedRow, { readonly isDamaged: boolean; readonly last: number }> {
  let isDamaged = false
  let last = 0
  try {
    const all = db.query<QuarantinedRow, []>(`SELECT * FROM set_aside ORDER BY id ${order}`)
    for (const row of all.iterate()) {
      if (!isWhole(row) || (last !== 0 && Math.abs(row.id - last) !== 1)) isDamaged = true
      if (!isWhole(row)) continue
      last = row.id
      yield row
    }
  } catch (error) {
    if (!meetsDamage(db, error)) throw error
    isDamaged = true
  }
  return { isDamaged, last }
}

const isText = (value: unknown): boolean => typeof value === "string" && value !== ""

const isBytesOrNull = (value: unknown): boolean => value === null || value instanceof Uint8Array

/** Whether a row is what was written, as far as its checksum or, without one, its types and its size tell. */
function isWhole(row: QuarantinedRow): boolean {
  const isRow =
    isText(row.topic) &&
    isText(row.reason) &&
    typeof row.timestamp === "number" &&
    row.value instanceof Uint8Array &&
    isBytesOrNull(row.key) &&
    isBytesOrNull(row.headers) &&
    row.bytes === sizeOfRow({ ...row, offset: row.id })
  return isRow && (typeof row.crc !== "number" || row.crc === checksumOfRow(row))
}

function checksumOfRow(row: Omit<QuarantinedRow, "crc">): number {
  const { id: offset, topic, reason, bytes: end_position } = row
  const place = { id: crc32(reason, crc32(topic)), partition: -1 }
  return checksumOf(place, { ...row, offset, end_position, clock: null })
}
