import type { MetricRegistry } from "../metric-registry.ts"

export type TraceMetrics = ReturnType<typeof traceMetrics>

const DROP_REASONS = ["queue_full", "refused", "closed"] as const

/** `refused` by the collector; `closed`: a stop or a reload ended before they were sent. */
export type DropReason = (typeof DROP_REASONS)[number]

/** Counters of traces, in spans where nothing else is named. */
export function traceMetrics(registry: MetricRegistry) {
  const spans = registry.tallies(
    "hookline_trace_spans_total",
    "Spans by outcome: exported, or dropped, with the reason (queue_full, refused by the collector, closed before they were sent).",
    ["outcome", "reason"],
  )
  const overLimit = registry
    .tallies(
      "hookline_traces_over_limit_total",
      "Requests that were sampled, but not traced because of max_traces_per_second.",
    )
    .at()
  const exported = spans.at("exported", "")
  for (const reason of DROP_REASONS) spans.at("dropped", reason)
  return {
    /** Taken by the collector. */
    exported: (count: number): void => exported.add(count),
    dropped: (reason: DropReason, count: number): void => spans.at("dropped", reason).add(count),
    /** A request was not traced because of max_traces_per_second. */
    overLimit: (): void => overLimit.add(),
  }
}
