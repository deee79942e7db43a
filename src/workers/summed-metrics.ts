import { AggregatorRegistry, type MetricObjectWithValues, type MetricValue } from "prom-client"
import type { Exposition, MetricsSnapshot } from "../telemetry/metrics.ts"

type Metrics = MetricObjectWithValues<MetricValue<string>>[]

const sumOf = (all: readonly MetricsSnapshot[]) => AggregatorRegistry.aggregate(all as unknown as Metrics[])

/** The metrics of several processes as those of one: each metric says itself whether it is added up. */
export async function exposeSum(all: readonly MetricsSnapshot[]): Promise<Exposition> {
  const sum = sumOf(all)
  return { text: await sum.metrics(), contentType: sum.contentType }
}

/**
 * What processes have counted that are gone, as far as they told before: without it counters would go backwards when a
 * worker is started anew.
 */
export class Bequest {
  #counted: MetricsSnapshot = []

  /** @param last what a process that is gone told last; undefined: nothing */
  add(last: MetricsSnapshot | undefined): void {
    const counters = (last ?? []).filter(({ type }) => type !== "gauge")
    this.#counted = sumOf([this.#counted, counters]).getMetricsAsArray() as unknown as MetricsSnapshot
  }

  get counted(): MetricsSnapshot {
    return this.#counted
  }
}
