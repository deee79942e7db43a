import type { Steps } from "../clock.ts"
import { labelText, type MetricLines, type ReadMetric } from "./metric-lines.ts"

interface Series {
  readonly labels: { readonly [name: string]: string }
  /** Observations per bucket, the last above every bound; not cumulative. */
  readonly counts: Float64Array
  sum: number
  /** The series of its lines, once read. */
  lines?: readonly string[]
}

/** A histogram with a plain array of counts for each set of labels, see tally.ts. Idle pipelines have no lines. */
export class Distribution implements ReadMetric {
  /** Upper bounds of the buckets, ascending, without +Inf. */
  readonly bounds: readonly number[]
  readonly #name: string
  readonly #help: string
  readonly #series: Series[] = []

  /** @param bounds upper bounds of the buckets, ascending, without +Inf */
  constructor(name: string, help: string, bounds: readonly number[]) {
    this.#name = name
    this.#help = help
    this.bounds = bounds
  }

  /** Binds a set of labels. Call once per set: each call is a series of its own. */
  bind(labels: { readonly [name: string]: string }): (value: number) => void {
    const bounds = this.bounds
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

  /** Every series and its observations per bucket, the last above every bound: the counts themselves, not a copy. */
  *entries(): IterableIterator<readonly [labels: Series["labels"], counts: Float64Array]> {
    for (const { labels, counts } of this.#series) yield [labels, counts]
  }

  *read(): Steps<MetricLines> {
    const lines: string[] = []
    const values: number[] = []
    for (const one of this.#series) {
      lines.push(...(one.lines ??= linesOf(this.#name, this.bounds, one)))
      let total = 0
      for (const count of one.counts) values.push((total += count))
      values.push(one.sum, total)
      yield
    }
    const [name, help] = [this.#name, this.#help]
    return { name, help, type: "histogram", aggregator: "sum", series: lines, values }
  }
}

function linesOf(name: string, bounds: readonly number[], { labels }: Series): string[] {
  return [
    ...[...bounds, "+Inf"].map((le) => `${name}_bucket${labelText({ le: String(le), ...labels })}`),
    `${name}_sum${labelText(labels)}`,
    `${name}_count${labelText(labels)}`,
  ]
}
