import { inSlices, type Steps } from "../clock/slices.ts"
import { Distribution } from "./distribution.ts"
import type { MetricDeclaration, MetricLines, ReadMetric } from "./metric-lines.ts"
import { Tallies } from "./tally.ts"

/** Seconds. The low end is the embedded log's commit, the high end the usual delivery timeout and beyond it. */
export const LATENCY_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Metrics that are updated for every event, and so kept outside prom-client's registry: see tally.ts. */
export class OwnMetrics {
  readonly #all: ReadMetric[] = []

  tallies<L extends string>(name: string, help: string, labels: readonly L[]): Tallies<L> {
    const tallies = new Tallies(name, help, labels)
    this.#all.push(tallies)
    return tallies
  }

  distribution<L extends string>(
    name: string,
    help: string,
    labels: readonly L[],
    bounds: readonly number[],
  ): Distribution<L> {
    const distribution = new Distribution(name, help, labels, bounds)
    this.#all.push(distribution)
    return distribution
  }

  read(): Promise<MetricLines[]> {
    return inSlices(readAll(this.#all))
  }

  get declared(): readonly MetricDeclaration[] {
    return this.#all.map(({ declared }) => declared)
  }
}

function* readAll(metrics: readonly ReadMetric[]): Steps<MetricLines[]> {
  const all: MetricLines[] = []
  for (const metric of metrics) all.push(yield* metric.read())
  return all
}
