import { Gauge, type Aggregator, type Registry } from "prom-client"

/** State that is read from the running application at each scrape. */
export interface Observed {
  /** Unanswered requests, and the bytes of the in-flight budget that they hold. */
  inFlight(): { requests: number; bytes: number }
  maxInFlightBytes(): number
  /** Whether records can be published to each connection now, by connection id. */
  connections(): Iterable<readonly [id: string, ready: boolean]>
  /** The impaired topics of each connection that can be impaired, by connection id. */
  impaired(): Iterable<readonly [id: string, topics: readonly { readonly leaderless: number }[]]>
  /** Whether each Deduplicator store can be used now, by name. */
  stores(): Iterable<readonly [name: string, ready: boolean]>
  /** Duplicates that wait for the outcome of the first event of their key, by store. */
  waiting(): Iterable<readonly [name: string, events: number]>
  /** By connection id. */
  spools(): Iterable<readonly [id: string, state: SpoolGauges]>
  /** Embedded logs, by connection id. */
  logs(): Iterable<readonly [id: string, state: LogGauges]>
}

/** As in `/readyz`. */
const READINESS_STATES = ["ready", "partly ready", "not ready", "draining"] as const

export type ReadinessState = (typeof READINESS_STATES)[number]

interface SpoolGauges extends Readonly<
  Record<"records" | "bytes" | "maxBytes" | "quarantined" | "stuckTopics", number>
> {
  /** When the oldest record was spooled, in milliseconds since 1970; undefined: the spool is empty. */
  readonly oldestMs: number | undefined
  /** Why the broker behind it is unavailable; undefined: it is available. */
  readonly outage: string | undefined
}

interface LogGauges extends Readonly<Record<"bytes" | "fileBytes" | "heldBytes", number>> {
  /** Time of the oldest record, in milliseconds since 1970; Infinity: the log is empty. */
  readonly oldestMs: number
  /** In milliseconds; Infinity: forever. */
  readonly retentionMs: number
  /** Infinity: without a limit. */
  readonly retentionBytes: number
}

/** One gauge: its label (undefined: none), its series at a scrape, and how those of several processes are combined. */
interface GaugeRow {
  readonly name: string
  readonly help: string
  readonly label?: string
  readonly aggregator?: Aggregator
  readonly read: (observed: Observed) => Iterable<readonly [label: string, value: number]>
}

