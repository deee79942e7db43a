import type { Aggregator } from "prom-client"
import type { Steps } from "../clock/slices.ts"

/** A metric in Prometheus' text format, each line split into series and value. */
export interface MetricLines {
  readonly name: string
  readonly help: string
  readonly type: "counter" | "gauge" | "histogram" | "summary"
  /** How the values of several processes are combined. */
  readonly aggregator: Aggregator
  /** Such as `name{label="value"}`. */
  readonly series: readonly string[]
  readonly values: readonly number[]
}

/** What docs/metrics.md says of a metric. */
export interface MetricDeclaration extends Pick<MetricLines, "name" | "help" | "type" | "aggregator"> {
  readonly labels: readonly string[]
}

export interface ReadMetric {
  readonly declared: MetricDeclaration
  read(): Steps<MetricLines>
}

/** `{name="value",…}`, or nothing without labels. */
export function labelText(labels: { readonly [name: string]: string | number }): string {
  const parts = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(String(value))}"`)
  return parts.length === 0 ? "" : `{${parts.join(",")}}`
}

const escapeLabel = (value: string): string =>
  value.replace(/\\/g, "\\\\").replace(/\n/g, "\\n").replace(/"/g, '\\"')
