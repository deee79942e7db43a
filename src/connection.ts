import type { LogReader } from "./brokers/broker.ts"
import { openEmbeddedReader } from "./brokers/embedded-reader.ts"
import { openKafkaReader } from "./brokers/kafka-reader.ts"
import type { Connection } from "./config/connection.ts"
import type { EMBEDDED } from "./config/embedded-connection.ts"
import type { KAFKA } from "./config/kafka-connection.ts"
import type { Values } from "./config/options.ts"

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

/** Opens the log that a connection names, to read from. */
export function openReader(connection: Connection): LogReader {
  return connection.kind === "kafka"
    ? openKafkaReader(connection.values)
    : openEmbeddedReader(connection.values.directory)
}
