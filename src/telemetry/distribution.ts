import type { Metric, Registry } from "prom-client"

interface Series {
  readonly labels: { readonly [name: string]: string }
  /** Observations up to each bound and, in the last place, above all of them; not cumulative. */
  readonly counts: Float64Array
  sum: number
}

/** A histogram of which each set of labels is a plain array of counts; see tally.ts for why. */
export class Distribution {
  readonly #series: Series[] = []
  readonly #bounds: readonly number[]

  /** @param bounds upper bounds of the buckets, ascending, without +Inf */
  constructor(registry: Registry, metric: { name: string; help: string; bounds: readonly number[] }) {
    this.#bounds = metric.bounds
    // What a registry asks of a metric is `name` and `get`.
    const exposed = {
      name: metric.name,
      get: async () => ({
        name: metric.name,
        help: metric.help,
        type: "histogram",
        aggregator: "sum",
        values: this.#series.flatMap((series) => expose(metric.name, metric.bounds, series)),
      }),
    }
    registry.registerMetric(exposed as unknown as Metric<string>)
  }

  /** Makes the handle of a set of labels. To be made once: each one is a series of its own. */
  bind(labels: { readonly [name: string]: string }): (value: number) => void {
    const bounds = this.#bounds
    const series: Series = { labels, counts: new Float64Array(bounds.length + 1), sum: 0 }
    this.#series.push(series)
    const { counts } = series
    // Hot path.
    return (value) => {
      let bucket = 0
      while (bucket < bounds.length && value > bounds[bucket]!) bucket++
      counts[bucket]!++
      series.sum += value
    }
  }
}

function expose(name: string, bounds: readonly number[], { labels, counts, sum }: Series) {
  let total = 0
  const buckets = [...bounds, "+Inf"].map((le, i) => ({
    metricName: `${name}_bucket`,
    labels: { le: String(le), ...labels },
    value: (total += counts[i]!),
  }))
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: total },
  ]
}
