import { escapeLine } from "../telemetry/escape-controls.ts"

/** Prints a table with its heading first. Columns in `left` are left-aligned, the others right-aligned. */
export function printTable(cells: readonly (readonly string[])[], left: readonly number[]): void {
  const rows = cells.map((row) => row.map(escapeLine))
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  for (const row of rows) {
    const line = row.map((cell, column) =>
      left.includes(column) ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!),
    )
    console.log(line.join("  ").trimEnd())
  }
}
