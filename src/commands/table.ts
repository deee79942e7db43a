import { escapeLine } from "../telemetry/escape-controls.ts"

/** Lines of a table whose first row is the heading. Columns that are named in `left` are text, the others numbers. */
export function renderTable(cells: readonly (readonly string[])[], left: readonly number[]): string[] {
  const rows = cells.map((row) => row.map(escapeLine))
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  return rows.map((row) =>
    row
      .map((cell, column) =>
        left.includes(column) ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!),
      )
      .join("  ")
      .trimEnd(),
  )
}
