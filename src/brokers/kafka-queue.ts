import { PublishError } from "../errors.ts"
import type { Receipt, Record } from "../record.ts"
import { recordBytes } from "./kafka-records.ts"

/** Counts the records that wait for an answer. */
export class Backlog {
  #waiting = 0
  #whenEmpty: (() => void) | undefined

  get size(): number {
    return this.#waiting
  }

  add(): void {
    this.#waiting += 1
  }

  remove(): void {
    this.#waiting -= 1
    if (this.#waiting === 0) this.#whenEmpty?.()
  }

  /** Resolves when nothing waits. */
  empty(): Promise<void> {
    if (this.#waiting === 0) return Promise.resolve()
    return new Promise((resolve) => (this.#whenEmpty = resolve))
  }
}

/** A record between `publish` and its answer, which it gets once: what comes later is ignored. */
export class Waiting {
  readonly record: Record
  readonly deadlineMs: number
  /** What it takes in a batch, at most. */
  readonly bytes: number
  #backlog: Backlog | undefined
  readonly #resolve: (receipt: Receipt) => void
  readonly #reject: (error: PublishError) => void

  constructor(
    record: Record,
    deadlineMs: number,
    backlog: Backlog,
    resolve: (receipt: Receipt) => void,
    reject: (error: PublishError) => void,
  ) {
    this.record = record
    this.deadlineMs = deadlineMs
    this.bytes = recordBytes(record) + (record.timestampMs === undefined ? 0 : MORE_TIMESTAMP_BYTES)
    this.#backlog = backlog
    this.#resolve = resolve
    this.#reject = reject
    backlog.add()
  }

  accept(receipt: Receipt): void {
    if (!this.#answered()) this.#resolve(receipt)
  }

  refuse(error: PublishError): void {
    if (!this.#answered()) this.#reject(error)
  }

  /** Rejects it when its deadline has passed, and says whether it has. */
  expire(nowMs: number): boolean {
    if (nowMs < this.deadlineMs) return false
    this.refuse(new PublishError("deadline", "the deadline passed before Kafka acknowledged the record"))
    return true
  }

  #answered(): boolean {
    if (this.#backlog === undefined) return true
    this.#backlog.remove()
    this.#backlog = undefined
    return false
  }
}

/** What the distance of a record's own time from the batch's first takes beyond one byte, when that is under a day. */
const MORE_TIMESTAMP_BYTES = 3

/** What a batch has room for. */
export interface Room {
  records: number
  bytes: number
  /** No deadline may be later; set by the first record. */
  untilMs: number
}

const SPREAD_MS = 500

/** Records in the order in which they came. */
export class Queue {
  #items: Waiting[] = []
  /** No deadline in the queue is before it. */
  #earliestMs = Number.POSITIVE_INFINITY

  get length(): number {
    return this.#items.length
  }

  /** Bytes of the record that has its turn; undefined: there is none. */
  get firstBytes(): number | undefined {
    return this.#items[0]?.bytes
  }

  push(waiting: Waiting): void {
    this.#items.push(waiting)
    if (waiting.deadlineMs < this.#earliestMs) this.#earliestMs = waiting.deadlineMs
  }

  /** Puts records back, before all others. */
  putBack(items: readonly Waiting[]): void {
    this.#items = [...items, ...this.#items]
    for (const { deadlineMs } of items) this.#earliestMs = Math.min(this.#earliestMs, deadlineMs)
  }

  /**
   * Moves records from the front to a batch, as far as it has room: the first of a batch always fits, and deadlines far
   * apart do not go together, since a batch that fails is not sent again after its first deadline.
   */
  moveTo(batch: Waiting[], room: Room): void {
    let taken = 0
    for (const waiting of this.#items) {
      const isFirst = batch.length + taken === 0
      if (isFirst) room.untilMs = waiting.deadlineMs + SPREAD_MS
      else if (waiting.bytes > room.bytes || waiting.deadlineMs > room.untilMs || room.records === 0) break
      room.bytes -= waiting.bytes
      room.records -= 1
      taken += 1
    }
    batch.push(...this.#items.splice(0, taken))
  }

  takeAll(): Waiting[] {
    return this.#items.splice(0)
  }

  /** Takes out and rejects what is past its deadline. */
  expire(nowMs: number): void {
    if (nowMs < this.#earliestMs) return
    this.#items = this.#items.filter((waiting) => !waiting.expire(nowMs))
    this.#earliestMs = Number.POSITIVE_INFINITY
    for (const { deadlineMs } of this.#items) this.#earliestMs = Math.min(this.#earliestMs, deadlineMs)
  }

  refuse(error: PublishError): void {
    for (const waiting of this.takeAll()) waiting.refuse(error)
  }
}
