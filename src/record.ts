/** A name and a value of a record. Names may repeat; their order is kept. */
export type RecordHeader = readonly [name: string, value: Uint8Array]

/** What is published. Bytes are not copied: whoever hands a record over must not change them afterwards. */
export interface Record {
  readonly topic: string
  /** Records of one key keep their order. Without one the broker spreads records over the partitions. */
  readonly key?: Uint8Array | undefined
  readonly value: Uint8Array
  readonly headers?: readonly RecordHeader[] | undefined
  /** When it came, in milliseconds since 1970; undefined: now. */
  readonly timestampMs?: number | undefined
}

/** Where an acknowledged record lies. */
export interface Receipt {
  /** -1 for a record that waits in a spool. */
  readonly partition: number
  /** Position in the partition, from 0; -1 where it is not known. */
  readonly offset: number
}
