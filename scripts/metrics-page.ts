import { extensions } from "../src/extensions/registry.ts"
import { Metrics } from "../src/telemetry/metrics.ts"
import type { MetricRegistry } from "../src/telemetry/metric-registry.ts"
import { replaceParts } from "./generated-parts.ts"

type Declared = MetricRegistry["all"][number]

/** The order on the page. */
const HEADINGS = [
  "Pipelines",
  "Connections",
  "Spool",
  "Embedded log",
  "Deduplicator",
  "Reconciling",
  "Forwarding",
  "Process and configuration",
  "Traces",
  "Runtime",
] as const

type Heading = (typeof HEADINGS)[number]

/** Headings, and the metrics below each: the first that matches. */
const GROUPS: readonly (readonly [heading: Heading, names: RegExp])[] = [
  ["Deduplicator", /^hookline_deduplicator_/],
  ["Spool", /^hookline_spool_/],
  ["Process and configuration", /^hookline_log_lines_/],
  ["Embedded log", /^hookline_(log|retention)_/],
  ["Reconciling", /^hookline_reconcile_/],
  ["Forwarding", /^hookline_forward_/],
  ["Traces", /^hookline_traces?_/],
  ["Connections", /^hookline_(connection|publish|batch|retried|connects|broker|impaired|partitions)(_|$)/],
  ["Process and configuration", /^hookline_(build|readiness|problems|in_flight|event_loop|config)(_|$)/],
  ["Runtime", /^(process|nodejs)_/],
  ["Pipelines", /^hookline_/],
]

/** Writes every metric into docs/metrics.md, as it is declared. */
export const renderMetrics = (page: string): string => {
  const groups = Map.groupBy(declaredMetrics(), groupOf)
  const parts = HEADINGS.map((heading) =>
    [`### ${heading}`, "", ...tableOf(groups.get(heading) ?? [])].join("\n"),
  )
  return replaceParts(page, [parts.join("\n\n")])
}

/** Every metric that a service can have. */
function declaredMetrics(): MetricRegistry["all"] {
  const metrics = new Metrics()
  metrics.observe({
    inFlight: () => ({ requests: 0, bytes: 0 }),
    maxInFlightBytes: () => 0,
    connections: () => [],
    impaired: () => [],
    stores: () => [],
    waiting: () => [],
    droppedKeys: () => [],
    spools: () => [],
    logs: () => [],
  })
  metrics.observeSenders({ forwards: () => [] })
  for (const { gauges } of extensions)
    metrics.observeGauges(
      gauges(() => undefined),
      undefined,
    )
  metrics.observeReadiness(() => "ready")
  metrics.observeProblems(() => [])
  // created on first use
  void metrics.traces
  return metrics.all
}

const groupOf = ({ name }: Declared): Heading => GROUPS.find(([, names]) => names.test(name))![0]

const tableOf = (metrics: readonly Declared[]): readonly string[] => [
  "| metric | type | unit | labels | meaning |",
  "|---|---|---|---|---|",
  ...metrics.map(({ name, type, labels, help }) => {
    const shown = labels.map((label) => `\`${label}\``).join(", ")
    const cells = [`\`${name}\``, type, unitOf(name), shown, help.replaceAll("|", "\\|")]
    return `| ${cells.join(" | ")} |`
  }),
]

function unitOf(name: string): string {
  if (name.endsWith("_timestamp_seconds") || name.endsWith("_start_time_seconds")) return "seconds since 1970"
  if (/_seconds(_total)?$/.test(name)) return "seconds"
  if (/_bytes(_total)?$/.test(name)) return "bytes"
  return /_(info|ready|up|successful|readiness)$/.test(name) ? "0 or 1" : "count"
}
