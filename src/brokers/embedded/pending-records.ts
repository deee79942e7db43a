import { PublishError } from "../../errors.ts"
import type { Receipt, Record } from "../../pipeline/record.ts"

/** A record that was accepted and is not in the log yet. */
export interface PendingRecord {
  readonly record: Record
  readonly deadlineMs: number
  readonly resolve: (receipt: Receipt) => void
  readonly reject: (error: PublishError) => void
}

/** Accepted records, in the order in which they came. */
export class PublishQueue {
  readonly #title: string
  /** No deadline in the queue is before it. */
  #earliestMs = Number.POSITIVE_INFINITY
  #waiting: PendingRecord[] = []

  /** @param title what the records are to be written to, for errors */
  constructor(title: string) {
    this.#title = title
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0
  }

  get length(): number {
    return this.#waiting.length
  }

  push(one: PendingRecord): void {
    this.#waiting.push(one)
    if (one.deadlineMs < this.#earliestMs) this.#earliestMs = one.deadlineMs
  }

  /** Takes the next records, a little more than `bytes` of them, when those past their deadlines by `nowMs` are rejected. */
  take(nowMs: number, bytes: number): PendingRecord[] {
    this.expire(nowMs)
    let taken = 0
    for (let size = 0; taken < this.#waiting.length && size < bytes; taken++)
      size += sizeOf(this.#waiting[taken]!.record)
    const batch = this.#waiting
    this.#waiting = taken === batch.length ? [] : batch.slice(taken)
    return taken === batch.length ? batch : batch.slice(0, taken)
  }

  /** Puts a batch back to where it was taken from. */
  putBack(batch: readonly PendingRecord[]): void {
    this.#waiting = [...batch, ...this.#waiting]
    for (const { deadlineMs } of batch) this.#earliestMs = Math.min(this.#earliestMs, deadlineMs)
  }

  /** Takes out and rejects what is past its deadline. */
  expire(nowMs: number): void {
    if (nowMs < this.#earliestMs) return
    const [late, inTime] = [[], []] as [PendingRecord[], PendingRecord[]]
    this.#earliestMs = Number.POSITIVE_INFINITY
    for (const one of this.#waiting) {
      if (one.deadlineMs <= nowMs) late.push(one)
      else {
        inTime.push(one)
        this.#earliestMs = Math.min(this.#earliestMs, one.deadlineMs)
      }
    }
    this.#waiting = inTime
    for (const { reject } of late) reject(this.late())
  }

  /** What a record is rejected with at its deadline. */
  late(): PublishError {
    return new PublishError("deadline", `${this.#title} did not take the record in time`)
  }

  rejectAll(error: PublishError): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error)
  }
}

/** Bytes of a record's key and value. */
export const sizeOf = ({ key, value }: Record): number => value.length + (key === undefined ? 0 : key.length)

/** How large a record may be: bounded well below what SQLite stores in a row (1e9 bytes). */
const MAX_RECORD_BYTES = 256 * 1024 * 1024

/** Why a record is never taken; undefined: its size is no reason. */
export function tooLargeFor(record: Record, title: string): PublishError | undefined {
  if (sizeOf(record) <= MAX_RECORD_BYTES) return undefined
  return new PublishError("record_too_large", `${title} takes records up to ${MAX_RECORD_BYTES} bytes`)
}
