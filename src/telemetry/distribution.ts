import type { Steps } from "../clock/slices.ts"
import { labelText, type MetricDeclaration, type MetricLines, type ReadMetric } from "./metric-lines.ts"

interface Series<L extends string> {
  readonly labels: { readonly [name in L]: string }
  /** Observations per bucket, the last above every bound; not cumulative. */
  readonly counts: Float64Array
  sum: number
  /** The series of its lines, once read. */
  lines?: readonly string[]
}

/** A histogram with a plain array of counts for each set of labels, see tally.ts. */
export class Distribution<L extends string> implements ReadMetric {
  readonly declared: MetricDeclaration
  /** Upper bounds of the buckets, ascending, without +Inf. */
  readonly bounds: readonly number[]
  readonly #series: Series<L>[] = []

  constructor(name: string, help: string, labels: readonly L[], bounds: readonly number[]) {
    this.declared = { name, help, type: "histogram", aggregator: "sum", labels }
    this.bounds = bounds
  }

  /** Binds a set of labels, whose series begin at 0. Call once per set: each call is a series of its own. */
  bind(labels: { readonly [name in L]: string }): (value: number) => void {
    const { bounds } = this
    const series: Series<L> = { labels, counts: new Float64Array(bounds.length + 1), sum: 0 }
    this.#series.push(series)
    // Hot path.
    return (value) => {
      let bucket = 0
      while (bucket < bounds.length && value > bounds[bucket]!) bucket++
      series.counts[bucket]!++
      series.sum += value
    }
  }

  /** Every series and its observations per bucket, the last above every bound: the counts themselves, not a copy. */
  *entries(): IterableIterator<readonly [labels: Series<L>["labels"], counts: Float64Array]> {
    for (const { labels, counts } of this.#series) yield [labels, counts]
  }

  *read(): Steps<MetricLines> {
    const { labels: _, ...declared } = this.declared
    const lines: string[] = []
    const values: number[] = []
    for (const one of this.#series) {
      lines.push(...(one.lines ??= linesOf(declared.name, this.bounds, one)))
      let total = 0
      for (const count of one.counts) values.push((total += count))
      values.push(one.sum, total)
      yield
    }
    return { ...declared, series: lines, values }
  }
}

function linesOf(name: string, bounds: readonly number[], { labels }: Series<string>): string[] {
  return [
    ...[...bounds, "+Inf"].map((le) => `${name}_bucket${labelText({ le: String(le), ...labels })}`),
    `${name}_sum${labelText(labels)}`,
    `${name}_count${labelText(labels)}`,
  ]
}
