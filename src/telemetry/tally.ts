import type { Steps } from "../slices.ts"
import { labelText, type MetricLines, type ReadMetric } from "./metric-lines.ts"

interface Tally {
  count: number
}

/** Tallies that are read in one step. */
const STEP_TALLIES = 256

/**
 * Counters whose handles do nothing but add one to a number. prom-client's own bound handles hash their labels at every
 * call: 130 ns a count and 210 ns an observation on a machine where a bare HTTP answer takes 10 us of CPU, against 3 and
 * 8 ns for these.
 */
export class Tallies<L extends string> implements ReadMetric {
  readonly #name: string
  readonly #help: string
  /** By what their lines begin with. */
  readonly #tallies = new Map<string, Tally>()

  constructor({ name, help }: { name: string; help: string; labelNames: readonly L[] }) {
    this.#name = name
    this.#help = help
  }

  /** Makes the handle of a set of labels. To be made once, since it is looked for here. */
  bind(labels: { [name in L]: string }): (count?: number) => void {
    const series = this.#name + labelText(labels)
    const tally = this.#tallies.get(series) ?? { count: 0 }
    this.#tallies.set(series, tally)
    return (count = 1) => {
      tally.count += count
    }
  }

  *read(): Steps<MetricLines> {
    const series: string[] = []
    const values: number[] = []
    for (const [key, { count }] of this.#tallies) {
      series.push(key)
      values.push(count)
      if (series.length % STEP_TALLIES === 0) yield
    }
    return { name: this.#name, help: this.#help, type: "counter", aggregator: "sum", series, values }
  }
}
