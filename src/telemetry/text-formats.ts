import { slices } from "../clock/slices.ts"
import type { Metric } from "./metric-registry.ts"

/**
 * - `prometheus`: https://prometheus.io/docs/instrumenting/exposition_formats/
 * - `openmetrics`: https://prometheus.io/docs/specs/om/open_metrics_spec/
 */
type TextFormat = "prometheus" | "openmetrics"

const CONTENT_TYPES: { readonly [format in TextFormat]: string } = {
  prometheus: "text/plain; version=0.0.4; charset=utf-8",
  openmetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8",
}

/** The format that an Accept header prefers: OpenMetrics 1.0.0 where it is asked for by name. */
function formatFor(accept: string | null | undefined): TextFormat {
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

export interface Exposition {
  readonly contentType: string
  /** Written as it is read: thousands of pipelines give megabytes. */
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>>
}

/** The metrics as text, in the format that an Accept header asks for. */
export function expose(metrics: Iterable<Metric>, accept?: string | null): Exposition {
  const format = formatFor(accept)
  const chunks = writeMetrics(metrics, format === "openmetrics")
  return { contentType: CONTENT_TYPES[format], body: new Response(chunks).body! }
}

/** UTF-16 code units of a piece: a few milliseconds' work. */
const CHUNK = 64 * 1024

async function* writeMetrics(metrics: Iterable<Metric>, isOpen: boolean): AsyncGenerator<string> {
  const slice = slices()
  let text = ""
  let separator = ""
  for (const metric of metrics) {
    text += isOpen ? openMetricsHead(metric) : separator + prometheusHead(metric)
    separator = "\n"
    const hasBounds = isOpen && metric.type === "histogram"
    for (const [series, value] of metric.lines()) {
      text += `${hasBounds ? withCanonicalBound(series) : series} ${showValue(value)}\n`
      if (text.length < CHUNK) continue
      yield text
      text = ""
      await slice()
    }
  }
  yield isOpen ? `${text}# EOF\n` : text
}

const prometheusHead = ({ name, help, type }: Metric): string =>
  `# HELP ${name} ${escapeText(help)}\n# TYPE ${name} ${type}\n`

/** A counter's family has its name without `_total`. */
function openMetricsHead({ name, help, type }: Metric): string {
  const family = type === "counter" ? name.replace(/_total$/, "") : name
  return `# TYPE ${family} ${type}\n# HELP ${family} ${escapeText(help).replace(/"/g, '\\"')}\n`
}

/** Bounds, the first label, are written as floats: `le="1.0"`. */
const withCanonicalBound = (series: string): string => series.replace(/^(\w+_bucket\{le="-?\d+)"/, '$1.0"')

const escapeText = (text: string): string => text.replace(/\\/g, "\\\\").replace(/\n/g, "\\n")

function showValue(value: number): string {
  if (Number.isFinite(value)) return String(value)
  if (Number.isNaN(value)) return "NaN"
  return value > 0 ? "+Inf" : "-Inf"
}
