import type { Broker, LogReader } from "./brokers/broker.ts"
import { openEmbeddedReader } from "./brokers/embedded-reader.ts"
import { openEmbedded } from "./brokers/embedded.ts"
import { openKafkaReader } from "./brokers/kafka-reader.ts"
import { openKafka } from "./brokers/kafka.ts"
import type { Connection } from "./config/connection.ts"
import type { EMBEDDED } from "./config/embedded-connection.ts"
import type { KAFKA } from "./config/kafka-connection.ts"
import type { Values } from "./config/options.ts"
import type { Logger } from "./telemetry/log.ts"
import type { ConnectionMetrics } from "./telemetry/metrics.ts"

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

/** Opens the broker that a connection names, to publish to. Does not wait for it to be reachable. */
export function openBroker(
  connection: Connection,
  deps: { log: Logger; metrics: ConnectionMetrics },
): Broker {
  return connection.kind === "kafka"
    ? openKafka(connection.values, deps)
    : openEmbedded(connection.values, deps)
}

/** Opens the log that a connection names, to read from. */
export function openReader(connection: Connection): LogReader {
  return connection.kind === "kafka"
    ? openKafkaReader(connection.values)
    : openEmbeddedReader(connection.values.directory)
}
