import { collectDefaultMetrics, Gauge, Registry, type Aggregator } from "prom-client"
import type { Impairment, SpoolState } from "../brokers/broker.ts"
import { inSlices, type Steps } from "../slices.ts"
import { configurationMetrics, type ConfigurationMetrics } from "./configuration-metrics.ts"
import { Distribution } from "./distribution.ts"
import { exposeLines, readRegistry, shareAnswer, type Exposition } from "./exposition.ts"
import type { MetricLines, ReadMetric } from "./metric-lines.ts"
import { Tallies } from "./tally.ts"
import { workerMetrics, type WorkerMetrics } from "./worker-metrics.ts"

/** What a pipeline counts. Handles are bound once, when the pipeline is built; the id "" stands for no pipeline. */
export interface PipelineMetrics {
  /** A request was answered; status as sent. */
  answered(status: number): void
  /** An event's way ended. `reason` is a short fixed word, empty for accepted ones. */
  ended(outcome: "accepted" | "dropped" | "rejected" | "answered", reason: string): void
  /** A request was not verified. `mode` says whether that was enforced or only observed. */
  unverified(reason: string, mode: "enforce" | "observe"): void
  /** The body of an event that ended so is durably in the dead letter topic. */
  deadLetter(reason: string): void
  /**
   * An event was published without a key to know it by, or without a mark that its duplicates are known by, or passed
   * unverified.
   */
  undeduplicated(reason: "no_key" | "unmarked" | "unverified"): void
  /** Milliseconds from the arrival of its body to the acknowledgement. */
  acknowledged(ms: number): void
}

/** What a connection counts. */
export interface ConnectionMetrics {
  /** A batch was acknowledged: how many records, and the milliseconds from sending to acknowledgement. */
  batch(records: number, ms: number): void
  /** Something happened that an operator may want to know of, and that the log has a line of. */
  incident(kind: Incident): void
}

/**
 * - `batch_refused`: the broker never answered for a batch, or always in a way that says nothing of it
 * - `idle_connection_lost`: a connection that had been idle gave no answer, and another one was opened
 * - `metadata_behind`: a broker named older leaders, fewer partitions or a topic that is no more, and was not believed
 * - `offset_behind`: a batch was acknowledged at an offset that had been given before
 * - `producer_id_renewed`: a new producer id was asked for
 * - `request_limit_lowered`: the broker closes the connection on large requests
 */
export type Incident =
  | "batch_refused"
  | "idle_connection_lost"
  | "metadata_behind"
  | "offset_behind"
  | "producer_id_renewed"
  | "request_limit_lowered"

/** What a connection's spool counts, in records. */
export interface SpoolMetrics {
  /** They were stored and acknowledged. */
  spooled(records: number): void
  /** The broker acknowledged them. */
  forwarded(records: number): void
  /** The broker refused them for good. */
  setAside(records: number): void
}

/** What the retention of an embedded log counts. */
export interface LogMetrics {
  /** Records went, with so many bytes of keys, values and headers, since they were too old or the log too large. */
  deleted(reason: "age" | "size", records: number, bytes: number): void
  /** So many bytes are kept in the WAL by a reader; 0: none. */
  walHeld(bytes: number): void
}

/** What is only known when someone asks. */
export interface Observed {
  /** Requests whose answer is outstanding, and the bytes of the in-flight budget that they hold. */
  inFlight(): { requests: number; bytes: number }
  /** Each connection's id and whether records can be published to it now. */
  connections(): Iterable<readonly [id: string, ready: boolean]>
  /** Each connection that can be impaired, by its id, and the topics that can't be published to, or in part only. */
  impaired(): Iterable<readonly [id: string, topics: readonly Impairment[]]>
  /** Each Deduplicator store's name and whether it can be used now. */
  stores(): Iterable<readonly [name: string, ready: boolean]>
  /** Each of these stores' names and how many duplicates wait for what becomes of the first of their key. */
  waiting(): Iterable<readonly [name: string, events: number]>
  /** What the spools hold, by connection. */
  spools(): Iterable<readonly [id: string, state: SpoolState]>
}

