import type { Database } from "bun:sqlite"
import { Unreadable, type Offsets, type UnreadRecords } from "../../kafka-listener/log.ts"
import { DamagedFile, isDamage, type DatabaseLocation } from "../../storage/database-file.ts"
import {
  endOf,
  partitionRows,
  recordsTable,
  RECORD_COLUMNS,
  type PartitionRow,
  type RecordRow,
} from "./log-tables.ts"

/*
 * Reads records around damaged pages. A page holds records, a part of a large one, or where others are. SQLite refuses a
 * page whose structure is wrong; where that happens to be right, its records are recognised by their types, order and sizes.
 * SQLite has no checksums: other bytes within a value are not noticed.
 */

/** A record and where it ends in its partition. */
export interface PlacedRow extends RecordRow {
  readonly end_position: number
}

/** Bytes of a record in its partition. */
export const sizeOfRow = ({ key, headers, value }: RecordRow): number =>
  value.length + (key?.length ?? 0) + (headers?.length ?? 0)

const SLICE_RECORDS = 64
/** So many offsets after an unreadable one are tried one by one; then the steps grow with the distance. */
const STEPS = 1024
/** As an end: it can't be read either. */
export const UNKNOWN_END = 2 ** 52

/** Whether a row of a partition read in order may be what was written; not the one that damage made of it. */
export const isSound = ({ offset, timestamp, key, headers, value }: RecordRow, from: number): boolean =>
  offset >= from &&
  timestamp !== null &&
  isBytes(value) &&
  (key === null || isBytes(key)) &&
  (headers === null || isBytes(headers))

const isBytes = (value: unknown): boolean => value instanceof Uint8Array

/** Offsets of a log that was rescued whose records were left behind: they are not missed again. */
export const createGaps = (db: Database): void =>
  void db.run(
    "CREATE TABLE IF NOT EXISTS gaps (records TEXT NOT NULL, first INTEGER NOT NULL, end INTEGER NOT NULL) STRICT",
  )

function knownGaps(db: Database, table: string): readonly Offsets[] {
  const has = db.query("SELECT 1 FROM sqlite_schema WHERE name = 'gaps'").get() !== null
  return has ? db.query<Offsets, [string]>("SELECT first, end FROM gaps WHERE records = ?").all(table) : []
}

/**
 * Yields the records of a range in slices, and the gaps between them that are damaged.
 *
 * @param expected an offset that retention has not deleted; undefined: the first one that is found
 */
export function* scan(
  db: Database,
  table: string,
  { first, end }: Offsets,
  expected?: number,
): Generator<{ readonly rows: readonly PlacedRow[] } | { readonly gap: Offsets }> {
  const slices = db.query<PlacedRow, [number, number, number]>(
    `SELECT ${RECORD_COLUMNS}, end_position FROM ${table}
     WHERE offset >= ? AND offset < ? ORDER BY offset LIMIT ?`,
  )
  const known = knownGaps(db, table)
  let before: PlacedRow | undefined
  const read = (from: number, limit: number): PlacedRow[] | undefined => {
    try {
      const rows = slices.all(from, end, limit)
      const isWhole = rows.every((row, at) => {
        const last = rows[at - 1] ?? before
        return isSound(row, at === 0 ? from : rows[at - 1]!.offset + 1) && follows(row, last)
      })
      return isWhole ? rows : undefined
    } catch (error) {
      if (isDamage(error)) return undefined
      throw error
    }
  }
  let limit = SLICE_RECORDS
  for (let next = first; next < end;) {
    const rows = read(next, limit)
    if (rows !== undefined) {
      const there = rows[0]?.offset ?? end
      const gap = { first: expected ?? there, end: there }
      const isKnown = known.some((one) => one.first <= gap.first && one.end >= gap.end)
      if (gap.first < there && there < UNKNOWN_END && !isKnown) yield { gap }
      if (rows.length === 0) return
      const whole = rows.findIndex(({ offset }, at) => offset !== there + at)
      const together = whole === -1 ? rows : rows.slice(0, whole)
      yield { rows: together }
      before = together.at(-1)!
      next = expected = before.offset + 1
    } else if (limit > 1) limit = 1
    else {
      before = undefined
      const find = (from: number): number | undefined => {
        const found = read(from, 1)
        return found && (found[0]?.offset ?? end)
      }
      const gap = { first: next, end: firstReadable(next, end, find) }
      yield { gap }
      next = expected = gap.end
      limit = SLICE_RECORDS
    }
  }
}

/**
 * The records of a range up to the damage, at least one; only some of a large range.
 *
 * @param firstOffset of the partition @throws Unreadable if the first is damaged
 */
export function readBeforeDamage(
  db: Database,
  table: string,
  range: Offsets,
  firstOffset = 0,
): readonly PlacedRow[] {
  const rows: PlacedRow[] = []
  const expected = range.first < firstOffset ? undefined : range.first
  for (const found of scan(db, table, range, expected)) {
    if ("gap" in found && rows.length === 0) throw new Unreadable(found.gap)
    if ("gap" in found) break
    rows.push(...found.rows)
    if (rows.length >= SLICE_RECORDS) break
  }
  return rows
}

/** Reads all records, a slice each time. @returns how many of a slice can be read, or which can't */
export function* findGaps(
  db: Database,
): Generator<{ readonly records: number } | { readonly lost: UnreadRecords }> {
  for (const row of partitionRows(db)) {
    const { name: topic, partition, first_offset: first } = row
    for (const found of scan(db, recordsTable(row), { first, end: endOrUnknown(db, row) }))
      yield "rows" in found ? { records: found.rows.length } : { lost: { topic, partition, ...found.gap } }
  }
}

function endOrUnknown(db: Database, row: PartitionRow): number {
  try {
    return endOf(db, row).offset
  } catch (error) {
    if (isDamage(error)) return UNKNOWN_END
    throw error
  }
}

/** The same, up to the first that can't be read. @throws DamagedFile for it */
export function* findDamage(db: Database, location: DatabaseLocation): Generator<undefined> {
  for (const found of findGaps(db)) {
    if ("lost" in found) throw new DamagedFile(location, describeDamage(found.lost))
    yield
  }
}

export const describeDamage = ({ topic, partition, ...gap }: UnreadRecords): string =>
  `topic ${topic}, partition ${partition}: ${describeGap(gap)}`

function describeGap({ first, end }: Offsets): string {
  if (end === UNKNOWN_END) return `the records from offset ${first} on can't be read`
  if (end === first + 1) return `the record at offset ${first} can't be read`
  return `the records from offset ${first} to ${end - 1} can't be read`
}

/** Whether a record is as long as the positions of two that follow each other say. */
function follows(row: PlacedRow, before?: PlacedRow): boolean {
  if (before === undefined || before.offset + 1 !== row.offset) return true
  return row.end_position - before.end_position === sizeOfRow(row)
}

/** @param find the offset of the first record from an offset on, `end` without one; undefined: it can't be read */
function firstReadable(bad: number, end: number, find: (from: number) => number | undefined): number {
  for (let last = bad; ;) {
    let readable = Math.min(end, last + 1 + Math.floor((last - bad) / STEPS))
    if (readable === end) return end
    let found = find(readable)
    if (found === undefined) {
      last = readable
      continue
    }
    while (readable - last > 1) {
      const middle = Math.floor((last + readable) / 2)
      const nearer = find(middle)
      if (nearer === undefined) last = middle
      else [readable, found] = [middle, nearer]
    }
    return found
  }
}
