import type { MetricRegistry } from "./metric-registry.ts"

/** The configuration that is active, and whether the one on disk would start. */
export interface ConfigurationState {
  /** Milliseconds since 1970. */
  readonly loadedAtMs: number
  /** Why the last reload failed; undefined: it did not. */
  readonly problem: string | undefined
}

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
  /** Keys that were dropped, since the log does not have their records, by store. */
  droppedKeys(): Iterable<readonly [name: string, keys: number]>
  /** By connection id. */
  spools(): Iterable<readonly [id: string, state: SpoolGauges]>
  /** Embedded logs, by connection id. */
  logs(): Iterable<readonly [id: string, state: LogGauges]>
}

/** Deliveries to applications, of the process that forwards them. */
export interface ObservedSenders {
  forwards(): Iterable<ForwardGauges>
}

export interface ForwardGauges {
  /** Another process of the service forwards it. */
  readonly isElsewhere: boolean
  readonly id: string
  /** Records that are not delivered yet; undefined: not known. */
  readonly lag: number | undefined
  /** Since it began. */
  readonly delivered: number
  readonly refused: number
  /** Partitions whose positions were set back. */
  readonly setBack: number
  readonly inFlight: number
  readonly isPaused: boolean
  readonly problem: string | undefined
}

/** As in `/readyz`. */
export const READINESS_STATES = ["ready", "partly ready", "not ready", "draining"] as const

export type ReadinessState = (typeof READINESS_STATES)[number]

/** What a spool holds. */
export interface SpoolGauges {
  /** Why the broker is unavailable; undefined while it is available. */
  readonly outage: string | undefined
  /** Records to be forwarded. */
  readonly records: number
  /** Bytes of keys, values and headers, of quarantined ones as well. */
  readonly bytes: number
  /** The most bytes that it takes. */
  readonly maxBytes: number
  /** When the oldest record to be forwarded was spooled, in milliseconds since 1970; undefined: there is none. */
  readonly oldestMs: number | undefined
  /** Records that the broker refused for good. */
  readonly quarantined: number
  /** Topics none of whose records is forwarded although the broker is available. */
  readonly stuckTopics: number
}

/** What an embedded log holds, as its thread said last. */
export interface LogGauges {
  /** Bytes of keys, values and headers. */
  readonly bytes: number
  /** Size of the file and its WAL. */
  readonly fileBytes: number
  /** Bytes of the WAL that a reader holds, when over 64 MiB; else 0. */
  readonly heldBytes: number
  /** Age of the oldest record, in milliseconds; 0: there is none. */
  readonly oldestAgeMs: number
  /** How long records are kept; Infinity: forever. */
  readonly retentionMs: number
  /** How many bytes are kept; Infinity: all. */
  readonly retentionBytes: number
}

/** A gauge's help, and what it reads of one of its things. */
type GaugeRow<T> = readonly [help: string, read: (one: T) => number]

/** A gauge that is read of one thing at each scrape. */
export interface Gauge<O> {
  readonly name: string
  readonly help: string
  /** undefined: it has none */
  readonly label: string | undefined
  /** Reads its values, by the value of its label. */
  readonly series: (observed: O) => Iterable<readonly [label: string, value: number]>
}

/** Gauges by name, without `hookline_`: their label, and their series at a scrape. */
export const gaugesOf = <T, O = Observed>(
  label: string | undefined,
  all: (observed: O) => Iterable<readonly [label: string, one: T]>,
  rows: { readonly [name: string]: GaugeRow<T> },
): Gauge<O>[] =>
  Object.entries(rows).map(([name, [help, read]]) => ({
    name: `hookline_${name}`,
    help,
    label,
    series: (observed: O) => Iterator.from(all(observed)).map(([value, one]) => [value, read(one)] as const),
  }))

