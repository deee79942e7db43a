import { MemoryLog } from "../brokers/memory/log.ts"
import type { StoredRecord } from "../brokers/broker.ts"
import type { ReadFrom } from "../brokers/read-topic.ts"
import type { ConnectionKindName } from "../brokers/registry.ts"
import type {
  EmbeddedConnectionOptions,
  KafkaConnectionOptions,
  MemoryConnectionOptions,
  PostgresConnectionOptions,
} from "./typed-options.ts"

/** A connection registered in code; options left out come from the file, then the defaults. */
export interface ConnectionSpec {
  readonly kind: ConnectionKindName
  /** @internal In camel case. */
  readonly given: { readonly [key: string]: unknown }
}

/** A connection as an application has registered it. */
export type Registered<C extends ConnectionSpec = ConnectionSpec> = C & {
  /** The id that it was registered with. */
  readonly id: string
}

/** A log in memory, and what was published to it. */
export interface MemoryConnection extends ConnectionSpec {
  readonly kind: "memory"
  /** The published records, oldest first: all, or those of one topic. */
  records(topic?: string): readonly StoredRecord[]
}

/** A connection to Apache Kafka. Options as in `[connection:<id>]`, see docs/reference.md. */
export function kafkaConnection(given: KafkaConnectionOptions): ConnectionSpec {
  return { kind: "kafka", given }
}

/** A connection to the embedded log in a folder. Options as in `[connection:<id>]`, see docs/reference.md. */
export function embeddedConnection(given: EmbeddedConnectionOptions): ConnectionSpec {
  return { kind: "embedded", given }
}

/** A connection to a log in PostgreSQL, whose schema `hookline db init` has created. Options as in `[connection:<id>]`, see docs/reference.md. */
export function postgresConnection(given: PostgresConnectionOptions): ConnectionSpec {
  return { kind: "postgres", given }
}

/** A connection to a log in this process's memory, for tests: no broker, no files, gone when the process ends. */
export function memoryConnection(given: MemoryConnectionOptions = {}): MemoryConnection {
  const log = new MemoryLog()
  return { kind: "memory", given: { ...given, log }, records: (topic) => log.records(topic) }
}

/** Range of `Application.read`. */
export interface ReadOptions {
  /** Default: the oldest record kept. */
  readonly from?: ReadFrom | undefined
  /** Waits for new records at the end, until `signal` aborts. */
  readonly follow?: boolean | undefined
  /** Ends the reading. */
  readonly signal?: AbortSignal | undefined
}
