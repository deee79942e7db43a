import { byFirst, once } from "./handles.ts"
import { LATENCY_BUCKETS, type OwnMetrics } from "./own-metrics.ts"

type Handles = ReturnType<typeof connectionMetrics>
export type ConnectionMetrics = ReturnType<Handles["connection"]>
export type KafkaMetrics = ReturnType<Handles["kafka"]>
export type SpoolMetrics = ReturnType<Handles["spool"]>
export type LogMetrics = ReturnType<Handles["embeddedLog"]>

/**
 * - `access_token_not_renewed`: the token endpoint, or the source of AWS credentials, failed; the current token still serves
 * - `batch_refused`: every attempt of a batch timed out or failed without a definite error, or an internal error occurred
 * - `certificates_unusable`: changed TLS files can't be used; the ones before still serve
 * - `idle_connection_lost`: an idle connection turned out dead and was reopened
 * - `metadata_behind`: stale metadata (older leader epochs, fewer partitions, a missing topic) was ignored
 * - `offset_behind`: a batch was acknowledged at an offset already assigned
 * - `producer_id_renewed`: a new producer id was requested
 * - `request_limit_lowered`: the broker closes the connection on large requests
 */
const INCIDENTS = [
  "access_token_not_renewed",
  "batch_refused",
  "certificates_unusable",
  "idle_connection_lost",
  "metadata_behind",
  "offset_behind",
  "producer_id_renewed",
  "request_limit_lowered",
] as const

export type Incident = (typeof INCIDENTS)[number]

const BATCH_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]

/** The metrics of all connections, by their labels. */
const connectionFamilies = (own: OwnMetrics) => ({
  publishes: own.distribution(
    "hookline_publish_seconds",
    "Time from sending a batch to its acknowledgement.",
    ["connection"],
    LATENCY_BUCKETS,
  ),
  batches: own.distribution(
    "hookline_batch_records",
    "Records per acknowledged batch.",
    ["connection"],
    BATCH_BUCKETS,
  ),
  retried: own.tallies(
    "hookline_retried_batches_total",
    "Batches sent to Kafka again, whole or in parts, after a failure.",
    ["connection"],
  ),
  connects: own.tallies(
    "hookline_connects_total",
    "Attempts to connect to a Kafka broker that leads partitions, first ones and reconnects, by result: success, failure.",
    ["connection", "result"],
  ),
  incidents: own.tallies(
    "hookline_broker_incidents_total",
    "Broker incidents by kind; the log has a line for each.",
    ["connection", "kind"],
  ),
  spooled: own.tallies(
    "hookline_spooled_records_total",
    "Spooled records by outcome: spooled, forwarded, quarantined.",
    ["connection", "outcome"],
  ),
  deletedRecords: own.tallies(
    "hookline_retention_deleted_records_total",
    "Records deleted by retention, by reason: age, size.",
    ["connection", "reason"],
  ),
  deletedBytes: own.tallies(
    "hookline_retention_deleted_bytes_total",
    "Bytes of keys, values and headers deleted by retention, by reason: age, size.",
    ["connection", "reason"],
  ),
})

/** Declares the metrics of connections. The handles of a connection are the same for every call with its id. */
export function connectionMetrics(own: OwnMetrics) {
  const all = connectionFamilies(own)

  const connection = once((id: string) => {
    const publish = all.publishes.bind({ connection: id })
    const batch = all.batches.bind({ connection: id })
    return {
      /** A batch was acknowledged, that many milliseconds after it was sent. */
      batch(records: number, ms: number) {
        batch(records)
        publish(ms / 1000)
      },
    }
  })
  const kafka = once((id: string) => {
    const [success, failure] = ["success", "failure"].map((result) =>
      all.connects.bind({ connection: id, result }),
    )
    const incident = byFirst((kind: Incident) => all.incidents.bind({ connection: id, kind }))
    for (const kind of INCIDENTS) incident(kind, 0)
    return {
      ...connection(id),
      /** A batch was sent again, or its records in others. */
      retried: all.retried.bind({ connection: id }),
      connected: (isOpen: boolean) => (isOpen ? success! : failure!)(),
      incident: (kind: Incident) => incident(kind),
    }
  })
  const spool = (id: string) => {
    const of = (outcome: string) => all.spooled.bind({ connection: id, outcome })
    return { spooled: of("spooled"), forwarded: of("forwarded"), quarantined: of("quarantined") }
  }
  const embeddedLog = once((id: string) => {
    const of = (tallies: typeof all.deletedRecords) => ({
      age: tallies.bind({ connection: id, reason: "age" }),
      size: tallies.bind({ connection: id, reason: "size" }),
    })
    const [records, bytes] = [of(all.deletedRecords), of(all.deletedBytes)]
    return {
      deleted(reason: "age" | "size", count: number, size: number) {
        records[reason](count)
        bytes[reason](size)
      },
    }
  })
  return { connection, kafka, spool, embeddedLog }
}
