import { atOnce, inSlices, type Steps } from "../slices.ts"
import { exposeLines, type Exposition } from "../telemetry/exposition.ts"
import type { MetricLines } from "../telemetry/metric-lines.ts"

/** What a process counts, as it is sent: few large values, which are copied at once. */
export type PackedMetrics = readonly PackedMetric[]

interface PackedMetric extends Omit<MetricLines, "series" | "values"> {
  /** A line each. */
  readonly series: string
  readonly values: Float64Array
}

export const packMetrics = (metrics: readonly MetricLines[]): PackedMetrics =>
  metrics.map((it) => ({ ...it, series: it.series.join("\n"), values: new Float64Array(it.values) }))

export const unpackMetrics = (packed: PackedMetrics): readonly MetricLines[] =>
  packed.map((it) => ({
    ...it,
    series: it.values.length === 0 ? [] : it.series.split("\n"),
    values: [...it.values],
  }))

/** The metrics of several processes as those of one: each metric says itself how it is added up. */
export async function exposeSum(all: readonly (readonly MetricLines[])[]): Promise<Exposition> {
  return exposeLines(await inSlices(sumOf(all)))
}

/**
 * What processes have counted that are gone, as far as they told before: without it counters would go backwards when a
 * worker is started anew.
 */
export class Bequest {
  #counted: readonly MetricLines[] = []

  /** @param last what a process that is gone told last; undefined: nothing */
  add(last: readonly MetricLines[] | undefined): void {
    const counters = (last ?? []).filter(({ type }) => type !== "gauge")
    this.#counted = atOnce(sumOf([this.#counted, counters]))
  }

  get counted(): readonly MetricLines[] {
    return this.#counted
  }
}

/** Lines that are added in one step. */
const STEP_LINES = 64

function* sumOf(all: readonly (readonly MetricLines[])[]): Steps<MetricLines[]> {
  const sums: MetricLines[] = []
  for (const [, metrics] of Map.groupBy(all.flat(), ({ name }) => name)) {
    const [{ aggregator, ...first }] = metrics as [MetricLines]
    // of processes of their own it says nothing
    if (aggregator === "omit") continue
    const values = new Map<string, number>()
    const counts = new Map<string, number>()
    for (const metric of metrics) {
      for (const [at, series] of metric.series.entries()) {
        const value = metric.values[at]!
        const before = values.get(series)
        values.set(series, before === undefined ? value : FOLDS[aggregator](before, value))
        if (aggregator === "average") counts.set(series, (counts.get(series) ?? 0) + 1)
        if (at % STEP_LINES === 0) yield
      }
    }
    for (const [series, count] of counts) values.set(series, values.get(series)! / count)
    sums.push({ ...first, aggregator, series: [...values.keys()], values: [...values.values()] })
  }
  return sums
}

const add = (a: number, b: number): number => a + b

/** As prom-client's aggregators of these names. */
const FOLDS = { sum: add, average: add, min: Math.min, max: Math.max, first: (a: number) => a }
