import type { Database } from "bun:sqlite"
import { Unreadable, type Offsets, type UnreadRecords } from "../../kafka-listener/log.ts"
import { Damage, DamagedFile, unlessDamaged } from "../../storage/damage.ts"
import { hasTable, type DatabaseLocation } from "../../storage/database-file.ts"
import { recordsTable, type PlacedRow } from "./log-tables.ts"
import { StoredRows } from "./stored-rows.ts"
import { endOrUnknown, UNKNOWN_END } from "./partition-end.ts"
import { partitionRow, partitionRows, type PartitionRow } from "./partition-rows.ts"

/*
 * Reads records around damaged pages, and names those that can't be read: all from the first of a partition to its end, as
 * `bounds` have them, that are not found whole, that retention has not deleted, and that were not named by a rescue.
 */

const SLICE_RECORDS = 64
/** Offsets of a log that was rescued whose records were left behind: they are not missed again. */
export const createGaps = (db: Database): void =>
  void db.run(
    "CREATE TABLE IF NOT EXISTS gaps (records TEXT NOT NULL, first INTEGER NOT NULL, end INTEGER NOT NULL) STRICT",
  )

/** All gaps, in the order in which rescues named them. */
export function allGaps(db: Database): readonly (Offsets & { readonly records: string })[] {
  return hasTable(db, "gaps")
    ? db.query<Offsets & { records: string }, []>("SELECT * FROM gaps ORDER BY rowid").all()
    : []
}

/** What is missing of a range, but for known gaps. */
export function unknownGaps(
  db: Database,
  place: Pick<PartitionRow, "id" | "partition">,
  range: Offsets,
): Offsets[] {
  const known = hasTable(db, "gaps")
    ? db
        .query<Offsets, [string]>("SELECT first, end FROM gaps WHERE records = ? ORDER BY first")
        .all(recordsTable(place))
    : []
  const unknown: Offsets[] = []
  let { first } = range
  for (const gap of known) {
    if (gap.end <= first || gap.first >= range.end) continue
    if (gap.first > first) unknown.push({ first, end: gap.first })
    first = Math.max(first, gap.end)
  }
  if (first < range.end) unknown.push({ first, end: range.end })
  return unknown
}

/**
 * Yields the records of a range in slices, and the gaps between them that are damaged.
 *
 * @param firstOffset of the partition now, before which retention has deleted records; absent: nothing is deleted meanwhile
 */
export function* scan(
  db: Database,
  row: PartitionRow,
  { first, end }: Offsets,
  firstOffset?: () => number,
): Generator<{ readonly rows: readonly PlacedRow[] } | { readonly gap: Offsets }> {
  // undefined: the table is missing, or not what was written
  using stored = unlessDamaged(db, () => new StoredRows(db, row))
  if (stored === undefined) return yield* unknownGaps(db, row, { first, end }).map((gap) => ({ gap }))
  const missing = (from: number, to: number): Offsets[] => {
    if (from >= to) return []
    const left = firstOffset === undefined ? from : Math.max(from, firstOffset())
    return left < to ? unknownGaps(db, row, { first: left, end: to }) : []
  }
  let before: PlacedRow | undefined
  for (let next = first; next < end;) {
    const whole = stored.read(next, end, SLICE_RECORDS, before)
    const isExplained =
      whole !== undefined && holesIn(whole, next, end).every((hole) => missing(...hole).length === 0)
    const found = isExplained ? whole : stored.salvage(next, end)
    for (const run of runsOf(found)) {
      for (const gap of missing(next, run[0]!.offset)) yield { gap }
      yield { rows: run }
      next = run.at(-1)!.offset + 1
    }
    if (found.length === 0) {
      for (const gap of missing(next, end)) yield { gap }
      return
    }
    before = found.at(-1)
  }
}

/** The offsets that a slice does not have, to the end of the range if it has all that there is. */
function holesIn(rows: readonly PlacedRow[], first: number, end: number): [number, number][] {
  const holes: [number, number][] = []
  let next = first
  for (const { offset } of rows) {
    if (offset > next) holes.push([next, offset])
    next = offset + 1
  }
  if (rows.length < SLICE_RECORDS && next < end) holes.push([next, end])
  return holes
}

/** Rows whose offsets follow each other. */
function runsOf(rows: readonly PlacedRow[]): PlacedRow[][] {
  const runs: PlacedRow[][] = []
  for (const row of rows) {
    const last = runs.at(-1)
    if (last?.at(-1)?.offset === row.offset - 1) last!.push(row)
    else runs.push([row])
  }
  return runs
}

/**
 * The records of a range up to the damage, at least one; only some of a large range.
 *
 * @throws Unreadable if the first is damaged
 */
export function readBeforeDamage(db: Database, row: PartitionRow, range: Offsets): readonly PlacedRow[] {
  const rows: PlacedRow[] = []
  for (const found of scan(db, row, range, firstOffsetOf(db, row))) {
    if ("gap" in found && rows.length === 0) throw new Unreadable(found.gap)
    if ("gap" in found) break
    rows.push(...found.rows)
    if (rows.length >= SLICE_RECORDS) break
  }
  return rows
}

/** The first offset of a partition now, while a process may be deleting its records. */
export const firstOffsetOf =
  (db: Database, { id, partition, first_offset: first }: PartitionRow) =>
  (): number =>
    partitionRow(db, id, partition)?.first_offset ?? first

/** Reads all records, a slice each time. @returns how many of a slice can be read, or which can't */
export function* findGaps(
  db: Database,
): Generator<{ readonly records: number } | { readonly lost: UnreadRecords }> {
  for (const row of partitionRows(db)) {
    const { name: topic, partition, first_offset: first } = row
    for (const found of scan(db, row, { first, end: endOrUnknown(db, row).offset }, firstOffsetOf(db, row)))
      yield "rows" in found ? { records: found.rows.length } : { lost: { topic, partition, ...found.gap } }
  }
}

/** How far back the records before an end that can't be read are searched first; each time further. */
const BACK = 256

/**
 * The last record of a partition; undefined: it has none.
 *
 * @param end as endOf @throws Damage if its records don't reach the end that was written with them
 */
export function lastRecord(db: Database, row: PartitionRow, end: number): PlacedRow | undefined {
  const { first_offset: first, name: topic, partition } = row
  using stored = new StoredRows(db, row)
  const last = stored.last()
  if (last?.offset === end - 1 || (last === undefined && first === end)) return last
  for (let back = BACK; ; back *= 4) {
    const from = Math.max(first, end - back)
    const gap = firstGap(db, row, { first: from, end })
    if (gap === undefined) return last
    // where it begins is known after a record
    if (gap.first > from || from === first) throw new Damage(describeDamage({ topic, partition, ...gap }))
  }
}

function firstGap(db: Database, row: PartitionRow, range: Offsets): Offsets | undefined {
  for (const found of scan(db, row, range)) if ("gap" in found) return found.gap
  return undefined
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
