import { Gauge, type Aggregator, type Registry } from "prom-client"

/** State that is read from the running application at each scrape. */
export interface Observed {
  /** Unanswered requests, and the bytes of the in-flight budget that they hold. */
  inFlight(): { requests: number; bytes: number }
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
}

type SpoolGauges = Readonly<Record<"records" | "bytes" | "quarantined" | "stuckTopics", number>> & {
  /** When the oldest record was spooled, in milliseconds since 1970; undefined: the spool is empty. */
  readonly oldestMs: number | undefined
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
  spoolGauge("oldest_age_seconds", "Age of the oldest spooled record.", ({ oldestMs }) =>
    oldestMs === undefined ? 0 : Math.max(0, Date.now() - oldestMs) / 1000,
  ),
  spoolGauge("quarantined_records", "Records that the broker refused for good.", (it) => it.quarantined),
  spoolGauge(
    "stuck_topics",
    "Topics with spooled records of which none is forwarded although the broker is available.",
    ({ stuckTopics }) => stuckTopics,
  ),
]

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
