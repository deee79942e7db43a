import { once } from "./handles.ts"
import { LATENCY_BUCKETS, type MetricRegistry } from "./metric-registry.ts"

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
const connectionFamilies = (registry: MetricRegistry) => ({
  publishes: registry.distribution(
    "hookline_publish_seconds",
    "Time from sending a batch to its acknowledgement.",
    ["connection"],
    LATENCY_BUCKETS,
  ),
  batches: registry.distribution(
    "hookline_batch_records",
    "Records per acknowledged batch.",
    ["connection"],
    BATCH_BUCKETS,
  ),
  retried: registry.tallies(
    "hookline_retried_batches_total",
    "Batches sent to Kafka again, whole or in parts, after a failure.",
    ["connection"],
  ),
  connects: registry.tallies(
    "hookline_connects_total",
    "Attempts to connect to a Kafka broker that leads partitions, first ones and reconnects, by result: success, failure.",
    ["connection", "result"],
  ),
  incidents: registry.tallies(
    "hookline_broker_incidents_total",
    "Broker incidents by kind; the log has a line for each.",
    ["connection", "kind"],
  ),
  spooled: registry.tallies(
    "hookline_spooled_records_total",
    "Spooled records by outcome: spooled, forwarded, quarantined.",
    ["connection", "outcome"],
  ),
  deletedRecords: registry.tallies(
    "hookline_retention_deleted_records_total",
    "Records deleted by retention, by reason: age, size.",
    ["connection", "reason"],
  ),
  deletedBytes: registry.tallies(
    "hookline_retention_deleted_bytes_total",
    "Bytes of keys, values and headers deleted by retention, by reason: age, size.",
    ["connection", "reason"],
  ),
})

/** Declares the metrics of connections. The handles of a connection are the same for every call with its id. */
export function connectionMetrics(registry: MetricRegistry) {
  const all = connectionFamilies(registry)

  const connection = once((id: string) => {
    const [publish, size] = [all.publishes.at(id), all.batches.at(id)]
    return {
      /** A batch was acknowledged, that many milliseconds after it was sent. */
      batch(records: number, ms: number) {
        size.add(records)
        publish.add(ms / 1000)
      },
    }
  })
  const kafka = once((id: string) => {
    const [success, failure] = [all.connects.at(id, "success"), all.connects.at(id, "failure")]
    for (const kind of INCIDENTS) all.incidents.at(id, kind)
    const retried = all.retried.at(id)
    return {
      ...connection(id),
      /** A batch was sent again, or its records in others. */
      retried: () => retried.add(),
      connected: (isOpen: boolean) => (isOpen ? success : failure).add(),
      incident: (kind: Incident) => all.incidents.at(id, kind).add(),
    }
  })
  const spool = (id: string) => {
    const [spooled, forwarded, quarantined] = ["spooled", "forwarded", "quarantined"].map((outcome) => {
      const tally = all.spooled.at(id, outcome)
      return (count?: number) => tally.add(count)
    })
    return { spooled: spooled!, forwarded: forwarded!, quarantined: quarantined! }
  }
  const embeddedLog = once((id: string) => {
    for (const reason of ["age", "size"])
      for (const deleted of [all.deletedRecords, all.deletedBytes]) deleted.at(id, reason)
    return {
      deleted(reason: "age" | "size", count: number, size: number) {
        all.deletedRecords.at(id, reason).add(count)
        all.deletedBytes.at(id, reason).add(size)
      },
    }
  })
  return { connection, kafka, spool, embeddedLog }
}
