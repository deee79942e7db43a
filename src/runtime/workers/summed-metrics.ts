import { atOnce, inSlices, type Steps } from "../../clock/slices.ts"
import type { MetricLines } from "../../telemetry/own-metrics.ts"

/** A process's metrics as sent over IPC: few large values, copied at once. */
export type PackedMetrics = readonly PackedMetric[]

interface PackedMetric extends Omit<MetricLines, "series" | "values"> {
  /** One per line. */
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

/** The metrics of several processes as one: each metric's aggregator says how it is summed. */
export const sumMetrics = (all: readonly (readonly MetricLines[])[]): Promise<readonly MetricLines[]> =>
  inSlices(sumOf(all))

/** Adds the counters of an ended process, without which sums would go backwards when a worker restarts. */
export const addCounters = (
  past: readonly MetricLines[],
  counted: readonly MetricLines[],
): readonly MetricLines[] => atOnce(sumOf([past, counted.filter(({ type }) => type !== "gauge")]))

const STEP_LINES = 64

function* sumOf(all: readonly (readonly MetricLines[])[]): Steps<MetricLines[]> {
  const sums: MetricLines[] = []
  for (const [, metrics] of Map.groupBy(all.flat(), ({ name }) => name)) {
    const [{ aggregator, ...first }] = metrics as [MetricLines]
    // meaningless over several processes
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
