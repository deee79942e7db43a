import type { StoredRecord } from "../brokers/broker.ts"
import type { Epoch } from "../brokers/log-place.ts"
import type { Refusal } from "./target.ts"

/** The states of a ReplayJob. */
export type ReplayState = "running" | "paused" | "done" | "cancelled" | "failed"

/** Everything before it was sent and acknowledged, refused, or does not match. */
export interface ReplayPosition {
  /** The next offset, by partition; one that is missing begins at the beginning of its range. */
  readonly next: ReadonlyMap<number, number>
  /** Records that the target has acknowledged. */
  readonly replayed: number
  /** Records that it has refused. */
  readonly failed: number
  /** The epochs of the records before `next`, by partition; absent: the log has none, or they are not known. */
  readonly epochs?: ReadonlyMap<number, Epoch>
}

/** A record that the target refused. */
export interface ReplayFailure extends Refusal {
  readonly partition: number
  readonly offset: number
  /** The record's, in milliseconds since 1970. */
  readonly timestampMs: number
}

export const toFailure = (
  { partition, offset, timestampMs }: StoredRecord,
  refusal: Refusal,
): ReplayFailure => ({ partition, offset, timestampMs, ...refusal })

export interface ReplayProgress {
  readonly state: ReplayState
  /** Milliseconds since 1970. */
  readonly startedMs: number
  /** Offsets in the ranges: that many records, unless some were compacted or deleted. Infinite: the job continues with new ones. */
  readonly offsets: number
  /** How many of these are before its position. */
  readonly passed: number
  readonly replayed: number
  readonly failed: number
  /** Offsets of the ranges that the log deleted before this job read them. */
  readonly missed: number
  /** Records acknowledged a second, of late. */
  readonly perSecond: number
  readonly remainingMs: number | undefined
  /** Why the job failed, or waits. */
  readonly problem: string | undefined
  /** The last 100. */
  readonly failures: readonly ReplayFailure[]
}
