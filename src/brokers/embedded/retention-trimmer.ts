import type { LogFile, OpenPartition, RecordEnd } from "./log-file.ts"
import type { Ages } from "./record-ages.ts"

/** What retention keeps. Times in milliseconds since 1970. */
export interface TrimLimits {
  /** Older records are deleted. */
  readonly beforeMs: number
  /** The time from which `beforeMs` was computed. */
  readonly nowMs: number
  /** For keys, values and headers of all topics; exact to a slice. */
  readonly maxBytes: number
}

export type Reason = "age" | "size"

export type Deletions = { readonly [reason in Reason]: { readonly records: number; readonly bytes: number } }

/** A slice of deletions takes about a millisecond. */
const SLICE_RECORDS = 500
export const SLICE_BYTES = 512 * 1024

/** Deletes what is beyond the limits, from the front of the partition with the oldest record. */
export class Trimmer {
  readonly #file: LogFile
  readonly #ages: Ages<OpenPartition>
  /** Partitions whose first record was not compared with the time yet. */
  readonly #unseen: OpenPartition[]

  /** @param ages of all records that are added */
  constructor(file: LogFile, ages: Ages<OpenPartition>) {
    this.#file = file
    this.#ages = ages
    this.#unseen = [...file.topics.values()].flatMap(({ partitions }) => partitions)
    for (const partition of this.#unseen) this.#begins(partition)
  }

  /** Whether there is anything to delete; reads nothing if there is not. */
  isDue({ beforeMs, nowMs, maxBytes }: TrimLimits): boolean {
    for (const partition of this.#unseen.splice(0)) this.#findDated(partition, nowMs)
    return this.#file.bytesKept > maxBytes || this.#ages.oldestMs < beforeMs
  }

  /** Deletes a slice of what is due. @param maxBytes of a slice @returns undefined: nothing is */
  trim(limits: TrimLimits, maxBytes = SLICE_BYTES): Deletions | undefined {
    const partition = this.isDue(limits) ? this.#ages.oldest() : undefined
    if (partition === undefined) return undefined
    const sliceBytes = Math.min(SLICE_BYTES, maxBytes)
    const excess = this.#file.bytesKept - limits.maxBytes
    const floor = this.#ages.floor(partition, limits.beforeMs)
    const deleted = noDeletions()
    let last: RecordEnd | undefined
    let bytes = 0
    for (const record of this.#file.oldest(partition, SLICE_RECORDS)) {
      const isOld = record.timestamp < limits.beforeMs || record.offset < floor
      if (!isOld && bytes >= excess) break
      if (last !== undefined && bytes >= sliceBytes) break
      const kind = deleted[isOld ? "age" : "size"]
      kind.records++
      kind.bytes += record.end_position - partition.firstPosition - bytes
      bytes = record.end_position - partition.firstPosition
      last = record
    }
    if (last === undefined) return undefined
    this.#file.deleteThrough(partition, last)
    this.#begins(partition)
    this.#findDated(partition, limits.nowMs)
    return deleted
  }

  #begins(partition: OpenPartition): void {
    const [first] = this.#file.oldest(partition, 1)
    this.#ages.begins(partition, partition.firstOffset, first?.timestamp ?? Number.POSITIVE_INFINITY)
  }

  /** Finds a record after those at the front that are dated ahead, in doubling steps and then by halves. */
  #findDated(partition: OpenPartition, nowMs: number): void {
    if (!this.#ages.isDatedAhead(partition, nowMs)) return
    const timeAt = (offset: number): number => this.#file.timeAt(partition, offset)
    const end = partition.nextOffset - 1
    let ahead = partition.firstOffset
    let after = ahead
    for (let step = 1; timeAt(after) > nowMs; step *= 2) {
      if (after === end) return
      ahead = after
      after = Math.min(end, after + step)
    }
    while (after - ahead > 1) {
      const middle = Math.floor((ahead + after) / 2)
      if (timeAt(middle) > nowMs) ahead = middle
      else after = middle
    }
    this.#ages.follows(partition, after, timeAt(after))
  }
}

export const noDeletions = (): { [reason in Reason]: { records: number; bytes: number } } => ({
  age: { records: 0, bytes: 0 },
  size: { records: 0, bytes: 0 },
})
