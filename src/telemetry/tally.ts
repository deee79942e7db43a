import type { Steps } from "../clock/slices.ts"
import { labelText, type MetricDeclaration, type MetricLines, type ReadMetric } from "./metric-lines.ts"

interface Tally<L extends string> {
  readonly labels: { readonly [name in L]: string }
  count: number
}

const STEP_TALLIES = 256

/**
 * Counters whose bound handles only add to a number. prom-client's own handles hash their labels at every call: 130 ns a
 * count and 210 ns an observation where a bare HTTP answer takes 10 us of CPU, against 3 and 8 ns for these.
 */
export class Tallies<L extends string> implements ReadMetric {
  readonly declared: MetricDeclaration
  readonly #tallies = new Map<string, Tally<L>>()

  constructor(name: string, help: string, labels: readonly L[]) {
    this.declared = { name, help, type: "counter", aggregator: "sum", labels }
  }

  /** Binds a set of labels, whose series begins at 0. Call once per set: this looks the series up. */
  bind(labels: { [name in L]: string }): (count?: number) => void {
    const series = this.declared.name + labelText(labels)
    const tally = this.#tallies.get(series) ?? { labels, count: 0 }
    this.#tallies.set(series, tally)
    return (count = 1) => {
      tally.count += count
    }
  }

  /** Every series and its count now. */
  *entries(): IterableIterator<readonly [labels: Tally<L>["labels"], count: number]> {
    for (const { labels, count } of this.#tallies.values()) yield [labels, count]
  }

  *read(): Steps<MetricLines> {
    const series: string[] = []
    const values: number[] = []
    for (const [key, { count }] of this.#tallies) {
      series.push(key)
      values.push(count)
      if (series.length % STEP_TALLIES === 0) yield
    }
    const { labels: _, ...declared } = this.declared
    return { ...declared, series, values }
  }
}
