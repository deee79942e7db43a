import { appendFileSync } from "node:fs"
import type { Findings } from "./findings.ts"

/** Whether the scenarios have their full length (`npm run test:faults`) or a shortened one (`npm test`, and CI). */
export const isFull = process.env.HOOKLINE_FAULTS === "full"
/** Whether they are shortened as in CI; in `npm test` some are shorter still. */
export const isShort = process.env.HOOKLINE_FAULTS === "short"
/** How many times a process is killed in a scenario that has nothing else: 200 at full length, ten in CI. */
export const KILL_TRIALS = isFull ? 200 : isShort ? 10 : 5

/** What the table has of what a fault did. */
interface Counted extends Pick<Findings, "sent" | "acknowledged" | "found" | "lost" | "doubled"> {
  /** Undefined: nobody waited for an answer. */
  readonly longestWaitMs: number | undefined
}

/** A line of the table of `npm run test:faults`. */
export interface Row extends Counted {
  readonly scenario: string
  /** From the broker taking requests again to the first acknowledgement; undefined: it was never gone. */
  readonly backAfterMs: number | undefined
}

/** Prints a scenario's row, and keeps it for the table where one is made. */
export function report(scenario: string, findings: Counted | Findings, backAfterMs?: number): void {
  const row: Row = { scenario, ...findings, backAfterMs }
  const words = COLUMNS.slice(1).map(({ title, cell }) => `${title} ${cell(row)}`)
  process.stdout.write(`${scenario}: ${words.join(", ")}\n`)
  const file = process.env.HOOKLINE_FAULTS_ROWS
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(row)}\n`)
}

interface Column {
  readonly title: string
  readonly cell: (row: Row) => string
}

const ms = (value: number | undefined): string => (value === undefined ? "" : `${Math.round(value)}`)

const COLUMNS: readonly Column[] = [
  { title: "scenario", cell: ({ scenario }) => scenario },
  { title: "sent", cell: ({ sent }) => `${sent}` },
  { title: "acknowledged", cell: ({ acknowledged }) => `${acknowledged}` },
  { title: "found", cell: ({ found }) => `${found}` },
  { title: "lost", cell: ({ lost }) => `${lost}` },
  { title: "doubled", cell: ({ doubled }) => `${doubled}` },
  { title: "longest wait ms", cell: ({ longestWaitMs }) => ms(longestWaitMs) },
  { title: "back after ms", cell: ({ backAfterMs }) => ms(backAfterMs) },
]

/** The rows as an aligned Markdown table, in the order of the scenarios' names. */
export function formatTable(unordered: readonly Row[]): string {
  const rows = unordered.toSorted((a, b) => a.scenario.localeCompare(b.scenario))
  return alignedTable([
    COLUMNS.map(({ title }) => title),
    ...rows.map((row) => COLUMNS.map(({ cell }) => cell(row))),
  ])
}

/** The rows of a table as `formatTable` writes it. */
export function parseTable(lines: readonly string[]): Row[] {
  const [, , ...rows] = lines.filter((line) => line.startsWith("|"))
  return rows.map((line) => {
    const [, scenario = "", ...cells] = line.split("|").map((cell) => cell.trim())
    const [sent, acknowledged, found, lost, doubled, longestWaitMs, backAfterMs] = cells
      .slice(0, COLUMNS.length - 1)
      .map((cell) => (cell === "" ? undefined : Number(cell)))
    return {
      scenario,
      sent: sent!,
      acknowledged: acknowledged!,
      found: found!,
      lost: lost!,
      doubled: doubled!,
      longestWaitMs,
      backAfterMs,
    }
  })
}

/** A Markdown table of a head and rows; the first column is text, the others are numbers. */
export function alignedTable(lines: readonly (readonly string[])[]): string {
  const widths = lines[0]!.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)))
  const rule = widths.map((width, column) => (column === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`))
  const [head, ...body] = lines.map((line) =>
    line.map((cell, at) => (at === 0 ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!))),
  )
  return [head!, rule, ...body].map((line) => `| ${line.join(" | ")} |\n`).join("")
}
