import type { Database } from "bun:sqlite"
import { recordsTable } from "./log-tables.ts"
import { type PartitionRow } from "./partition-rows.ts"

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
