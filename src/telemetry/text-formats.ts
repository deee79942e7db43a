import { Registry } from "prom-client"
import type { Steps } from "../clock/slices.ts"
import type { MetricLines } from "./own-metrics.ts"

/**
 * - `prometheus`: https://prometheus.io/docs/instrumenting/exposition_formats/, as prom-client writes it
 * - `openmetrics`: https://prometheus.io/docs/specs/om/open_metrics_spec/
 */
export type TextFormat = "prometheus" | "openmetrics"

export const CONTENT_TYPES: { readonly [format in TextFormat]: string } = {
  prometheus: Registry.PROMETHEUS_CONTENT_TYPE,
  openmetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8",
}

/** The format that an Accept header prefers: OpenMetrics 1.0.0 where it is asked for by name. */
export function formatFor(accept: string | null | undefined): TextFormat {
  let openMetrics = 0
  let text = 0
  for (const range of (accept ?? "").toLowerCase().split(",")) {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim())
    const valueOf = (name: string): string | undefined =>
      parameters.find((it) => it.startsWith(`${name}=`))?.slice(name.length + 1)
    const quality = Number(valueOf("q") ?? 1)
    if (type === "application/openmetrics-text" && (valueOf("version") ?? "1.0.0") === "1.0.0")
      openMetrics = Math.max(openMetrics, quality)
    if (type === "text/plain") text = Math.max(text, quality)
  }
  return openMetrics > 0 && openMetrics >= text ? "openmetrics" : "prometheus"
}

const STEP_LINES = 64

export function* writeMetrics(metrics: readonly MetricLines[], format: TextFormat): Steps<string> {
  const isOpen = format === "openmetrics"
  const texts: string[] = []
  for (const metric of metrics) {
    const { series, values } = metric
    const lines = isOpen ? openMetricsHead(metric) : prometheusHead(metric)
    const hasBounds = isOpen && metric.type === "histogram"
    for (let at = 0; at < series.length; at++) {
      const one = series[at]!
      lines.push(`${hasBounds ? withCanonicalBound(one) : one} ${showValue(values[at]!, isOpen)}`)
      if (at % STEP_LINES === 0) yield
    }
    texts.push(lines.join("\n"))
    yield
  }
  return isOpen ? `${texts.join("\n")}\n# EOF\n` : `${texts.join("\n\n")}\n`
}

const prometheusHead = ({ name, help, type }: MetricLines): string[] => [
  `# HELP ${name} ${escapeText(help)}`,
  `# TYPE ${name} ${type}`,
]

/** A counter's family has its name without `_total`. */
function openMetricsHead({ name, help, type }: MetricLines): string[] {
  const family = type === "counter" ? name.replace(/_total$/, "") : name
  return [`# TYPE ${family} ${type}`, `# HELP ${family} ${escapeText(help).replace(/"/g, '\\"')}`]
}

/** Bounds, the first label, are written as floats: `le="1.0"`. */
const withCanonicalBound = (series: string): string => series.replace(/^(\w+_bucket\{le="-?\d+)"/, '$1.0"')

const escapeText = (text: string): string => text.replace(/\\/g, "\\\\").replace(/\n/g, "\\n")

function showValue(value: number, isOpen: boolean): string {
  if (Number.isFinite(value)) return String(value)
  // prom-client's spelling, which Prometheus reads, too
  if (Number.isNaN(value)) return isOpen ? "NaN" : "Nan"
  return value > 0 ? "+Inf" : "-Inf"
}
