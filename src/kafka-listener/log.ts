/*
 * All that the listener sees of the program that it is a part of: a log that it reads, and a store for the offsets that
 * consumers commit (`GroupChanges`), of which one write at a time is under way.
 */

import type { ClockReading } from "../clock/machine-clock.ts"

/** A partition of a topic. */
export interface PartitionOf {
  readonly topic: { readonly id: number }
  readonly partition: number
}

/** A topic as the log has it. Topics and partitions are never deleted. */
export interface TopicOfLog {
  /** From 1. */
  readonly id: number
  readonly name: string
  /** How many; they are numbered from 0. */
  readonly partitions: number
}

export interface LogRecord {
  readonly offset: number
  /** Milliseconds since 1970. */
  readonly timestamp: number
  readonly key: Uint8Array | null
  /** Names and values in turn, each after its length in four bytes, the lowest first; null: none. */
  readonly headers: Uint8Array | null
  readonly value: Uint8Array
}

/** Offsets of a partition: that of its first record, and the one after its last. */
export interface Offsets {
  readonly first: number
  readonly end: number
}

/** A record's offset and time. */
export interface Placed {
  readonly offset: number
  readonly timestampMs: number
}

/** A log, open until `close` and read by one thread; others may append to it meanwhile. */
export interface Log {
  /** Where it is, as administrators' tools show it. */
  readonly directory: string
  /** The id of the log, which another one in its place does not have. */
  readonly clusterId: string
  /** The leader epoch of the newest records (KIP-320). Each opening of the log begins another. */
  readonly epoch: number
  close(): void
  /** Returns what an error of its methods stands for: HooklineError `log_io` of a disk that does not read, which another opening may. */
  explain(error: unknown): unknown
  /** Has all that is read meanwhile be as of one moment. */
  atOnce<T>(read: () => T): T
  topics(): readonly TopicOfLog[]
  /** undefined: the partition does not exist. */
  offsets(of: PartitionOf): Offsets | undefined
  /** Bytes of a partition's keys, values and headers. */
  bytes(of: PartitionOf): number
  /**
   * The records from an offset on, without a gap between them, up to the first that can't be read.
   *
   * @param end as of `offsets`, after the offset; there may be more by now
   * @throws Unreadable if the first can't be read
   */
  records(of: PartitionOf, offset: number, end: number): Iterable<LogRecord>
  /** The first record at or after a time; undefined: there is none. */
  firstAt(of: PartitionOf, timeMs: number): Placed | undefined
  /** The last record; undefined: there is none. */
  last(of: PartitionOf): Placed | undefined
  /** The epoch of the record at an offset. */
  epochAt(of: PartitionOf, offset: number): number
  /** The newest epoch up to one. */
  epochUpTo(epoch: number): number
  /** The offset after an epoch's records; undefined: no later epoch has begun. */
  epochEnd(of: PartitionOf, epoch: number): number | undefined
}

/** Records that can't be read, up to but not including `end`. */
export class Unreadable extends Error {
  readonly records: Offsets

  constructor(records: Offsets, options?: ErrorOptions) {
    super(`the records from offset ${records.first} to ${records.end - 1} can't be read`, options)
    this.name = "Unreadable"
    this.records = records
  }
}

/** Records of a partition that can't be read. */
export interface UnreadRecords extends Offsets {
  readonly topic: string
  readonly partition: number
}

/** How much the log keeps; infinite: everything. */
export interface RetentionLimits {
  readonly ms: number
  readonly bytes: number
}

/** A way to assign partitions that a member supports, with its subscription. */
export interface Protocol {
  readonly name: string
  readonly metadata: Uint8Array
}

/** What a member says of itself. */
export interface DescribedMember {
  /** Empty: it has none yet. */
  readonly memberId: string
  /** The `group.instance.id` of a static member. */
  readonly instanceId: string | null
  readonly clientId: string
  readonly clientHost: string
  readonly sessionTimeoutMs: number
  readonly rebalanceTimeoutMs: number
  /** The best first. */
  readonly protocols: readonly Protocol[]
}

/** What is kept of a member. */
export interface KeptMember extends DescribedMember {
  readonly assignment: Uint8Array
}

/** What is kept of a group in addition to its offsets. */
export interface GroupSnapshot {
  /** When the last member left, or while there are none the last offset was committed; in ms, by the clock of what is stored. */
  readonly changedMs: number
  readonly generation: number
  readonly protocolType: string
  readonly protocol: string
  readonly leader: string
  /** None unless each has its assignment. */
  readonly members: readonly KeptMember[]
}

export interface CommittedOffset {
  readonly offset: number
  /** Epoch of the last record before it, or of the log when it was committed; -1, of earlier versions: 0. */
  readonly leaderEpoch: number
  readonly metadata: string
}

/** Changes to store, or all that is stored; undefined: it is deleted. */
export interface GroupChanges {
  /** The log that these are of; what is stored of another one is deleted. */
  readonly clusterId?: string
  /** Of what is stored: the clock by which groups get older. */
  readonly clock?: ClockReading
  readonly groups: readonly (readonly [groupId: string, state: GroupSnapshot | undefined])[]
  readonly offsets: readonly (readonly [
    groupId: string,
    topic: string,
    partition: number,
    committed: CommittedOffset | undefined,
  ])[]
}
