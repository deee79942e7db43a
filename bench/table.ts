import type { Sample } from "./measure.ts"
import { medianSample } from "./median.ts"
import type { Samples } from "./rounds.ts"
import type { Target } from "./target.ts"

/** A Markdown table whose first column is text and whose others are figures. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const rule = head.map((_, column) => (column === 0 ? "---" : "---:"))
  return [head, rule, ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n")
}

/** What a target did under a load, the medians of its rounds, and the same of the target that it is compared with. */
export interface Row {
  readonly target: Target
  readonly load: string
  readonly it: Sample
  readonly base: Sample | undefined
}

/** The rows of those targets that were measured under a load, beside one of them. */
export function rowsOf(targets: readonly Target[], base: Target, load: string, samples: Samples): Row[] {
  const medianOf = ({ name }: Target): Sample | undefined => {
    const found = samples[name]?.[load]
    return found && medianSample(found)
  }
  return targets.flatMap((target) => {
    const it = medianOf(target)
    return it === undefined ? [] : [{ target, load, it, base: medianOf(base) }]
  })
}

/** A column of a table of samples: its head, and what it says of a row. */
export type Column = readonly [head: string, text: (row: Row) => string]

export const TITLE: Column = ["target", ({ target }) => target.title]

/** A figure of the row's own target. */
export const figure = (head: string, of: (it: Sample) => number, digits: number): Column => [
  head,
  ({ it }) => of(it).toFixed(digits),
]

/** A figure of the row's target beside the one that it is compared with. */
export const ratio = (head: string, of: (it: Sample, base: Sample) => number): Column => [
  head,
  ({ it, base }) => (base === undefined ? "" : of(it, base).toFixed(2)),
]

export const sampleTable = (columns: readonly Column[], rows: readonly Row[]): string =>
  markdownTable(
    columns.map(([head]) => head),
    rows.map((row) => columns.map(([, text]) => text(row))),
  )
