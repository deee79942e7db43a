/** A name and a value of a record. Names may repeat; their order is kept. */
export type RecordHeader = readonly [name: string, value: Uint8Array]

/** The value of a record or header that has none: Kafka's null, which deletes a key in a compacted topic. */
export const NO_VALUE: Uint8Array = new Uint8Array(0)

/** A record to publish. Bytes are not copied: they must not change after `publish`. */
export interface Record {
  readonly topic: string
  /** Records of one key keep their order. Without one the broker spreads records over the partitions. */
  readonly key?: Uint8Array | undefined
  readonly value: Uint8Array
  readonly headers?: readonly RecordHeader[] | undefined
  /** Arrival, in milliseconds since 1970; undefined: now. */
  readonly timestampMs?: number | undefined
  /** Its place in another topic: see SourcePartition. */
  readonly sourcePartition?: SourcePartition | undefined
  /** Its event's key; a log in the key store's folder writes both in one transaction. */
  readonly dedupeKey?: DedupeKey | undefined
}

/**
 * The partition that a replayed record comes from. It goes to the one of the same number if both topics have as many;
 * else its key decides, as for every record. Without a key it is the number modulo the target's partitions, so that
 * records of one partition stay together.
 */
export interface SourcePartition {
  readonly number: number
  /** Partitions of the topic that it comes from. */
  readonly of: number
}

/** A key that makes further events duplicates once the record is durable. */
export interface DedupeKey {
  /** The key store's folder. */
  readonly directory: string
  readonly key: string
  /** Its expiry, in milliseconds by the store's clock. */
  readonly untilMs: number
  /** Called when key and record are durable, with the key's id in the log's journal and, where that is known, the record's place. */
  readonly committed: (id: number, at?: RecordPlace) => void
  /** Set by the log: it was given the record, and does not know whether it has it. */
  isInDoubt?: boolean
  /** Set by whoever wants to know when the doubt is over; called after `committed`. */
  known?: (isCommitted: boolean) => void
}

/** The dedupe keys that a log keeps until the store in its folder has them in its own file. */
export interface KeyJournal {
  /** Reads what it holds, oldest first: all of it is durable. @throws HooklineError `unavailable` while the log is not open */
  read(): Promise<readonly JournaledKey[]>
  /** Deletes those up to that id, eventually. */
  forget(throughId: number): void
  /** Sets what is called when the log was closed after a failure, and when it is open again: it may lack records then. */
  onReopening(called: () => void): void
  /** Finds the places' records that the log does not have: they were lost. @throws HooklineError `unavailable` while the log is not open */
  lost(places: readonly KnownPlace[]): Promise<LostKeys>
}

/** A partition of a log in one of its leader epochs. */
export interface KeyPlace {
  /** The cluster id. */
  readonly log: string
  readonly topic: string
  readonly partition: number
  readonly epoch: number
  /** As in LogPlace; 0: not known. */
  readonly epochId: number
}

/** The record of a key. */
export interface RecordPlace {
  /** The same object for all of its records. */
  readonly place: KeyPlace
  readonly offset: number
}

/** A place that a store has keys of. */
export interface KnownPlace extends KeyPlace {
  readonly id: number
  /** The largest offset of its keys. */
  readonly last: number
  /** The number of the log's gaps that were compared with it. */
  readonly gaps: number
}

/** Keys whose records a log does not have. */
export interface LostKeys {
  /** The number of the log's gaps. */
  readonly gaps: number
  readonly lost: readonly { readonly place: number; readonly first: number; readonly end: number }[]
}

export interface JournaledKey extends Pick<DedupeKey, "key" | "untilMs"> {
  /** Ascending. */
  readonly id: number
  /** undefined: not known, as after a crash. */
  readonly at?: RecordPlace | undefined
}

/** The position of an acknowledged record. */
export interface Receipt {
  /** -1: in a spool. */
  readonly partition: number
  /** Counted from 0 within the partition; -1: unknown. */
  readonly offset: number
}