const GAUGES = [
  ...gaugesOf(undefined, (observed) => [["", observed.inFlight()]], {
    in_flight_requests: ["Unanswered requests.", ({ requests }) => requests],
    in_flight_bytes: [
      "Bytes of request bodies held, counted against max_in_flight_bytes.",
      ({ bytes }) => bytes,
    ],
  }),
  ...gaugesOf(undefined, (observed) => [["", observed.maxInFlightBytes()]], {
    in_flight_limit_bytes: ["max_in_flight_bytes; requests beyond it get 503.", Number],
  }),
  ...gaugesOf("connection", (observed) => observed.connections(), {
    connection_ready: ["1 while records can be published to the connection, else 0.", Number],
  }),
  ...gaugesOf("connection", (observed) => observed.impaired(), {
    impaired_topics: [
      "Topics that are unavailable in whole or in part; /readyz names them.",
      ({ length }) => length,
    ],
    partitions_without_leader: [
      "Leaderless partitions of the topics in use.",
      (topics) => topics.reduce((sum, { leaderless }) => sum + leaderless, 0),
    ],
  }),
  ...gaugesOf("store", (observed) => observed.stores(), {
    deduplicator_store_ready: ["1 while the Deduplicator's store can be used, else 0.", Number],
  }),
  ...gaugesOf("store", (observed) => observed.waiting(), {
    deduplicator_waiting_events: [
      "Duplicates waiting for the outcome of the first event of their key.",
      Number,
    ],
  }),
  ...gaugesOf("store", (observed) => observed.droppedKeys(), {
    deduplicator_dropped_keys: [
      "Keys that were dropped since the start, whose records the log does not have: another log, an earlier copy or a rescued one had taken its place.",
      Number,
    ],
  }),
  ...gaugesOf("connection", (observed) => observed.spools(), {
    spool_records: ["Records waiting to be forwarded.", ({ records }) => records],
    spool_bytes: ["Bytes of the spooled records.", ({ bytes }) => bytes],
    spool_limit_bytes: ["spool_max_bytes of the connection.", ({ maxBytes }) => maxBytes],
    spool_oldest_age_seconds: [
      "Age of the oldest spooled record; 0: the spool is empty.",
      ({ oldestMs }) => ageInSeconds(oldestMs),
    ],
    spool_quarantined_records: ["Records that the broker refused for good.", (it) => it.quarantined],
    spool_stuck_topics: [
      "Topics with spooled records of which none is forwarded although the broker is available.",
      ({ stuckTopics }) => stuckTopics,
    ],
    spool_broker_ready: [
      "1 while the broker behind the spool is available, 0 while events are kept.",
      ({ outage }) => Number(outage === undefined),
    ],
  }),
  ...gaugesOf("connection", (observed) => observed.logs(), {
    log_bytes: ["Bytes of keys, values and headers in the embedded log.", ({ bytes }) => bytes],
    log_file_bytes: ["Size of the embedded log's file and its WAL.", ({ fileBytes }) => fileBytes],
    log_oldest_age_seconds: [
      "Age of the log's oldest record; 0: the log is empty.",
      ({ oldestAgeMs }) => oldestAgeMs / 1000,
    ],
    log_retention_seconds: [
      "retention of the connection; +Inf: records are kept for ever.",
      ({ retentionMs }) => retentionMs / 1000,
    ],
    log_retention_bytes: [
      "retention_bytes of the connection; +Inf: without a limit.",
      ({ retentionBytes }) => retentionBytes,
    ],
    log_wal_held_bytes: [
      "Bytes of an embedded log's WAL that an open read transaction keeps from being checkpointed, when over 64 MiB; else 0.",
      ({ heldBytes }) => heldBytes,
    ],
  }),
]

/** By id, without those that another process of the service runs. */
export const ofThisProcess = <S extends { readonly id: string; readonly isElsewhere: boolean }>(
  sections: Iterable<S>,
): Iterable<readonly [label: string, one: S]> =>
  Iterator.from(sections)
    .filter((it) => !it.isElsewhere)
    .map((it) => [it.id, it] as const)

const SENDER_GAUGES = [
  ...gaugesOf("forward", ({ forwards }: ObservedSenders) => ofThisProcess(forwards()), {
    forward_lag_records: ["Records of the topic that are not delivered yet.", ({ lag }) => lag ?? 0],
    forward_delivered_records: ["Records that the application accepted.", (it) => it.delivered],
    forward_refused_records: [
      "Records that it refused, and that were parked or skipped.",
      (it) => it.refused,
    ],
    forward_set_back_partitions: [
      "Partitions whose positions were set back since the start: another log, or an earlier copy, had taken the log's place.",
      (it) => it.setBack,
    ],
    forward_in_flight_records: ["Records that are posted now.", (it) => it.inFlight],
    forward_paused: ["1 while it is paused, else 0.", ({ isPaused }) => Number(isPaused)],
    forward_ready: [
      "1 while records can be read and delivered, else 0.",
      ({ problem }) => Number(problem === undefined),
    ],
  }),
]

/** Seconds since a time in milliseconds since 1970. */
export const ageInSeconds = (ms: number | undefined): number =>
  ms === undefined ? 0 : Math.max(0, Date.now() - ms) / 1000

export const observedGauges = (registry: MetricRegistry, observed: Observed): void =>
  addGauges(registry, GAUGES, observed)

export const senderGauges = (registry: MetricRegistry, observed: ObservedSenders): void =>
  addGauges(registry, SENDER_GAUGES, observed)

export function addGauges<O>(registry: MetricRegistry, gauges: readonly Gauge<O>[], observed: O): void {
  for (const { series, label, ...declared } of gauges)
    registry.reading({ ...declared, labels: label === undefined ? [] : [label] }, () =>
      Iterator.from(series(observed)).map(([value, count]) => [[value], count] as const),
    )
}

/** How many problems there are now, by kind and severity. */
export type ProblemCounts = Iterable<readonly [kind: string, severity: string, count: number]>

export function problemGauge(registry: MetricRegistry, read: () => ProblemCounts): void {
  registry.reading(
    {
      name: "hookline_problems",
      help: "What needs someone's action now, as the admin page lists it, by kind and severity.",
      labels: ["kind", "severity"],
    },
    () => Iterator.from(read()).map(([kind, severity, count]) => [[kind, severity], count] as const),
  )
}

export function readinessGauge(registry: MetricRegistry, now: () => ReadinessState): void {
  registry.reading(
    {
      name: "hookline_readiness",
      help: "What /readyz says, as 1 for one state and 0 for the others: ready, partly ready, not ready, draining.",
      labels: ["state"],
    },
    () => READINESS_STATES.map((state) => [[state], Number(state === now())]),
  )
}
