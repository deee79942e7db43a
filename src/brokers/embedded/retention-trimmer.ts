import type { LogFile } from "./log-file.ts"
import type { OpenPartition, RecordEnd } from "./open-partition.ts"
import { PAGE_BYTES } from "./log-tables.ts"
import { OldestFirst } from "./oldest-first.ts"

/** What is kept. */
export interface Limits {
  /** How long, by the log's clock; Infinity: forever. */
  readonly ms: number
  /** How many bytes of keys, values and headers of all topics, exact to a slice; Infinity: all. */
  readonly bytes: number
}

export type Reason = "age" | "size"

export type Deletions = { readonly [reason in Reason]: { readonly records: number; readonly bytes: number } }

/** The log's clock, by which records get older (storage/kept-clock.ts). */
export interface AgeClock {
  readonly beganMs: number
  now(): number
}

/** A slice of deletions takes about a millisecond; one of many partitions, each with a page of its own, some more. */
const SLICE_RECORDS = 500
export const SLICE_BYTES = 512 * 1024
const SLICE_PARTITIONS = 64
/** Records that are read of a partition at first, and then twice as many each time. */
const FIRST_RECORDS = 8

/** Deletes what is beyond the limits: the oldest records first, of whichever partitions. */
export class Trimmer {
  readonly #file: LogFile
  readonly #clock: AgeClock
  /** Those with records, by the time of their first. */
  readonly #partitions = new OldestFirst<OpenPartition>()
  readonly #filled = new Set<OpenPartition>()

  constructor(file: LogFile, clock: AgeClock) {
    this.#file = file
    this.#clock = clock
    for (const { partitions } of file.topics.values())
      for (const partition of partitions) {
        const [first] = file.oldest(partition, 1)
        if (first !== undefined) this.added(partition, timeOf(first, clock))
      }
  }

  /** The time of the oldest record; Infinity: there is none. */
  get oldestMs(): number {
    return this.#partitions.oldestMs
  }

  /** A record was added. @param ms the log's clock */
  added(partition: OpenPartition, ms: number): void {
    if (this.#filled.has(partition)) return
    this.#filled.add(partition)
    this.#partitions.add(partition, ms)
  }

  /** Whether there is anything to delete; reads nothing. */
  isDue({ ms, bytes }: Limits): boolean {
    return this.#file.bytesKept > bytes || this.oldestMs < this.#clock.now() - ms
  }

  /** Deletes a slice of what is due. @param maxBytes of a slice @returns undefined: nothing is */
  trim(limits: Limits, maxBytes = SLICE_BYTES): Deletions | undefined {
    if (!this.isDue(limits)) return undefined
    const deleted = noDeletions()
    this.#file.deleteThrough(() => this.#take(limits, maxBytes, deleted))
    return deleted
  }

  /** Takes a slice of the oldest records. @returns the last of each partition */
  #take(
    limits: Limits,
    maxBytes: number,
    deleted: ReturnType<typeof noDeletions>,
  ): ReadonlyMap<OpenPartition, RecordEnd> {
    const mostBytes = Math.min(SLICE_BYTES, maxBytes)
    const mostPartitions = Math.min(SLICE_PARTITIONS, Math.max(1, Math.floor(maxBytes / PAGE_BYTES)))
    const beforeMs = this.#clock.now() - limits.ms
    const excess = this.#file.bytesKept - limits.bytes
    const taken = new Map<OpenPartition, RecordEnd>()
    const fronts = new Map<OpenPartition, Front>()
    let bytes = 0
    for (let records = 0; records < SLICE_RECORDS && (records === 0 || bytes < mostBytes); records++) {
      const partition = this.#partitions.oldest
      if (partition === undefined) break
      const { oldestMs } = this
      const reason = oldestMs < beforeMs ? "age" : "size"
      if (reason === "size" && bytes >= excess) break
      if (!fronts.has(partition) && fronts.size === mostPartitions) break
      const front = fronts.getOrInsertComputed(partition, () => new Front(this.#file, partition))
      const record = front.take()
      const size = record.end_position - (taken.get(partition)?.end_position ?? partition.firstPosition)
      deleted[reason].records++
      deleted[reason].bytes += size
      bytes += size
      taken.set(partition, record)
      const { next } = front
      // of records in their order none is older than the one before, whatever damage made of its time
      this.#partitions.moveOldest(
        next === undefined ? Number.POSITIVE_INFINITY : Math.max(oldestMs, timeOf(next, this.#clock)),
      )
      if (next === undefined) this.#filled.delete(partition)
    }
    return taken
  }
}

/** The first records of a partition, read some at a time. */
class Front {
  readonly #file: LogFile
  readonly #partition: OpenPartition
  #limit = FIRST_RECORDS
  #records: readonly RecordEnd[]
  #at = 0

  constructor(file: LogFile, partition: OpenPartition) {
    this.#file = file
    this.#partition = partition
    this.#records = file.oldest(partition, this.#limit)
  }

  /** The first record; undefined: there is none. */
  get next(): RecordEnd | undefined {
    const last = this.#records.at(-1)
    if (this.#at === this.#limit && last !== undefined) {
      this.#limit *= 2
      this.#records = this.#file.oldest(this.#partition, this.#limit, last)
      this.#at = 0
    }
    return this.#records[this.#at]
  }

  take(): RecordEnd {
    const record = this.next!
    this.#at++
    return record
  }
}

/** When a record was committed, by the log's clock; one of an earlier version when it says so, before the clock began. */
const timeOf = ({ clock: ms, timestamp }: RecordEnd, clock: AgeClock): number =>
  Math.min(ms ?? Math.min(timestamp, clock.beganMs), clock.now())

export const noDeletions = (): { [reason in Reason]: { records: number; bytes: number } } => ({
  age: { records: 0, bytes: 0 },
  size: { records: 0, bytes: 0 },
})
