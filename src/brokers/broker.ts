import type { Receipt, Record, RecordHeader } from "../record.ts"

/** A log broker that records are published to. */
export interface Broker {
  /**
   * Publishes one record; resolves only when it is durable.
   *
   * @param deadlineMs the time, by the steady clock, at which the call rejects at the latest. A record that was not
   *   handed to the broker by then is taken out of the queue and never published.
   * @throws PublishError, as a rejection
   */
  publish(record: Record, deadlineMs: number): Promise<Receipt>
  /**
   * Names all topics that will be published to, so that what can be looked up ahead is, and nothing of others any more.
   * Never waits, never throws.
   */
  prepare(topics: readonly string[]): void
  /** Whether records can be published now, as far as is known; if not, why. */
  ready(): true | string
  /**
   * Publishes what was accepted, as far as its deadlines allow, then lets go of connections and files.
   *
   * @param untilMs the time, by the steady clock, until which work may go on that would else be left to the next start
   */
  close(untilMs?: number): Promise<void>
  /** What waits in the spool before the broker; a broker without one has not this member. */
  spool?(): SpoolState
  /** The topics that can't be published to now, or not to all of their partitions; a broker that never tells has not this member. */
  impaired?(): readonly Impairment[]
}

/** A topic that can't be published to, or in part only. */
export interface Impairment {
  readonly topic: string
  /** In a sentence: `topic payments: partitions 0, 3 have no leader`. */
  readonly problem: string
  /** Whether no event of the topic is taken. */
  readonly isWhole: boolean
  /** How many of its partitions have no leader. */
  readonly leaderless: number
  /** The broker itself says that the topic, or a part of it, is not there. */
  readonly isOutage: boolean
}

/** What a spool holds. */
export interface SpoolState {
  /** Why the broker takes no events; undefined: it does, as far as is known. */
  readonly outage: string | undefined
  /** Why the spool takes no events; undefined: it does. */
  readonly problem: string | undefined
  /** Records that wait to be forwarded. */
  readonly records: number
  /** Bytes of keys, values and headers, of those set aside as well. */
  readonly bytes: number
  /** When the oldest record that waits came, in milliseconds since 1970; undefined: none waits. */
  readonly oldestMs: number | undefined
  /** Records that the broker refused for good. */
  readonly setAside: number
  /** Topics none of whose records is forwarded although the broker is there. */
  readonly stuckTopics: number
}

/** A broker from which records can be taken back. */
export interface YieldingBroker extends Broker {
  /**
   * Rejects at once what waits for a topic, before this turn of the event loop ends. What was not sent yet is never
   * published; what was sent and not acknowledged is not sent again, and may be in the log.
   */
  withdraw(topic: string): void
}

/** A record as it is read back from a log. */
export interface StoredRecord {
  readonly topic: string
  readonly partition: number
  readonly offset: number
  /** Milliseconds since 1970. */
  readonly timestampMs: number
  readonly key: Uint8Array | undefined
  readonly value: Uint8Array
  readonly headers: readonly RecordHeader[]
}

/** A topic as `hookline topics` shows it. */
export interface TopicInfo {
  readonly topic: string
  readonly partitions: number
  /** How many records are there to be read, over all partitions. */
  readonly records: number
  /** Bytes of their values and keys, where the broker tells. */
  readonly bytes: number | undefined
}

/** Where reading begins: the oldest record kept, the end, or an offset (of every partition). */
export type ReadFrom = "beginning" | "end" | number

/** The reading side of a log, for `tail` and `topics`. It needs no writer and disturbs none. */
export interface LogReader {
  topics(): Promise<TopicInfo[]>
  /**
   * Yields the records of a topic, by offset within each partition. Ends at the end of the log as it was when reading
   * began, or, with `follow`, when the signal aborts.
   *
   * @throws HooklineError `no_topic`, `unavailable`, `no_input`
   */
  read(
    topic: string,
    options: { from: ReadFrom; follow: boolean; signal: AbortSignal },
  ): AsyncIterable<StoredRecord>
  close(): Promise<void>
}
