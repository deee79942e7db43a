import type { Steps } from "../slices.ts"
import { labelText, type MetricLines, type ReadMetric } from "./metric-lines.ts"

interface Series {
  readonly labels: { readonly [name: string]: string }
  /** Observations up to each bound and, in the last place, above all of them; not cumulative. */
  readonly counts: Float64Array
  sum: number
  /** What its lines begin with, once it was read. */
  lines?: readonly string[]
}

/**
 * A histogram of which each set of labels is a plain array of counts; see tally.ts for why. One that nothing was observed
 * of has no lines: of thousands of pipelines most may be idle.
 */
export class Distribution implements ReadMetric {
  readonly #name: string
  readonly #help: string
  readonly #bounds: readonly number[]
  readonly #series: Series[] = []

  /** @param bounds upper bounds of the buckets, ascending, without +Inf */
  constructor({ name, help, bounds }: { name: string; help: string; bounds: readonly number[] }) {
    this.#name = name
    this.#help = help
    this.#bounds = bounds
  }

  /** Makes the handle of a set of labels. To be made once: each one is a series of its own. */
  bind(labels: { readonly [name: string]: string }): (value: number) => void {
    const bounds = this.#bounds
    let series: Series | undefined
    // Hot path.
    return (value) => {
      if (series === undefined) {
        series = { labels, counts: new Float64Array(bounds.length + 1), sum: 0 }
        this.#series.push(series)
      }
      let bucket = 0
      while (bucket < bounds.length && value > bounds[bucket]!) bucket++
      series.counts[bucket]!++
      series.sum += value
    }
  }

  *read(): Steps<MetricLines> {
    const lines: string[] = []
    const values: number[] = []
    for (const one of this.#series) {
      lines.push(...(one.lines ??= linesOf(this.#name, this.#bounds, one)))
      let total = 0
      for (const count of one.counts) values.push((total += count))
      values.push(one.sum, total)
      yield
    }
    return {
      name: this.#name,
      help: this.#help,
      type: "histogram",
      aggregator: "sum",
      series: lines,
      values,
    }
  }
}

function linesOf(name: string, bounds: readonly number[], { labels }: Series): string[] {
  return [
    ...[...bounds, "+Inf"].map((le) => `${name}_bucket${labelText({ le: String(le), ...labels })}`),
    `${name}_sum${labelText(labels)}`,
    `${name}_count${labelText(labels)}`,
  ]
}
