import { type Message } from "../message.ts"
import type { Section } from "../config/declarations.ts"
import { duration, type OptionSet, type Values } from "../config/options/option-types.ts"
import type { EndpointOptions } from "../addresses/endpoint.ts"
import type { KeyJournal } from "../pipeline/record.ts"
import type { ResourceSpec } from "../pipeline/resource.ts"
import type { DatabaseLocation } from "../storage/database-file.ts"
import type { KafkaMetrics } from "../telemetry/connection-metrics.ts"
import type { Logger } from "../telemetry/log.ts"
import type { Metrics } from "../telemetry/metrics.ts"
import type { Broker, GroupOffsets, LogReader, ReadGroup, YieldingBroker } from "./broker.ts"

/*
 * A kind of connection is one folder next to this file: its `kind.ts` declares, by `defineConnection`, all that the rest of
 * Hookline asks of it. registry.ts lists the kinds; nothing else names one.
 */

/** The limit of sinks without a connection to name one. */
export const DEFAULT_DELIVERY_TIMEOUT_MS = 5000

/** An option of every kind of connection. */
export const deliveryTimeout = duration({
  minMs: 1,
  maxMs: 3_600_000,
  default: "5s",
  reload: "live",
  doc: "How long an event may take from the arrival of its body to the broker's acknowledgement; after that the sender gets 503.",
})

/** The options of a kind: `delivery_timeout` among them. */
export type ConnectionOptions = OptionSet & { readonly delivery_timeout: typeof deliveryTimeout }

/** A kind of connection. Methods that get `Partial` values run on connections whose other options may be wrong. */
export interface ConnectionKind<
  O extends ConnectionOptions = ConnectionOptions,
  N extends string = string,
> extends Section<O> {
  /** The name in code and in the admin API: `kafka`. */
  readonly name: N
  /** In sentences: "an option of `adjective` connections", "add directory = <folder> for `noun`". */
  readonly adjective: string
  readonly noun: string
  /** The key that makes a file's section one of this kind, and the form of its value; absent: registered in code only. */
  readonly key?: (keyof O & string) | undefined
  readonly form?: string
  /** `messaging.system` of spans: https://opentelemetry.io/docs/specs/semconv/messaging/ */
  readonly messagingSystem: string
  /** Whether its log can be open for writing once, so that a replay in this process uses the pipelines' broker. */
  readonly hasOneWriter: boolean
  /** Whether its log ends with the process; so do a Deduplicator's keys then. */
  readonly isInMemory?: true

  describe(values: Values<O>): Description
  /** Opens it for the pipelines, or keeps it open. Does not wait for brokers. @throws HooklineError `config`, `log_locked`, `log_io` @internal */
  acquire(connection: Acquiring<O>, parts: AcquiringParts): Acquired | Promise<Acquired>
  /** Opens it for a replay alone, uncounted. A spool is left out. @throws HooklineError `log_locked`, `log_io`, `config` */
  open(values: Values<O>, log: Logger): Broker | Promise<Broker>
  openReader(values: Values<O>): LogReader | Promise<LogReader>
  /** Joins a group of readers of a topic. Absent: it has none. @throws HooklineError `unavailable`, `config` */
  joinGroup?(values: Values<O>, group: string, topic: string): Promise<ReadGroup>
  /** The groups that have committed offsets, a thousand at most. Absent: it has none. @throws HooklineError `unavailable`, `config`, `no_input` */
  listGroups?(values: Values<O>): readonly GroupOffsets[] | Promise<readonly GroupOffsets[]>
  /** Durably pauses a group, or resumes it; its members notice within seconds. @throws HooklineError `unavailable` */
  pauseGroup?(values: Values<O>, group: string, topic: string, isPaused: boolean): Promise<void>
  /** Finds what `acquire` would throw, and changes nothing. @throws HooklineError as `acquire` @internal */
  dryRun?(values: Values<O>, checkDatabase: (location: DatabaseLocation) => void): void | Promise<void>
  /** Connects to its servers, and publishes nothing. Absent: it has none. */
  reach?(values: Values<O>, topics: readonly string[]): Promise<Reached>
  /**
   * Creates what the log needs in its database, or brings it to this release's version, as the user of the connection. Absent:
   * a log needs nothing.
   *
   * @param role who else may publish and read @returns lines that say what was done @throws HooklineError `unavailable`
   */
  initialize?(values: Values<O>, role: string | undefined): Promise<readonly string[]>
  /** Whether two connections lead to the same log, by their options; false: perhaps. Absent: never by options. */
  isSameLog?(a: Values<O>, b: Values<O>): boolean
  /** The files that it writes. No two connections may have one, and a backup has the databases among them. */
  files?(values: Partial<Values<O>>): readonly WrittenFile[]
  /** The addresses that it listens on. */
  addresses?(values: Partial<Values<O>>): readonly ListenAddress[]
  /** The folder of its log, where a store of dedupe keys may be, too. */
  logFolder?(values: Partial<Values<O>>): string | undefined
  spool?(values: Values<O>): SpoolSettings | undefined
  /** The largest record that it accepts, and the key that says so. Absent: any. */
  largestRecord?(values: Partial<Values<O>>): { readonly key: string; readonly bytes: number } | undefined
  /** Why several instances on one machine can't have it: the key, what it is, and the remedy. undefined: they can. */
  oneProcess?(
    values: Partial<Values<O>>,
  ): { readonly key: string; readonly what: string; readonly advice: Message } | undefined
}

