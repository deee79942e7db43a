import { atOnce, inSlices, type Steps } from "../../clock/slices.ts"
import type { Metric } from "../../telemetry/metric-registry.ts"

/** A process's metrics as sent over IPC: few large values, copied at once. */
export type PackedMetrics = readonly PackedMetric[]

interface PackedMetric extends Omit<Metric, "lines"> {
  /** One per line. */
  readonly series: string
  readonly values: Float64Array
}

const STEP_LINES = 64

export function* packMetrics(metrics: readonly Metric[]): Steps<PackedMetric[]> {
  const packed: PackedMetric[] = []
  for (const metric of metrics) {
    const { name, help, type, aggregator } = metric
    const series: string[] = []
    const values: number[] = []
    for (const [one, value] of metric.lines()) {
      series.push(one)
      if (values.push(value) % STEP_LINES === 0) yield
    }
    const columns = { series: series.join("\n"), values: new Float64Array(values) }
    packed.push({ name, help, type, aggregator, ...columns })
  }
  return packed
}

export const unpackMetrics = (packed: PackedMetrics): readonly Metric[] =>
  packed.map(({ series, values, ...declared }) => ({
    ...declared,
    lines: () =>
      values.length === 0 ? [] : series.split("\n").map((one, at) => [one, values[at]!] as const),
  }))

/** The metrics of several processes as one: each metric's aggregator says how it is summed. */
export const sumMetrics = (all: readonly (readonly Metric[])[]): Promise<readonly Metric[]> =>
  inSlices(sumOf(all))

/** Adds the counters of an ended process, without which sums would go backwards when a worker restarts. */
export const addCounters = (past: readonly Metric[], counted: readonly Metric[]): readonly Metric[] =>
  atOnce(sumOf([past, counted.filter(({ type }) => type !== "gauge")]))

function* sumOf(all: readonly (readonly Metric[])[]): Steps<Metric[]> {
  const sums: Metric[] = []
  for (const [name, metrics] of Map.groupBy(all.flat(), (metric) => metric.name)) {
    const [{ help, type, aggregator }] = metrics as [Metric]
    // meaningless over several processes
    if (aggregator === "omit") continue
    const values = new Map<string, number>()
    const counts = new Map<string, number>()
    let lines = 0
    for (const metric of metrics)
      for (const [series, value] of metric.lines()) {
        const before = values.get(series)
        values.set(series, before === undefined ? value : FOLDS[aggregator](before, value))
        if (aggregator === "average") counts.set(series, (counts.get(series) ?? 0) + 1)
        if (++lines % STEP_LINES === 0) yield
      }
    for (const [series, count] of counts) values.set(series, values.get(series)! / count)
    sums.push({ name, help, type, aggregator, lines: () => values })
  }
  return sums
}

const add = (a: number, b: number): number => a + b

const FOLDS = { sum: add, average: add, min: Math.min, max: Math.max, first: (a: number) => a }
