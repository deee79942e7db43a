import { DeadlineQueue } from "../../clock/deadlines.ts"
import type { PublishError } from "../../errors.ts"
import type { Receipt, Record } from "../../pipeline/record.ts"
import { isPlaced } from "../placement.ts"
import { deadlinePassed } from "./publish-errors.ts"
import { recordBytes } from "./record-batch.ts"

type Settle = (error: PublishError | undefined, receipt?: Receipt) => void

/** A record between `publish` and its answer, which it gets once: what comes later is ignored. */
export class PendingRecord {
  readonly record: Record
  readonly deadlineMs: number
  /** Its size in a batch, at most. */
  readonly bytes: number
  #settle: Settle | undefined

  constructor(record: Record, deadlineMs: number, settle: Settle) {
    this.record = record
    this.deadlineMs = deadlineMs
    this.bytes = recordBytes(record) + (record.timestampMs === undefined ? 0 : MORE_TIMESTAMP_BYTES)
    this.#settle = settle
  }

  settle(error: PublishError | undefined, receipt?: Receipt): void {
    const settle = this.#settle
    this.#settle = undefined
    settle?.(error, receipt)
  }

  /** Rejects it when its deadline has passed. @returns whether it has */
  expire(nowMs: number): boolean {
    if (nowMs < this.deadlineMs) return false
    this.settle(deadlinePassed())
    return true
  }
}

/** What the distance of a record's own time from the batch's first takes beyond one byte, up to 69 years. */
const MORE_TIMESTAMP_BYTES = 5

/** How much more fits into a batch. */
export interface Capacity {
  records: number
  bytes: number
  /** Records with earlier deadlines are not sent: they can't be acknowledged in time. */
  readonly leastMs: number
  /** How far apart two deadlines of the batch may be. */
  readonly spreadMs: number
  /** A deadline between these is at most that far from every other one in the batch. Each record narrows them. */
  sinceMs: number
  untilMs: number
}

/**
 * Pending records in order of arrival. Pipelines of different `delivery_timeout` may publish to one topic, so that the
 * deadlines of neighbours are seconds apart: a batch takes those that go with its first one, and leaves the others in place.
 */
export class PendingQueue extends DeadlineQueue<PendingRecord> {
  /** Whether records without a key go before these into the next batch that takes both. */
  isSecond = false

  constructor() {
    super((record) => record.settle(deadlinePassed()))
  }

  /** Of the first record; 0: there is none. */
  get firstBytes(): number {
    return this.items[0]?.bytes ?? 0
  }

  /** Whether a record has its deadline between these times. */
  hasDeadline(fromMs: number, beforeMs: number): boolean {
    if (this.earliestMs >= beforeMs) return false
    return this.items.some(({ deadlineMs }) => deadlineMs >= fromMs && deadlineMs < beforeMs)
  }

  /** Moves records to a batch, up to a share of its capacity; the first of a batch always fits. Those of a key keep their order. */
  moveTo(batch: PendingRecord[], capacity: Capacity, share = 1): void {
    const keptBytes = Math.floor(capacity.bytes * (1 - share))
    const keptRecords = Math.floor(capacity.records * (1 - share))
    const order = new KeyOrder(batch)
    const left: PendingRecord[] = []
    let seen = 0
    for (const one of this.items) {
      const { bytes, deadlineMs } = one
      if (batch.length > 0 && (bytes > capacity.bytes - keptBytes || capacity.records <= keptRecords)) break
      seen++
      if (deadlineMs < capacity.leastMs) {
        // another leader may be faster; one with a key has none, and would keep others of its key waiting
        if (isPlaced(one.record)) one.settle(deadlinePassed())
        else left.push(one)
        continue
      }
      const isApart = deadlineMs < capacity.sinceMs || deadlineMs > capacity.untilMs
      if (order.leaves(one, isApart)) {
        left.push(one)
        continue
      }
      capacity.sinceMs = Math.max(capacity.sinceMs, deadlineMs - capacity.spreadMs)
      capacity.untilMs = Math.min(capacity.untilMs, deadlineMs + capacity.spreadMs)
      capacity.bytes -= bytes
      capacity.records -= 1
      batch.push(one)
    }
    this.take(seen)
    this.putBack(left)
  }

  reject(error: PublishError): void {
    for (const record of this.take()) record.settle(error)
  }
}

/**
 * Decides which records are left for a later batch, so that those of a key keep their order: with one that is left all later
 * ones of its key are, and where the batch has one of its key, one whose deadline is apart goes with it.
 */
class KeyOrder {
  readonly #batch: readonly PendingRecord[]
  /** Keys in the batch; undefined until a deadline is apart. */
  #taken: Set<string> | undefined
  readonly #left = new Set<string>()

  constructor(batch: readonly PendingRecord[]) {
    this.#batch = batch
  }

  leaves(one: PendingRecord, isApart: boolean): boolean {
    if (!isApart && this.#left.size === 0) return false
    if (!isPlaced(one.record)) return isApart
    const key = keyOf(one)
    if (this.#left.has(key)) return true
    this.#taken ??= new Set(this.#batch.filter(({ record }) => isPlaced(record)).map(keyOf))
    if (isApart && (one.deadlineMs === Number.POSITIVE_INFINITY || !this.#taken.has(key))) {
      this.#left.add(key)
      return true
    }
    this.#taken.add(key)
    return false
  }
}

/** Records that are placed without a key keep their order, too. */
const keyOf = ({ record: { key } }: PendingRecord): string => String(key ?? "")
