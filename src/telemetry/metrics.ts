import manifest from "../../package.json" with { type: "json" }
import type { Steps } from "../clock/slices.ts"
import { readActivity, type Activity } from "./activity.ts"
import { configurationMetrics } from "./configuration-metrics.ts"
import { connectionMetrics } from "./connection-metrics.ts"
import {
  addGauges,
  observedGauges,
  problemGauge,
  readinessGauge,
  senderGauges,
  type Observed,
  type Gauge,
  type ObservedSenders,
  type ProblemCounts,
  type ReadinessState,
} from "./gauges.ts"
import { MetricRegistry } from "./metric-registry.ts"
import { pipelineMetrics } from "./pipeline-totals.ts"
import { processMetrics } from "./process-metrics.ts"
import { expose, type Exposition } from "./text-formats.ts"
import { traceMetrics, type TraceMetrics } from "./traces/trace-metrics.ts"

export type { ConnectionMetrics, KafkaMetrics, LogMetrics, SpoolMetrics } from "./connection-metrics.ts"
export type { AnswerKind, PipelineMetrics } from "./pipeline-metrics.ts"

/** Above the event loop's usual turns, up to those of a process that is starved. */
const LAG_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

/** All metrics of one application. Series of removed pipelines and connections stay. */
export class Metrics {
  readonly #registry = new MetricRegistry()
  #traces: TraceMetrics | undefined

  readonly #pipelines = pipelineMetrics(this.#registry)
  readonly pipeline = this.#pipelines.pipeline
  readonly setDetail = this.#pipelines.setDetail
  readonly #connections = connectionMetrics(this.#registry)
  /** The handles of connections, by id. */
  readonly connection = this.#connections.connection
  readonly kafka = this.#connections.kafka
  readonly spool = this.#connections.spool
  readonly embeddedLog = this.#connections.embeddedLog
  /** Seconds by which a timer of the event loop was late. */
  readonly eventLoopLag = this.#registry
    .distribution(
      "hookline_event_loop_lag_seconds",
      "By how much a timer that is due ten times a second was late: what a request may wait for its turn.",
      [],
      LAG_BUCKETS,
    )
    .at()
  readonly configuration = configurationMetrics(this.#registry)
  readonly logLineDropped = this.#registry
    .tallies(
      "hookline_log_lines_dropped_total",
      "Log lines dropped since standard output was full, blocked or closed, and the memory for lines that wait, too.",
      [],
    )
    .at()

  constructor() {
    this.#registry.reading(
      {
        name: "hookline_build_info",
        help: "1; the labels have the versions of Hookline and of Bun, which runs it.",
        labels: ["version", "bun"],
      },
      () => [[[manifest.version, Bun.version], 1]],
    )
    processMetrics(this.#registry)
  }

  /** Created on first use: only a service with traces has them. */
  get traces(): TraceMetrics {
    return (this.#traces ??= traceMetrics(this.#registry))
  }

  /** Adds the gauges that are read from the running application at each scrape. */
  observe(observed: Observed): void {
    observedGauges(this.#registry, observed)
  }

  /** Adds the gauges of what senders sent, or did not. */
  observeSenders(observed: ObservedSenders): void {
    senderGauges(this.#registry, observed)
  }

  /** Adds gauges that are read of `observed` at each scrape. */
  observeGauges<O>(gauges: readonly Gauge<O>[], observed: O): void {
    addGauges(this.#registry, gauges, observed)
  }

  /** Adds the gauge of what `/readyz` says. */
  observeReadiness(read: () => ReadinessState): void {
    readinessGauge(this.#registry, read)
  }

  /** Adds the gauge of problems. @param read how many there are, by kind and severity */
  observeProblems(read: () => ProblemCounts): void {
    problemGauge(this.#registry, read)
  }

  /** All metrics, to be read now. */
  get all(): MetricRegistry["all"] {
    return this.#registry.all
  }

  /** The metrics as text, in the format that the Accept header asks for. */
  expose(accept?: string | null): Exposition {
    return expose(this.all, accept)
  }

  /** What pipelines did, for rates: a part of the metrics. */
  activity(): Steps<Activity> {
    return readActivity(this.#pipelines)
  }
}
