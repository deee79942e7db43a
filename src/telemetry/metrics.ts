import { collectDefaultMetrics, Gauge, Registry } from "prom-client"
import { inSlices, type Steps } from "../clock.ts"
import { configurationMetrics, type ConfigurationMetrics } from "./configuration-metrics.ts"
import { readActivity, type Activity } from "./activity.ts"
import { Distribution } from "./distribution.ts"
import { exposeLines, readRegistry, shareAnswer, type Exposition } from "./exposition.ts"
import { observedGauges, type Observed } from "./gauges.ts"
import type { MetricLines, ReadMetric } from "./metric-lines.ts"
import { Tallies } from "./tally.ts"
import { traceMetrics, type TraceMetrics } from "./traces/trace-metrics.ts"
import { workerMetrics, type WorkerMetrics } from "./worker-metrics.ts"

/** Counters of a pipeline, bound once when it is built; the id "" stands for an unknown path. */
export interface PipelineMetrics {
  /** A request was answered; status as sent. */
  answered(status: number): void
  /** An event reached its outcome. `reason` is a fixed word, empty for accepted events. */
  ended(outcome: "accepted" | "dropped" | "rejected" | "answered", reason: string): void
  /** An item of a list that was split reached its outcome, as for `ended`. */
  listItem(outcome: "accepted" | "dropped" | "rejected" | "answered", reason: string): void
  /** A request failed verification; `mode` is the Verifier's. */
  unverified(reason: string, mode: "enforce" | "observe"): void
  /** A dead letter was acknowledged; `reason` is the refusal's. */
  deadLetter(reason: string): void
  /** An event was published without deduplication; `unmarked`: its key could not be stored. */
  undeduplicated(reason: "no_key" | "unmarked" | "unverified"): void
  /** An event without the Filter's value was kept. */
  unfiltered(): void
  /** An event went to the sink's topic since the Router found none for it. */
  unrouted(reason: "no_value" | "no_rule" | "invalid_topic" | "topic_not_allowed"): void
  /** Milliseconds from the end of the body to the acknowledgement. */
  acknowledged(ms: number): void
}

export interface ConnectionMetrics {
  /** A batch was acknowledged, so many milliseconds after it was sent. */
  batch(records: number, ms: number): void
  /** Something worth an alert; the log has a line for each. */
  incident(kind: Incident): void
}

/**
 * - `batch_refused`: every attempt of a batch timed out or failed without a definite error, or an internal error occurred
 * - `idle_connection_lost`: an idle connection turned out dead and was reopened
 * - `metadata_behind`: stale metadata (older leader epochs, fewer partitions, a missing topic) was ignored
 * - `offset_behind`: a batch was acknowledged at an offset already assigned
 * - `producer_id_renewed`: a new producer id was requested
 * - `request_limit_lowered`: the broker closes the connection on large requests
 */
export type Incident =
  | "batch_refused"
  | "idle_connection_lost"
  | "metadata_behind"
  | "offset_behind"
  | "producer_id_renewed"
  | "request_limit_lowered"

/** Counters of a connection's spool, in records. */
export interface SpoolMetrics {
  /** Stored and acknowledged. */
  spooled(records: number): void
  /** Acknowledged by the broker. */
  forwarded(records: number): void
  /** Refused by the broker for good. */
  quarantined(records: number): void
}

/** Counters of an embedded log's retention. */
export interface LogMetrics {
  /** Records were deleted, with so many bytes of keys, values and headers. */
  deleted(reason: "age" | "size", records: number, bytes: number): void
  /** Bytes that an open read transaction keeps in the WAL. */
  walHeld(bytes: number): void
}

/** Seconds. The low end is the embedded log's commit, the high end the usual delivery timeout and beyond it. */
const LATENCY_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const BATCH_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]

/** prom-client's gauges of V8 heap spaces: Bun has none and walks the whole heap to emulate them. */
const HEAP_WALKS = ["total", "used", "available"].map((what) => `nodejs_heap_space_size_${what}_bytes`)