/** A valid connection. */
export interface Connection<O extends ConnectionOptions = ConnectionOptions> {
  readonly kind: ConnectionKind<O>
  readonly values: Values<O>
}

/** A connection as commands and the admin API show it. Has no secret. */
export interface Description {
  /** Its servers or folder. */
  readonly address: string
  /** `Kafka at localhost:9092` */
  readonly place: string
  /** Follows the name of a topic: `of Kafka at localhost:9092`. */
  readonly ofTopic: string
  /** The security of the connection, where it can have any. */
  readonly security?: string
}

/** The answers of servers. */
export interface Reached {
  /** Whether events could be published. */
  readonly isUsable: boolean
  /** A line for each address and topic. */
  readonly answers: readonly string[]
}

export interface WrittenFile {
  /** The option that names it, or its folder. */
  readonly key: string
  readonly isInFolder: boolean
  readonly path: string
  /** Absent: it is none that a backup can copy while it is written. @internal */
  readonly database?: DatabaseLocation
}

export interface ListenAddress {
  readonly key: string
  readonly listen: EndpointOptions
}

export interface SpoolSettings {
  readonly file: string
  readonly maxBytes: number
  /** Opens its broker, uncounted. @throws HooklineError `config` */
  readonly openBroker: (log: Logger) => Promise<YieldingBroker>
}

export interface Acquiring<O extends ConnectionOptions> {
  readonly id: string
  readonly values: Values<O>
  /** Differs where it has to be opened anew. */
  readonly config: unknown
}

/** @internal */
export interface AcquiringParts {
  readonly transaction: {
    acquire<T>(spec: ResourceSpec<T>): T
    onCommit(action: () => void): void
  }
  /** Names the connection. */
  readonly log: Logger
  readonly metrics: Metrics
}

export interface Acquired {
  readonly broker: Broker
  /** Identity of the opened connection; a new one after a reopen, even where the spool in front stays open. */
  readonly instance: object
  readonly keyJournal?: KeyJournal
  readonly spool?: {
    readonly file: string
    readonly broker: Broker & { isIdle(): boolean; retire(): void }
  }
  /** Resolves when clients can connect to a log's listener; rejects with OptionError `listen`. */
  readonly listening?: Promise<void>
}

/** Counts nothing: for brokers without metrics. @internal */
export const UNCOUNTED: KafkaMetrics = { batch() {}, retried() {}, connected() {}, incident() {} }

/** Declares a kind of connection. */
export const defineConnection = <O extends ConnectionOptions, const N extends string>(
  kind: ConnectionKind<O, N>,
): ConnectionKind<O, N> => kind
