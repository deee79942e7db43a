import { medianSample, type Sample, type Samples } from "./measure.ts"
import type { Column, Part } from "./parts.ts"
import type { Target } from "./target.ts"

/** A Markdown table whose first column is text and whose others are figures. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const rule = head.map((_, column) => (column === 0 ? "---" : "---:"))
  return [head, rule, ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n")
}

const FIGURES: readonly Column[] = [
  ["events/s", (it) => it.perSecond, 0],
  ["p50 ms", (it) => it.p50, 2],
  ["p99 ms", (it) => it.p99, 2],
  ["p99.9 ms", (it) => it.p999, 2],
  ["CPU µs/event", (it) => it.cpuPerEvent, 1],
]

const MORE: readonly Column[] = [
  ["broker's CPU µs/event", (it) => it.brokerCpuPerEvent || Number.NaN, 1],
  ["peak MiB", (it) => it.peak, 0],
]

/** What the targets of a part did under each case, the medians of the rounds. */
export function sampleTable({ targets, cases, base, compared }: Part, samples: Samples): string {
  const columns = [...FIGURES, ...compared, ...MORE]
  const rows = cases.flatMap(({ name }) => {
    const mediansOf = (target: Target): Sample | undefined => {
      const found = samples[target.name]?.[name]
      return found && medianSample(found)
    }
    return targets.flatMap((target) => {
      const it = mediansOf(target)
      if (it === undefined) return []
      const figures = columns.map(([, of, digits]) => {
        const figure = of(it, mediansOf(base))
        return Number.isNaN(figure) ? "" : figure.toFixed(digits)
      })
      return [[target.title, name, ...figures]]
    })
  })
  return markdownTable(["target", "load", ...columns.map(([head]) => head)], rows)
}
