import type { Statement } from "bun:sqlite"

/** A partition as the next commit finds it. */
export interface OpenPartition {
  /** Id of its topic. */
  readonly id: number
  /** Its topic's. */
  readonly name: string
  readonly partition: number
  /** Prepared when the partition gets its first record: most of thousands of topics may be idle. */
  insert: Statement | undefined
  firstOffset: number
  firstPosition: number
  nextOffset: number
  /** Where it ended at the last commit that succeeded. */
  committedEnd: number
  endPosition: number
  /** As of its bounds. */
  unchecked: number | null
  /** Whether its table has a clock's column. */
  hasClock: boolean
  /** Prepared when its first records are asked for, or deleted. */
  oldest: Statement<RecordEnd, [number, number]> | undefined
  drop: Statement | undefined
  /** As seedOf. */
  readonly seed: number
}

export interface OpenTopic {
  readonly id: number
  readonly name: string
  /** By number; at least one. */
  readonly partitions: OpenPartition[]
  /** The number of the one that records without a key go to, in one commit and up to STICKY_BYTES. */
  sticky: number
  stickyBytes: number
  stickyCommit: number
}

/** Where a record ends in its partition, and its times. */
export interface RecordEnd {
  readonly offset: number
  readonly end_position: number
  readonly timestamp: number
  readonly clock: number | null
}