/** Seconds. The low end is the embedded log's commit, the high end the usual delivery timeout and beyond it. */
const LATENCY_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const BATCH_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]

/** prom-client's gauges of V8's heap spaces, which Bun has not: what it says instead, it finds by walking the whole heap. */
const HEAP_WALKS = ["total", "used", "available"].map((what) => `nodejs_heap_space_size_${what}_bytes`)

/** All metrics of one application. Those of pipelines and connections that are gone stay. */
export class Metrics {
  readonly #registry = new Registry()
  /** Those of each event, which the registry has not, see tally.ts. */
  readonly #own: ReadMetric[] = []
  #configuration: ConfigurationMetrics | undefined
  #workers: WorkerMetrics | undefined
  readonly #pipelines = new Map<string, PipelineMetrics>()
  readonly #connections = new Map<string, ConnectionMetrics>()
  readonly #logs = new Map<string, LogMetrics>()
  readonly #requests = this.#add(
    new Tallies({
      name: "hookline_http_requests_total",
      help: "Answers given, by pipeline and HTTP status; the pipeline is empty for an unknown path.",
      labelNames: ["pipeline", "status"],
    }),
  )
  readonly #events = this.#add(
    new Tallies({
      name: "hookline_events_total",
      help: "Events by outcome (accepted, dropped, rejected, answered) and reason.",
      labelNames: ["pipeline", "outcome", "reason"],
    }),
  )
  readonly #verificationFailures = this.#add(
    new Tallies({
      name: "hookline_verification_failures_total",
      help: "Requests whose signature, token or time was not right, by reason; in mode observe their events passed.",
      labelNames: ["pipeline", "reason", "mode"],
    }),
  )
  readonly #deadLetters = this.#add(
    new Tallies({
      name: "hookline_dead_letters_total",
      help: "Bodies of refused events published to the dead letter topic, by the reason of the refusal.",
      labelNames: ["pipeline", "reason"],
    }),
  )
  readonly #undeduplicated = this.#add(
    new Tallies({
      name: "hookline_undeduplicated_events_total",
      help: "Events that passed a Deduplicator unchecked, since they lack the key (no_key) or a Verifier that observes found them unverified (unverified), and published ones whose mark could not be kept (unmarked).",
      labelNames: ["pipeline", "reason"],
    }),
  )
  readonly #spooled = this.#add(
    new Tallies({
      name: "hookline_spool_records_total",
      help: "Records by what became of them in the spool: spooled, forwarded, set_aside.",
      labelNames: ["connection", "outcome"],
    }),
  )
  readonly #acknowledgement = this.#add(
    new Distribution({
      name: "hookline_acknowledgement_seconds",
      help: "From the arrival of a request's body to the broker's acknowledgement of its record.",
      bounds: LATENCY_BUCKETS,
    }),
  )
  readonly #publish = this.#add(
    new Distribution({
      name: "hookline_publish_seconds",
      help: "From sending a batch to the broker to its acknowledgement.",
      bounds: LATENCY_BUCKETS,
    }),
  )
  readonly #batch = this.#add(
    new Distribution({
      name: "hookline_batch_records",
      help: "Records in an acknowledged batch.",
      bounds: BATCH_BUCKETS,
    }),
  )
  readonly #incidents = this.#add(
    new Tallies({
      name: "hookline_broker_incidents_total",
      help: "Incidents between Hookline and a broker by kind; the log has a line for each.",
      labelNames: ["connection", "kind"],
    }),
  )
  readonly #deletedRecords = this.#add(
    new Tallies({
      name: "hookline_retention_deleted_records_total",
      help: "Records that the retention of an embedded log deleted, by reason: age, size.",
      labelNames: ["connection", "reason"],
    }),
  )
  readonly #deletedBytes = this.#add(
    new Tallies({
      name: "hookline_retention_deleted_bytes_total",
      help: "Bytes of keys, values and headers that the retention of an embedded log deleted, by reason: age, size.",
      labelNames: ["connection", "reason"],
    }),
  )
  readonly #walHeld = new Gauge({
    name: "hookline_log_wal_held_bytes",
    help: "Bytes that a reader's open transaction keeps in the WAL of an embedded log, where it is over 64 MiB; else 0.",
    labelNames: ["connection"],
    aggregator: "max",
    registers: [this.#registry],
  })

  constructor() {
    collectDefaultMetrics({ register: this.#registry })
    for (const name of HEAP_WALKS) this.#registry.removeSingleMetric(name)
  }

  /** What became of the configuration; there when it is asked for. */
  get configuration(): ConfigurationMetrics {
    return (this.#configuration ??= configurationMetrics(this.#registry))
  }

  /** What the processes do that share the load; there when it is asked for. */
  get workers(): WorkerMetrics {
    return (this.#workers ??= workerMetrics(this.#registry))
  }

  /** The handles of a pipeline, the same for every call with its id. */
  pipeline(id: string): PipelineMetrics {
    const known = this.#pipelines.get(id)
    if (known !== undefined) return known
    const acknowledgement = this.#acknowledgement.bind({ pipeline: id })
    const made: PipelineMetrics = {
      answered: boundByFirst((status: number) =>
        this.#requests.bind({ pipeline: id, status: String(status) }),
      ),
      ended: boundByBoth((outcome, reason) => this.#events.bind({ pipeline: id, outcome, reason })),
      unverified: boundByBoth((reason, mode) =>
        this.#verificationFailures.bind({ pipeline: id, reason, mode }),
      ),
      deadLetter: boundByFirst((reason: string) => this.#deadLetters.bind({ pipeline: id, reason })),
      undeduplicated: boundByFirst((reason) => this.#undeduplicated.bind({ pipeline: id, reason })),
      acknowledged: (ms) => acknowledgement(ms / 1000),
    }
    this.#pipelines.set(id, made)
    return made
  }

  /** The handles of a connection, the same for every call with its id. */
  connection(id: string): ConnectionMetrics {
    const known = this.#connections.get(id)
    if (known !== undefined) return known
    const publish = this.#publish.bind({ connection: id })
    const batch = this.#batch.bind({ connection: id })
    const made: ConnectionMetrics = {
      batch(records, ms) {
        batch(records)
        publish(ms / 1000)
      },
      incident: boundByFirst((kind: Incident) => this.#incidents.bind({ connection: id, kind })),
    }
    this.#connections.set(id, made)
    return made
  }

  spool(id: string): SpoolMetrics {
    return {
      spooled: this.#spooled.bind({ connection: id, outcome: "spooled" }),
      forwarded: this.#spooled.bind({ connection: id, outcome: "forwarded" }),
      setAside: this.#spooled.bind({ connection: id, outcome: "set_aside" }),
    }
  }

  /** The handles of an embedded log, the same for every call with its connection's id. */
  embeddedLog(id: string): LogMetrics {
    const known = this.#logs.get(id)
    if (known !== undefined) return known
    const of = (tallies: Tallies<"connection" | "reason">) => ({
      age: tallies.bind({ connection: id, reason: "age" }),
      size: tallies.bind({ connection: id, reason: "size" }),
    })
    const [deletedRecords, deletedBytes] = [of(this.#deletedRecords), of(this.#deletedBytes)]
    const walHeld = this.#walHeld.labels(id)
    walHeld.set(0)
    const made: LogMetrics = {
      deleted(reason, records, bytes) {
        deletedRecords[reason](records)
        deletedBytes[reason](bytes)
      },
      walHeld: (bytes) => walHeld.set(bytes),
    }
    this.#logs.set(id, made)
    return made
  }

  /** Adds the gauges whose values are read from the running application at each scrape. */
  observe(observed: Observed): void {
    const gauge = <L extends string>(
      name: string,
      help: string,
      labelNames: L[],
      read: (gauge: Gauge<L>) => void,
      aggregator: Aggregator = "sum",
    ): void => {
      const made: Gauge<L> = new Gauge({
        name,
        help,
        labelNames,
        aggregator,
        registers: [this.#registry],
        collect: () => read(made),
      })
    }
    gauge("hookline_in_flight_requests", "Requests whose answer is outstanding.", [], (it) =>
      it.set(observed.inFlight().requests),
    )
    gauge(
      "hookline_in_flight_bytes",
      "Bytes of request bodies held, counted against max_in_flight_bytes.",
      [],
      (it) => it.set(observed.inFlight().bytes),
    )
    gauge(
      "hookline_connection_ready",
      "1 while records can be published to the connection, else 0.",
      ["connection"],
      (it) => {
        it.reset()
        for (const [id, ready] of observed.connections()) it.labels(id).set(ready ? 1 : 0)
      },
      "min",
    )
    const impairedGauge = (
      name: string,
      help: string,
      read: (topics: readonly Impairment[]) => number,
    ): void =>
      gauge(
        name,
        help,
        ["connection"],
        (it) => {
          it.reset()
          for (const [id, topics] of observed.impaired()) it.labels(id).set(read(topics))
        },
        "max",
      )
    impairedGauge(
      "hookline_impaired_topics",
      "Topics that can't be published to, or in part only; /readyz names them.",
      (topics) => topics.length,
    )
    impairedGauge(
      "hookline_partitions_without_leader",
      "Partitions of the topics in use that have no leader.",
      (topics) => topics.reduce((sum, { leaderless }) => sum + leaderless, 0),
    )
    gauge(
      "hookline_deduplicator_store_ready",
      "1 while the Deduplicator's store can be used, else 0.",
      ["store"],
      (it) => {
        it.reset()
        for (const [name, ready] of observed.stores()) it.labels(name).set(ready ? 1 : 0)
      },
      "min",
    )
    gauge(
      "hookline_deduplicator_waiting_events",
      "Duplicates that wait for what becomes of the first event of their key.",
      ["store"],
      (it) => {
        it.reset()
        for (const [name, events] of observed.waiting()) it.labels(name).set(events)
      },
    )
    const spoolGauge = (name: string, help: string, read: (state: SpoolState) => number): void =>
      gauge(name, help, ["connection"], (it) => {
        for (const [id, state] of observed.spools()) it.labels(id).set(read(state))
      })
    spoolGauge("hookline_spool_records", "Records that wait to be forwarded.", ({ records }) => records)
    spoolGauge("hookline_spool_bytes", "Bytes of the spool's records.", ({ bytes }) => bytes)
    spoolGauge("hookline_spool_oldest_age_seconds", "Age of the oldest record that waits.", ({ oldestMs }) =>
      oldestMs === undefined ? 0 : Math.max(0, Date.now() - oldestMs) / 1000,
    )
    spoolGauge(
      "hookline_spool_set_aside_records",
      "Records that the broker refused for good.",
      ({ setAside }) => setAside,
    )
    spoolGauge(
      "hookline_spool_stuck_topics",
      "Topics none of whose spooled records is forwarded although the broker is there.",
      ({ stuckTopics }) => stuckTopics,
    )
  }

  /** The text that Prometheus scrapes, and its content type. */
  readonly expose: () => Promise<Exposition> = shareAnswer(async () => exposeLines(await this.lines()))

  /** What all metrics say now. */
  async lines(): Promise<readonly MetricLines[]> {
    const own = await inSlices(readAll(this.#own))
    return [...own, ...(await readRegistry(this.#registry))]
  }

  #add<M extends ReadMetric>(metric: M): M {
    this.#own.push(metric)
    return metric
  }
}

function* readAll(metrics: readonly ReadMetric[]): Steps<MetricLines[]> {
  const all: MetricLines[] = []
  for (const metric of metrics) all.push(yield* metric.read())
  return all
}

/** Hot path: binds the label handle of each first argument once. */
function boundByFirst<A>(bind: (first: A) => () => void): (first: A) => void {
  const handles = new Map<A, () => void>()
  return (first) => {
    let handle = handles.get(first)
    if (handle === undefined) handles.set(first, (handle = bind(first)))
    handle()
  }
}

/** Hot path: binds the label handle of each pair of arguments once. */
function boundByBoth<A, B>(bind: (first: A, second: B) => () => void): (first: A, second: B) => void {
  const handles = new Map<A, (second: B) => void>()
  return (first, second) => {
    let inner = handles.get(first)
    if (inner === undefined) handles.set(first, (inner = boundByFirst((it: B) => bind(first, it))))
    inner(second)
  }
}
