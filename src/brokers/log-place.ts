/*
 * A place in a log, as whatever refers to a log's records keeps it: offsets alone are those of any log, and of any copy of it.
 * An epoch (embedded/log-epochs.ts) is of one copy: with it, and with the offset at which it began, a place tells how far the
 * log that is there now has the records that it had then.
 */

/** A leader epoch, and its first offset in the partition. */
export interface Epoch {
  readonly number: number
  /** Random: copies that were opened in one second have epochs of one number. undefined: not known. */
  readonly id?: number | undefined
  readonly start: number
}

/** A log, or a topic of it; an id that is not known tells nothing apart. */
export interface LogIdentity {
  /** The cluster id. */
  readonly clusterId?: string | undefined
  readonly topicId?: string | undefined
}

export interface LogPlace extends LogIdentity {
  readonly offset: number
  /** Of the record before the offset; undefined: not known. */
  readonly epoch: Epoch | undefined
}

/** The epochs of a partition. */
export interface PartitionEpochs {
  /** That of the record before an offset. */
  before(offset: number): Epoch
  /** Whether the log may have had it. */
  has(epoch: Pick<Epoch, "number" | "id">): boolean
  /** Where the records up to an epoch end; undefined: no later epoch has begun. */
  endOf(epoch: number): number | undefined
}

/** A partition as its log has it now. */
export interface LogPartition extends LogIdentity {
  readonly end: number
  /** undefined: its log has none. */
  readonly epochs: PartitionEpochs | undefined
}

/** How a place and a log disagree, and up to where they agree; undefined: that is not known. */
export interface Disagreement {
  readonly kind: "another log" | "another topic" | "an earlier copy"
  readonly offset: number | undefined
}

/** undefined: all records before the place are the log's, or those that it has deleted. */
export function disagreement(place: LogPlace, log: LogPartition): Disagreement | undefined {
  if (isOther(place.clusterId, log.clusterId)) return { kind: "another log", offset: 0 }
  if (isOther(place.topicId, log.topicId)) return { kind: "another topic", offset: 0 }
  const epoch = place.clusterId === undefined ? undefined : place.epoch
  const last = agreedEnd(epoch, log)
  if (place.offset <= last) return undefined
  return { kind: "an earlier copy", offset: epoch === undefined ? undefined : last }
}

/** Whether two ids tell apart. */
export const isOther = (before: string | undefined, now: string | undefined): boolean =>
  before !== undefined && now !== undefined && before !== now

function agreedEnd(epoch: Epoch | undefined, { end, epochs }: LogPartition): number {
  if (epoch === undefined || epochs === undefined) return end
  if (epochs.has(epoch)) return Math.min(end, epochs.endOf(epoch.number) ?? end)
  // of a copy that went another way: this log has no record of it, but may have one of its number
  return Math.min(end, epochs.endOf(epoch.number - 1) ?? end, epoch.start)
}
