import type { Database } from "bun:sqlite"
import { Damage, unlessDamaged } from "../../storage/damage.ts"
import { boundsOf } from "./log-bounds.ts"
import { describeNoEnd, endOfRecords, recordsTable } from "./log-tables.ts"
import type { PartitionRow } from "./partition-rows.ts"
import { StoredRows } from "./stored-rows.ts"

/** As an end: it can't be read either. */
export const UNKNOWN_END = 2 ** 52

/** Where the next record of a partition comes, and its bytes end. */
export interface End {
  readonly offset: number
  readonly position: number
}

/**
 * The end of a partition: that of its bounds, unless these are an earlier version of their page.
 *
 * @param schema of the records; `source` is that of a database-copy @throws Damage if it can't be known
 */
export function endOf(db: Database, row: PartitionRow, schema: "main" | "source" = "main"): End {
  const { bounds } = row
  if (bounds === undefined) return endOfRecords(db, row, schema)
  if (bounds === "damaged" || isBefore(db, row, bounds.next_offset, schema))
    throw new Damage(describeNoEnd(row))
  return { offset: bounds.next_offset, position: bounds.end_position }
}

/** Whether a partition has a record after an end that its bounds had, and still have. */
function isBefore(db: Database, row: PartitionRow, end: number, schema: "main" | "source"): boolean {
  const last = unlessDamaged(db, () =>
    db
      .query<{ offset: number | null }, []>(
        `SELECT max(offset) AS offset FROM ${schema}.${recordsTable(row)}`,
      )
      .get(),
  )
  if ((last?.offset ?? -1) < end || (boundsOf(db, row)?.next_offset ?? end) > end) return false
  using stored = new StoredRows(db, row, schema)
  return stored.last() !== undefined
}

/** The same; UNKNOWN_END where it can't be known. */
export const endOrUnknown = (db: Database, row: PartitionRow, schema?: "source"): End =>
  unlessDamaged(db, () => endOf(db, row, schema)) ?? { offset: UNKNOWN_END, position: row.first_position }