const GAUGES: readonly GaugeRow[] = [
  {
    name: "hookline_in_flight_requests",
    help: "Unanswered requests.",
    read: (observed) => [["", observed.inFlight().requests]],
  },
  {
    name: "hookline_in_flight_bytes",
    help: "Bytes of request bodies held, counted against max_in_flight_bytes.",
    read: (observed) => [["", observed.inFlight().bytes]],
  },
  {
    name: "hookline_in_flight_limit_bytes",
    help: "max_in_flight_bytes; requests beyond it get 503.",
    read: (observed) => [["", observed.maxInFlightBytes()]],
  },
  {
    name: "hookline_connection_ready",
    help: "1 while records can be published to the connection, else 0.",
    label: "connection",
    aggregator: "min",
    read: (observed) => map(observed.connections(), Number),
  },
  {
    name: "hookline_impaired_topics",
    help: "Topics that are unavailable in whole or in part; /readyz names them.",
    label: "connection",
    aggregator: "max",
    read: (observed) => map(observed.impaired(), ({ length }) => length),
  },
  {
    name: "hookline_partitions_without_leader",
    help: "Leaderless partitions of the topics in use.",
    label: "connection",
    aggregator: "max",
    read: (observed) =>
      map(observed.impaired(), (topics) => topics.reduce((sum, { leaderless }) => sum + leaderless, 0)),
  },
  {
    name: "hookline_deduplicator_store_ready",
    help: "1 while the Deduplicator's store can be used, else 0.",
    label: "store",
    aggregator: "min",
    read: (observed) => map(observed.stores(), Number),
  },
  {
    name: "hookline_deduplicator_waiting_events",
    help: "Duplicates waiting for the outcome of the first event of their key.",
    label: "store",
    read: (observed) => observed.waiting(),
  },
  spoolGauge("records", "Records waiting to be forwarded.", ({ records }) => records),
  spoolGauge("bytes", "Bytes of the spooled records.", ({ bytes }) => bytes),
  spoolGauge("limit_bytes", "spool_max_bytes of the connection.", ({ maxBytes }) => maxBytes),
  spoolGauge(
    "oldest_age_seconds",
    "Age of the oldest spooled record; 0: the spool is empty.",
    ({ oldestMs }) => ageOf(oldestMs),
  ),
  spoolGauge("quarantined_records", "Records that the broker refused for good.", (it) => it.quarantined),
  spoolGauge(
    "stuck_topics",
    "Topics with spooled records of which none is forwarded although the broker is available.",
    ({ stuckTopics }) => stuckTopics,
  ),
  {
    name: "hookline_spool_broker_ready",
    help: "1 while the broker behind the spool is available, 0 while events are kept.",
    label: "connection",
    aggregator: "min",
    read: (observed) => map(observed.spools(), ({ outage }) => Number(outage === undefined)),
  },
  logGauge("bytes", "Bytes of keys, values and headers in the embedded log.", ({ bytes }) => bytes),
  logGauge("file_bytes", "Size of the embedded log's file and its WAL.", ({ fileBytes }) => fileBytes),
  logGauge("oldest_age_seconds", "Age of the log's oldest record; 0: the log is empty.", ({ oldestMs }) =>
    ageOf(oldestMs === Number.POSITIVE_INFINITY ? undefined : oldestMs),
  ),
  logGauge(
    "retention_seconds",
    "retention of the connection; +Inf: records are kept for ever.",
    ({ retentionMs }) => retentionMs / 1000,
  ),
  logGauge(
    "retention_bytes",
    "retention_bytes of the connection; +Inf: without a limit.",
    ({ retentionBytes }) => retentionBytes,
  ),
  logGauge(
    "wal_held_bytes",
    "Bytes of an embedded log's WAL that an open read transaction keeps from being checkpointed, when over 64 MiB; else 0.",
    ({ heldBytes }) => heldBytes,
  ),
]

/** Seconds since a time in milliseconds since 1970. */
const ageOf = (ms: number | undefined): number => (ms === undefined ? 0 : Math.max(0, Date.now() - ms) / 1000)

function logGauge(name: string, help: string, read: (state: LogGauges) => number): GaugeRow {
  return {
    name: `hookline_log_${name}`,
    help,
    label: "connection",
    read: (observed) => map(observed.logs(), read),
  }
}

function spoolGauge(name: string, help: string, read: (state: SpoolGauges) => number): GaugeRow {
  return {
    name: `hookline_spool_${name}`,
    help,
    label: "connection",
    read: (observed) => map(observed.spools(), read),
  }
}

function* map<T>(
  entries: Iterable<readonly [string, T]>,
  read: (value: T) => number,
): Iterable<readonly [string, number]> {
  for (const [label, value] of entries) yield [label, read(value)]
}

export function observedGauges(registry: Registry, observed: Observed): void {
  for (const { name, help, label, aggregator = "sum", read } of GAUGES) {
    const gauge: Gauge<string> = new Gauge({
      name,
      help,
      labelNames: label === undefined ? [] : [label],
      aggregator,
      registers: [registry],
      collect() {
        gauge.reset()
        for (const [value, count] of read(observed))
          gauge.set(label === undefined ? {} : { [label]: value }, count)
      },
    })
  }
}

/** With workers the supervisor's value counts. */
export function readinessGauge(
  registry: Registry,
  read: () => ReadinessState | Promise<ReadinessState>,
): void {
  const gauge = new Gauge({
    name: "hookline_readiness",
    help: "What /readyz says, as 1 for one state and 0 for the others: ready, partly ready, not ready, draining.",
    labelNames: ["state"],
    aggregator: "first",
    registers: [registry],
    async collect() {
      const now = await read()
      for (const state of READINESS_STATES) gauge.set({ state }, Number(state === now))
    },
  })
}
