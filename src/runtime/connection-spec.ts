import { MemoryLog } from "../brokers/memory/log.ts"
import type { LogReader, StoredRecord } from "../brokers/broker.ts"
import type { ReadFrom } from "../brokers/read-topic.ts"
import { openEmbeddedReader } from "../brokers/embedded/reader.ts"
import type { Connection } from "../config/sections/connection.ts"
import type { EMBEDDED } from "../config/sections/embedded-connection.ts"
import type { KAFKA } from "../config/sections/kafka-connection.ts"
import type { MEMORY } from "../config/sections/memory-connection.ts"
import type { OptionsArgument, OptionsInCode } from "../config/options/in-code.ts"

/** A connection registered in code; options left out come from the file, then the defaults. */
export interface ConnectionSpec {
  readonly kind: "kafka" | "embedded" | "memory"
  /** @internal In camel case. */
  readonly given: { readonly [key: string]: unknown }
  /** @internal Set for a connection in memory. */
  readonly log?: MemoryLog
}

export interface MemoryConnection extends ConnectionSpec {
  readonly kind: "memory"
  /** The published records, oldest first: all, or those of one topic. */
  records(topic?: string): readonly StoredRecord[]
}

/** A connection to Apache Kafka. Options as in `[connection:<id>]`, see docs/reference.md. */
export function kafkaConnection(given: OptionsInCode<(typeof KAFKA)["options"]>): ConnectionSpec {
  return { kind: "kafka", given }
}

/** A connection to the embedded log in a folder. Options as in `[connection:<id>]`, see docs/reference.md. */
export function embeddedConnection(given: OptionsInCode<(typeof EMBEDDED)["options"]>): ConnectionSpec {
  return { kind: "embedded", given }
}

/** A connection to a log in this process's memory, for tests: no broker, no files, gone when the process ends. */
export function memoryConnection(
  ...[given = {}]: OptionsArgument<(typeof MEMORY)["options"]>
): MemoryConnection {
  const log = new MemoryLog()
  return { kind: "memory", given, log, records: (topic) => log.records(topic) }
}

/** Range of `Application.read`. */
export interface ReadOptions {
  /** Default: the oldest record kept. */
  readonly from?: ReadFrom | undefined
  /** Waits for new records at the end, until `signal` aborts. */
  readonly follow?: boolean | undefined
  readonly signal?: AbortSignal | undefined
}

/** Opens the log of a connection for reading; `memory` is the log of one in memory. */
export async function openReader(connection: Connection, memory: MemoryLog | undefined): Promise<LogReader> {
  if (connection.kind === "kafka") {
    // on demand: the Kafka client loads slowly
    const { openKafkaReader } = await import("../brokers/kafka/reader.ts")
    return openKafkaReader(connection.values)
  }
  if (connection.kind === "embedded") return openEmbeddedReader(connection.values.directory)
  return memory!
}
