import type { Broker, LogReader } from "./brokers/broker.ts"
import { openEmbeddedReader } from "./brokers/embedded-reader.ts"
import { openEmbedded } from "./brokers/embedded.ts"
import { openKafkaReader } from "./brokers/kafka-reader.ts"
import { openKafka } from "./brokers/kafka.ts"
import { openSpool, type SpooledBroker } from "./brokers/spool.ts"
import type { Connection } from "./config/connection.ts"
import type { EMBEDDED } from "./config/embedded-connection.ts"
import { fingerprints } from "./config/fingerprint.ts"
import { KAFKA } from "./config/kafka-connection.ts"
import type { Values } from "./config/options.ts"
import { inputsOf } from "./config/resolve.ts"
import type { Logger } from "./telemetry/log.ts"
import type { ConnectionMetrics, SpoolMetrics } from "./telemetry/metrics.ts"

/** A connection that code registers with an application; options it leaves out come from the file, then the defaults. */
export interface ConnectionSpec {
  readonly given: { readonly [key: string]: unknown }
}

/** A connection to Apache Kafka. Options as in `[connection:<id>]`, durations in milliseconds. */
export function KafkaConnection(given: Partial<Values<(typeof KAFKA)["options"]>>): ConnectionSpec {
  return { given }
}

/** A connection to the embedded log in a folder. Options as in `[connection:<id>]`, durations in milliseconds. */
export function EmbeddedConnection(given: Partial<Values<(typeof EMBEDDED)["options"]>>): ConnectionSpec {
  return { given }
}

/** A connection that is open, to publish to. */
export interface OpenConnection {
  readonly broker: Broker
  /** Takes those options that an open connection can take. */
  readonly adjust: (connection: Connection) => void
}

export interface BrokerDependencies {
  readonly log: Logger
  readonly metrics: ConnectionMetrics
  /** Makes what a spool counts with, where there is one. */
  readonly spoolMetrics: () => SpoolMetrics
}

/**
 * Opens a connection, to publish to, with its spool before it. Does not wait for its broker to be reachable.
 *
 * @throws HooklineError `log_locked`, `log_io`, `no_input`
 */
export function openConnection(connection: Connection, deps: BrokerDependencies): OpenConnection {
  if (connection.kind === "kafka") {
    const open = connection.values.spool === "off" ? openKafka : openSpooledKafka
    return { broker: open(connection.values, deps), adjust() {} }
  }
  const broker = openEmbedded(connection.values, deps)
  return {
    broker,
    adjust({ kind, values }) {
      if (kind === "embedded") broker.retain(values)
    },
  }
}

/**
 * What makes a connection another one, which has to be opened anew: its name and what it is made for. An embedded log has
 * one writer, whatever the id under which it is registered.
 */
export function identityOf(id: string, connection: Connection): { name: string; wants: unknown } {
  if (connection.kind === "embedded")
    return { name: `embedded log ${connection.values.directory}`, wants: undefined }
  const { delivery_timeout: _, ...values } = connection.values
  return { name: `connection ${id}`, wants: [values, fingerprints(inputsOf(KAFKA, values))] }
}

/**
 * Opens a Kafka connection that has a spool.
 *
 * @param retrySetAside whether what Kafka once refused for good is tried again
 */
export function openSpooledKafka(
  values: Values<(typeof KAFKA)["options"]>,
  { log, metrics, spoolMetrics }: BrokerDependencies,
  retrySetAside = false,
): SpooledBroker {
  const kafka = openKafka(values, { log, metrics })
  try {
    const options = { file: values.spool, maxBytes: values.spool_max_bytes, retrySetAside }
    return openSpool(kafka, options, { log, metrics: spoolMetrics() })
  } catch (error) {
    void kafka.close()
    throw error
  }
}

/** Opens the log that a connection names, to read from. */
export function openReader(connection: Connection): LogReader {
  return connection.kind === "kafka"
    ? openKafkaReader(connection.values)
    : openEmbeddedReader(connection.values.directory)
}