/** All metrics of one application. Series of removed pipelines and connections stay. */
export class Metrics {
  readonly #registry = new Registry()
  /** Updated for every event, and so kept outside the registry: see tally.ts. */
  readonly #own: ReadMetric[] = []
  #configuration: ConfigurationMetrics | undefined
  #workers: WorkerMetrics | undefined
  #traces: TraceMetrics | undefined
  readonly #requests = this.#tallies<"pipeline" | "status">(
    "hookline_http_requests_total",
    "Answers given, by pipeline and HTTP status; the pipeline is empty for an unknown path.",
  )
  readonly #events = this.#tallies<"pipeline" | "outcome" | "reason">(
    "hookline_events_total",
    "Events by outcome (accepted, dropped, rejected, answered) and reason.",
  )
  readonly #listItems = this.#tallies<"pipeline" | "outcome" | "reason">(
    "hookline_list_items_total",
    "Items of lists that the Decoder split, by outcome and reason; hookline_events_total counts the list as one event.",
  )
  readonly #verificationFailures = this.#tallies<"pipeline" | "reason" | "mode">(
    "hookline_verification_failures_total",
    "Requests that failed verification, by reason; in mode observe their events were published.",
  )
  readonly #deadLetters = this.#tallies<"pipeline" | "reason">(
    "hookline_dead_letters_total",
    "Refused events published to the dead letter topic, by reason of the refusal.",
  )
  readonly #undeduplicated = this.#tallies<"pipeline" | "reason">(
    "hookline_undeduplicated_events_total",
    "Events published without deduplication: without a key (no_key), unverified in mode observe (unverified), or with a key that could not be stored (unmarked).",
  )
  readonly #unfiltered = this.#tallies<"pipeline">(
    "hookline_unfiltered_events_total",
    "Events kept since they lack the Filter's value.",
  )
  readonly #unrouted = this.#tallies<"pipeline" | "reason">(
    "hookline_unrouted_events_total",
    "Events published to the sink's topic since the Router found none: they lack its value (no_value), no line matches (no_rule), or the template gives a name that Kafka forbids (invalid_topic) or `topics` does not allow (topic_not_allowed).",
  )
  readonly #spooled = this.#tallies<"connection" | "outcome">(
    "hookline_spool_records_total",
    "Spooled records by outcome: spooled, forwarded, quarantined.",
  )
  readonly #acknowledgement = this.#distribution(
    "hookline_acknowledgement_seconds",
    "Time from the end of a request's body to the broker's acknowledgement of its record.",
    LATENCY_BUCKETS,
  )
  readonly #publish = this.#distribution(
    "hookline_publish_seconds",
    "Time from sending a batch to its acknowledgement.",
    LATENCY_BUCKETS,
  )
  readonly #batch = this.#distribution(
    "hookline_batch_records",
    "Records per acknowledged batch.",
    BATCH_BUCKETS,
  )
  readonly #incidents = this.#tallies<"connection" | "kind">(
    "hookline_broker_incidents_total",
    "Broker incidents by kind; the log has a line for each.",
  )
  readonly #deletedRecords = this.#tallies<"connection" | "reason">(
    "hookline_retention_deleted_records_total",
    "Records deleted by retention, by reason: age, size.",
  )
  readonly #deletedBytes = this.#tallies<"connection" | "reason">(
    "hookline_retention_deleted_bytes_total",
    "Bytes of keys, values and headers deleted by retention, by reason: age, size.",
  )
  readonly #walHeld = new Gauge({
    name: "hookline_log_wal_held_bytes",
    help: "Bytes of an embedded log's WAL that an open read transaction keeps from being checkpointed, when over 64 MiB; else 0.",
    labelNames: ["connection"],
    aggregator: "max",
    registers: [this.#registry],
  })

  constructor() {
    collectDefaultMetrics({ register: this.#registry })
    for (const name of HEAP_WALKS) this.#registry.removeSingleMetric(name)
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

  /** The handles of a pipeline, the same for every call with its id. */
  readonly pipeline = once((id: string): PipelineMetrics => {
    const acknowledgement = this.#acknowledgement.bind({ pipeline: id })
    let unfiltered: (() => void) | undefined
    return {
      answered: byFirst((status) => this.#requests.bind({ pipeline: id, status: String(status) })),
      ended: byBoth((outcome, reason) => this.#events.bind({ pipeline: id, outcome, reason })),
      listItem: byBoth((outcome, reason) => this.#listItems.bind({ pipeline: id, outcome, reason })),
      unverified: byBoth((reason, mode) => this.#verificationFailures.bind({ pipeline: id, reason, mode })),
      deadLetter: byFirst((reason) => this.#deadLetters.bind({ pipeline: id, reason })),
      undeduplicated: byFirst((reason) => this.#undeduplicated.bind({ pipeline: id, reason })),
      unfiltered: () => (unfiltered ??= this.#unfiltered.bind({ pipeline: id }))(),
      unrouted: byFirst((reason) => this.#unrouted.bind({ pipeline: id, reason })),
      acknowledged: (ms) => acknowledgement(ms / 1000),
    }
  })

  /** The handles of a connection, the same for every call with its id. */
  readonly connection = once((id: string): ConnectionMetrics => {
    const publish = this.#publish.bind({ connection: id })
    const batch = this.#batch.bind({ connection: id })
    return {
      batch(records, ms) {
        batch(records)
        publish(ms / 1000)
      },
      incident: byFirst((kind) => this.#incidents.bind({ connection: id, kind })),
    }
  })

  spool(id: string): SpoolMetrics {
    const of = (outcome: string) => this.#spooled.bind({ connection: id, outcome })
    return { spooled: of("spooled"), forwarded: of("forwarded"), quarantined: of("quarantined") }
  }

  /** The handles of an embedded log, the same for every call with its connection's id. */
  readonly embeddedLog = once((id: string): LogMetrics => {
    const of = (tallies: Tallies<"connection" | "reason">) => ({
      age: tallies.bind({ connection: id, reason: "age" }),
      size: tallies.bind({ connection: id, reason: "size" }),
    })
    const [deletedRecords, deletedBytes] = [of(this.#deletedRecords), of(this.#deletedBytes)]
    const walHeld = this.#walHeld.labels(id)
    walHeld.set(0)
    return {
      deleted(reason, records, bytes) {
        deletedRecords[reason](records)
        deletedBytes[reason](bytes)
      },
      walHeld: (bytes) => walHeld.set(bytes),
    }
  })

  /** Adds the gauges that are read from the running application at each scrape. */
  observe(observed: Observed): void {
    observedGauges(this.#registry, observed)
  }

  readonly expose: () => Promise<Exposition> = shareAnswer(async () => exposeLines(await this.lines()))

  async lines(): Promise<readonly MetricLines[]> {
    const own = await inSlices(readAll(this.#own))
    return [...own, ...(await readRegistry(this.#registry))]
  }

  /** What pipelines did, for rates: a part of `lines`. */
  activity(): Steps<Activity> {
    return readActivity(this.#events, this.#acknowledgement)
  }

  #tallies<L extends string>(name: string, help: string): Tallies<L> {
    const tallies = new Tallies<L>(name, help)
    this.#own.push(tallies)
    return tallies
  }

  #distribution(name: string, help: string, bounds: readonly number[]): Distribution {
    const distribution = new Distribution(name, help, bounds)
    this.#own.push(distribution)
    return distribution
  }
}

function* readAll(metrics: readonly ReadMetric[]): Steps<MetricLines[]> {
  const all: MetricLines[] = []
  for (const metric of metrics) all.push(yield* metric.read())
  return all
}

/** Hot path: makes what belongs to a key once. */
function once<K, T>(make: (key: K) => T): (key: K) => T {
  const made = new Map<K, T>()
  return (key) => {
    let one = made.get(key)
    if (one === undefined) made.set(key, (one = make(key)))
    return one
  }
}

/** Counts by the label handle of its argument. */
function byFirst<A>(bind: (first: A) => () => void): (first: A) => void {
  const handleOf = once(bind)
  return (first) => handleOf(first)()
}

/** Counts by the label handle of both arguments. */
function byBoth<A, B>(bind: (first: A, second: B) => () => void): (first: A, second: B) => void {
  const handlesOf = once((first: A) => once((second: B) => bind(first, second)))
  return (first, second) => handlesOf(first)(second)()
}
