import { Counter, type Registry } from "prom-client"

/** Counters of traces, in spans where nothing else is named. */
export interface TraceMetrics {
  /** Taken by the collector. */
  exported(spans: number): void
  dropped(reason: DropReason, spans: number): void
  /** A request was not traced because of max_traces_per_second. */
  overLimit(): void
}

const DROP_REASONS = ["queue_full", "refused", "closed"] as const

/** `refused` by the collector; `closed`: a stop or a reload ended before they were sent. */
export type DropReason = (typeof DROP_REASONS)[number]

export function traceMetrics(registry: Registry): TraceMetrics {
  const spans = new Counter({
    name: "hookline_trace_spans_total",
    help: "Spans by outcome: exported, or dropped, with the reason (queue_full, refused by the collector, closed before they were sent).",
    labelNames: ["outcome", "reason"],
    registers: [registry],
  })
  const overLimit = new Counter({
    name: "hookline_traces_over_limit_total",
    help: "Requests that were sampled, but not traced because of max_traces_per_second.",
    registers: [registry],
  })
  const exported = spans.labels("exported", "")
  exported.inc(0)
  for (const reason of DROP_REASONS) spans.labels("dropped", reason).inc(0)
  return {
    exported: (count) => exported.inc(count),
    dropped: (reason, count) => spans.labels("dropped", reason).inc(count),
    overLimit: () => overLimit.inc(),
  }
}
