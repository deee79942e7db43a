import type { Aggregator } from "prom-client"
import type { Steps } from "../clock.ts"

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

export interface ReadMetric {
  read(): Steps<MetricLines>
}

const STEP_LINES = 64

/** Writes metrics as text, as prom-client does. */
export function* writeMetrics(metrics: readonly MetricLines[]): Steps<string> {
  const texts: string[] = []
  for (const { name, help, type, series, values } of metrics) {
    const lines = [`# HELP ${name} ${escapeText(help)}`, `# TYPE ${name} ${type}`]
    for (let at = 0; at < series.length; at++) {
      lines.push(`${series[at]!} ${showValue(values[at]!)}`)
      if (at % STEP_LINES === 0) yield
    }
    texts.push(lines.join("\n"))
    yield
  }
  return `${texts.join("\n\n")}\n`
}

/** `{name="value",…}`, or nothing without labels. */
export function labelText(labels: { readonly [name: string]: string | number }): string {
  const parts = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(String(value))}"`)
  return parts.length === 0 ? "" : `{${parts.join(",")}}`
}

const escapeText = (text: string): string => text.replace(/\\/g, "\\\\").replace(/\n/g, "\\n")

const escapeLabel = (value: string): string => escapeText(value).replace(/"/g, '\\"')

function showValue(value: number): string {
  if (Number.isFinite(value)) return String(value)
  return Number.isNaN(value) ? "Nan" : value > 0 ? "+Inf" : "-Inf"
}
