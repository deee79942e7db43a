import { collectDefaultMetrics, Gauge, Registry } from "prom-client"
import manifest from "../../package.json" with { type: "json" }
import type { Steps } from "../clock/slices.ts"
import { readActivity, type Activity } from "./activity.ts"
import { configurationMetrics, type ConfigurationMetrics } from "./configuration-metrics.ts"
import { connectionMetrics } from "./connection-metrics.ts"
import { declarationsIn, exposing, readRegistry } from "./exposition.ts"
import { observedGauges, readinessGauge, type Observed, type ReadinessState } from "./gauges.ts"
import { type MetricDeclaration, type MetricLines, OwnMetrics } from "./own-metrics.ts"
import { pipelineMetrics } from "./pipeline-metrics.ts"
import { traceMetrics, type TraceMetrics } from "./traces/trace-metrics.ts"
import { workerMetrics, type WorkerMetrics } from "./worker-metrics.ts"

export type { ConnectionMetrics, KafkaMetrics, LogMetrics, SpoolMetrics } from "./connection-metrics.ts"
export type { AnswerKind, PipelineMetrics } from "./pipeline-metrics.ts"

/**
 * prom-client's metrics that Bun has no values for: of V8's heap spaces, for which it walks the whole heap, and of libuv's
 * handles and requests, whose names end as a counter's.
 */
const LEFT_OUT = [
  ...["total", "used", "available"].map((what) => `nodejs_heap_space_size_${what}_bytes`),
  ...["handles", "requests", "resources"].flatMap((what) => [
    `nodejs_active_${what}`,
    `nodejs_active_${what}_total`,
  ]),
]

/** Above the event loop's usual turns, up to those of a process that is starved. */
const LAG_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

/** All metrics of one application. Series of removed pipelines and connections stay. */
export class Metrics {
  readonly #registry = new Registry()
  readonly #own = new OwnMetrics()
  #configuration: ConfigurationMetrics | undefined
  #workers: WorkerMetrics | undefined
  #traces: TraceMetrics | undefined

  readonly #pipelines = pipelineMetrics(this.#own)
  /** The handles of a pipeline, the same for every call with its id. */
  readonly pipeline = this.#pipelines.pipeline
  readonly #connections = connectionMetrics(this.#own)
  /** The handles of connections, by id. */
  readonly connection = this.#connections.connection
  readonly kafka = this.#connections.kafka
  readonly spool = this.#connections.spool
  readonly embeddedLog = this.#connections.embeddedLog
  /** Seconds by which a timer of the event loop was late. */
  readonly eventLoopLag = this.#own
    .distribution(
      "hookline_event_loop_lag_seconds",
      "By how much a timer that is due ten times a second was late: what a request may wait for its turn.",
      [],
      LAG_BUCKETS,
    )
    .at()
  readonly logLineDropped = this.#own
    .tallies(
      "hookline_log_lines_dropped_total",
      "Log lines dropped since standard output was full, blocked or closed, and the memory for lines that wait, too.",
      [],
    )
    .at()

  constructor() {
    collectDefaultMetrics({ register: this.#registry })
    for (const name of LEFT_OUT) this.#registry.removeSingleMetric(name)
    new Gauge({
      name: "hookline_build_info",
      help: "1; the labels have the versions of Hookline and of Bun, which runs it.",
      labelNames: ["version", "bun"],
      aggregator: "max",
      registers: [this.#registry],
    }).set({ version: manifest.version, bun: Bun.version }, 1)
  }

  /** Created on first use. */
  get configuration(): ConfigurationMetrics {
    return (this.#configuration ??= configurationMetrics(this.#registry))
  }

  /** Created on first use: only the supervisor has workers. */
  get workers(): WorkerMetrics {
    return (this.#workers ??= workerMetrics(this.#registry))
  }

  /** Created on first use: only a service with traces has them. */
  get traces(): TraceMetrics {
    return (this.#traces ??= traceMetrics(this.#registry))
  }

  /** Adds the gauges that are read from the running application at each scrape. */
  observe(observed: Observed): void {
    observedGauges(this.#registry, observed)
  }

  /** Adds the gauge of what `/readyz` says. */
  observeReadiness(read: () => ReadinessState | Promise<ReadinessState>): void {
    readinessGauge(this.#registry, read)
  }

  /** The metrics as text, in the format that the Accept header asks for. */
  readonly expose = exposing(() => this.lines())

  async lines(): Promise<readonly MetricLines[]> {
    return [...(await this.#own.read()), ...(await readRegistry(this.#registry))]
  }

  /** What pipelines did, for rates: a part of `lines`. */
  activity(): Steps<Activity> {
    return readActivity(this.#pipelines.events, this.#pipelines.acknowledgements)
  }

  get declared(): readonly MetricDeclaration[] {
    return [...this.#own.declared, ...declarationsIn(this.#registry)]
  }
}
