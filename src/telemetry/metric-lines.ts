import type { Aggregator } from "prom-client"
import type { Steps } from "../slices.ts"

/** A metric as Prometheus' text format has it, each line apart into its series and its value. */
export interface MetricLines {
  readonly name: string
  readonly help: string
  readonly type: "counter" | "gauge" | "histogram" | "summary"
  /** How those of several processes become one. */
  readonly aggregator: Aggregator
  /** What each line begins with, such as `name{label="value"}`. */
  readonly series: readonly string[]
  /** Of each series. */
  readonly values: readonly number[]
}

/** What reads a metric. */
export interface ReadMetric {
  read(): Steps<MetricLines>
}

/** Lines that are written in one step. */
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

/** The text of one metric, as `writeMetrics` and prom-client write it, back in lines. */
export function readText(
  text: string,
  metric: Pick<MetricLines, "name" | "help" | "type" | "aggregator">,
): MetricLines {
  const lines = text.split("\n").filter((line) => !line.startsWith("#"))
  const ends = lines.map((line) => line.lastIndexOf(" "))
  return {
    ...metric,
    series: lines.map((line, at) => line.slice(0, ends[at])),
    values: lines.map((line, at) => parseValue(line.slice(ends[at]! + 1))),
  }
}

/** What the lines of a set of labels begin with, behind the name. */
export function labelText(labels: { readonly [name: string]: string }): string {
  const parts = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`)
  return parts.length === 0 ? "" : `{${parts.join(",")}}`
}

const escapeText = (text: string): string => text.replace(/\\/g, "\\\\").replace(/\n/g, "\\n")

const escapeLabel = (value: string): string => escapeText(value).replace(/"/g, '\\"')

function showValue(value: number): string {
  if (Number.isFinite(value)) return String(value)
  return Number.isNaN(value) ? "Nan" : value > 0 ? "+Inf" : "-Inf"
}

function parseValue(text: string): number {
  if (text === "+Inf") return Number.POSITIVE_INFINITY
  return text === "-Inf" ? Number.NEGATIVE_INFINITY : Number(text)
}
