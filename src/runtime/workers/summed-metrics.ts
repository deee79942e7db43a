import { atOnce, inSlices, type Steps } from "../../clock/slices.ts"
import type { Metric, MetricLine } from "../../telemetry/metric-registry.ts"
import type { Exposition } from "../../telemetry/text-formats.ts"

/** A worker's metric as its supervisor gets it, in JSON. */
interface PackedMetric extends Omit<Metric, "lines"> {
  /** null: a value that JSON can't write, such as NaN. */
  readonly lines: readonly (readonly [series: string, value: number | null])[]
}

const STEP_LINES = 64

function* packMetrics(metrics: readonly Metric[]): Steps<string[]> {
  const packed: string[] = []
  for (const metric of metrics) {
    const lines: MetricLine[] = []
    for (const line of metric.lines()) if (lines.push(line) % STEP_LINES === 0) yield
    const { name, help, type, aggregator } = metric
    packed.push(JSON.stringify({ name, help, type, aggregator, lines } satisfies PackedMetric))
    yield
  }
  return packed
}

/** A worker's metrics, for `unpackMetrics` of the supervisor. */
export async function packedExposition(metrics: readonly Metric[]): Promise<Exposition> {
  const packed = await inSlices(packMetrics(metrics))
  return { contentType: "application/json", body: new Response(`[${packed.join()}]`).body! }
}

export const unpackMetrics = (packed: readonly PackedMetric[]): readonly Metric[] =>
  packed.map(({ lines, ...declared }) => ({
    ...declared,
    lines: () => lines.map(([series, value]) => [series, value ?? NaN] as const),
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
