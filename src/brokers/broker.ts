import type { Receipt, Record, RecordHeader } from "../pipeline/record.ts"
import type { LogPartition, PartitionEpochs } from "./log-place.ts"
import type { LogGauges, SpoolGauges } from "../telemetry/gauges.ts"

/** A log broker that records are published to. */
export interface Broker {
  /**
   * Publishes one record; resolves only when it is durable.
   *
   * @param deadlineMs the time, by the steady clock, at which the call rejects at the latest. A record that was not
   *   handed to the broker by then is removed from the queue and never published.
   * @throws PublishError, as a rejection
   */
  publish(record: Record, deadlineMs: number): Promise<Receipt>
  /**
   * Names all topics that will be published to: they are looked up ahead, and others no longer. Returns at once, never
   * throws.
   */
  prepare(topics: readonly string[]): void
  /** Whether records can be published now; if not, why. */
  ready(): true | string
  /**
   * Publishes what was accepted and is within its deadline, then closes connections and files.
   *
   * @param untilMs the time, by the steady clock, until which it may do work that could be left to the next start
   */
  close(untilMs?: number): Promise<void>
  /** The state of the spool before the broker; absent where there is none. */
  spool?(): SpoolState
  /** The state of an embedded log's file; absent: it is none. undefined: not known yet. */
  logState?(): LogState | undefined
  /** The topics that can't be published to now, or in part only; absent where that can't be known. */
  impaired?(): readonly Impairment[]
}

/** A topic that can't be published to, or in part only. */
export interface Impairment {
  readonly topic: string
  /** In a sentence: `topic payments: partitions 0, 3 have no leader`. */
  readonly problem: string
  /** Whether nothing can be published to the topic. */
  readonly isWhole: boolean
  /** The number of its partitions without a leader. */
  readonly leaderless: number
  /** The broker itself reports the topic, or a part of it, as unavailable. */
  readonly isOutage: boolean
}

/** The contents of a spool. */
export interface SpoolState extends SpoolGauges {
  /** Why the spool accepts no events; undefined: it does. */
  readonly problem: string | undefined
}

/** The contents of an embedded log, as its thread said last. */
export type LogState = LogGauges

/** A broker whose pending records can be cancelled. */
export interface YieldingBroker extends Broker {
  /**
   * Rejects the pending records of a topic before it returns. What was not sent yet is never published; what was sent
   * and not acknowledged is not sent again, and may be in the log.
   */
  cancel(topic: string): void
}

/** A record as it is read back from a log. */
export interface StoredRecord {
  readonly topic: string
  readonly partition: number
  /** Counted from 0 within the partition. */
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
  /** Records that can be read, over all partitions. */
  readonly records: number
  /** Bytes of their values and keys; undefined: unknown. */
  readonly bytes: number | undefined
}

/** Records of one partition: from offset `first` on, before offset `end`; infinite: reading continues until it is aborted. */
export interface OffsetRange {
  readonly partition: number
  readonly first: number
  readonly end: number
}

/** A partition of a log as it is now. */
export interface TopicPartition extends LogPartition {
  readonly topic: string
  readonly partition: number
}

/** Records that a log once had, from offset `first` on, before offset `end`. */
export interface LostRange extends OffsetRange {
  readonly topic: string
}

/** The limits of a topic; Infinity: none, or none that is known. */
export interface TopicRetention {
  readonly ms: number
  /** The limit of a Kafka partition, or of an embedded log as a whole. */
  readonly bytes: number
  /** The bytes of it that are in use now, by partition; absent: none, or unknown. */
  readonly held: ReadonlyMap<number, number>
}

/** Times of records, in milliseconds since 1970. */
export interface TimeRange {
  /** Records at this time or after it. */
  readonly sinceMs?: number | undefined
  /** Records before this time. */
  readonly untilMs?: number | undefined
}

/** The reading side of a log, for `tail` and `topics`. It needs no writer, and no writer waits for it. */
export interface LogReader {
  topics(): Promise<TopicInfo[]>
  /**
   * The id of the Kafka cluster or the embedded log, whatever name or path leads to it; undefined: it has none.
   *
   * @throws HooklineError `unavailable`, `no_input`
   */
  clusterId(): Promise<string | undefined>
  /**
   * The id of a topic, which changes when it is deleted and created again; undefined: it has none.
   *
   * @throws HooklineError `unavailable`
   */
  topicId?(topic: string): Promise<string | undefined>
  /** The leader epochs of a partition, as they are when they are asked for. Absent: it has none. */
  epochs?(topic: string, partition: number): PartitionEpochs
  /**
   * All partitions of a log that is a file, in whose place another one or an earlier copy may be put, and the records that a
   * rescue has left behind, in the order in which it named them. Absent: it is no file.
   *
   * @throws HooklineError `no_input`
   */
  partitions?(): { readonly all: readonly TopicPartition[]; readonly gaps: readonly LostRange[] }
  /**
   * The offsets that a topic holds now, for each partition. With times: from the first record at or after `sinceMs`,
   * before the first one at or after `untilMs`.
   *
   * @throws HooklineError `no_topic`, `unavailable`, `no_input`
   */
  ranges(topic: string, times?: TimeRange): Promise<OffsetRange[]>
  /** Reads how much of a topic is kept. Absent: all. @throws HooklineError `no_topic`, `unavailable`, `no_input` */
  retention?(topic: string): Promise<TopicRetention>
  /**
   * Yields the records of these ranges, by offset within each partition and, where all ranges end, by time across
   * them. Ends early when the signal aborts.
   *
   * @param options `retries`: a broker that is unavailable is tried again, not an error. `missed` is called with offsets
   *   that were to be read next and that the log has deleted, or never had: then it is another log than when they were asked
   *   for
   * @throws HooklineError `no_topic`, `unavailable`, `no_input`
   */
  read(
    topic: string,
    ranges: readonly OffsetRange[],
    options: {
      readonly retries: boolean
      readonly signal: AbortSignal
      readonly missed?: (range: OffsetRange) => void
    },
  ): AsyncIterable<StoredRecord>
  close(): Promise<void>
}

/** The partitions that a member of a group reads. */
export interface GroupAssigned {
  /** Its partitions, with the next offset that the group has committed; undefined: none. */
  readonly next: ReadonlyMap<number, number | undefined>
  /** Aborts when the assignment ends. */
  readonly ended: AbortSignal
}

/** A consumer group, and how far it is. */
export interface GroupOffsets {
  readonly group: string
  /** The state in Kafka's words: `Stable`, `Empty`, … */
  readonly state: string
  /** undefined: not known. */
  readonly members: number | undefined
  /** The next offsets that it has committed, by topic and partition. */
  readonly committed: ReadonlyMap<string, ReadonlyMap<number, number>>
}

/** A member of a group whose members share the partitions of a topic, and whose offsets the broker keeps. */
export interface ReadGroup {
  /** Resolves with the partitions that it reads now. @throws HooklineError `unavailable`, also where it has lost its group */
  assigned(): Promise<GroupAssigned>
  /** Resolves when the next offsets are durable. @throws HooklineError `unavailable`, also where others have its partitions now */
  commit(next: ReadonlyMap<number, number>): Promise<void>
  /** Whether the group is paused, as of at most a few seconds ago. @throws HooklineError `unavailable` while that is not known */
  isPaused(): Promise<boolean>
  /** Leaves the group. */
  close(): Promise<void>
}
