import { PublishError } from "../../errors.ts"
import type { Receipt, Record } from "../../pipeline/record.ts"

/** A record that is not durable yet. */
export interface PendingRecord {
  readonly record: Record
  readonly deadlineMs: number
  readonly resolve: (receipt: Receipt) => void
  readonly reject: (error: PublishError) => void
}

/** In order of arrival. */
export class PublishQueue {
  readonly #title: string
  /** No deadline is earlier. */
  #earliestMs = Number.POSITIVE_INFINITY
  #waiting: PendingRecord[] = []

  /** @param title what the records are to be written to, for errors */
  constructor(title: string) {
    this.#title = title
  }

  get length(): number {
    return this.#waiting.length
  }

  push(one: PendingRecord): void {
    this.#waiting.push(one)
    if (one.deadlineMs < this.#earliestMs) this.#earliestMs = one.deadlineMs
  }

  /** Takes the next records, of just over `bytes` in all. Those past their deadlines are rejected. */
  take(nowMs: number, bytes: number): PendingRecord[] {
    this.expire(nowMs)
    let taken = 0
    for (let size = 0; taken < this.#waiting.length && size < bytes; taken++)
      size += sizeOf(this.#waiting[taken]!.record)
    const batch = this.#waiting
    if (taken < batch.length) return this.#waiting.splice(0, taken)
    this.#waiting = []
    return batch
  }

  /** Puts a batch back to the front. */
  putBack(batch: readonly PendingRecord[]): void {
    this.#waiting = [...batch, ...this.#waiting]
    for (const { deadlineMs } of batch) this.#earliestMs = Math.min(this.#earliestMs, deadlineMs)
  }

  /** Removes and rejects records past their deadlines. */
  expire(nowMs: number): void {
    if (nowMs < this.#earliestMs) return
    const late = this.#waiting.filter(({ deadlineMs }) => deadlineMs <= nowMs)
    this.#waiting = this.#waiting.filter(({ deadlineMs }) => deadlineMs > nowMs)
    this.#earliestMs = this.#waiting.reduce((ms, it) => Math.min(ms, it.deadlineMs), Number.POSITIVE_INFINITY)
    for (const { reject } of late) reject(this.late())
  }

  late(): PublishError {
    return new PublishError("deadline", `${this.#title} did not take the record in time`)
  }

  rejectAll(error: PublishError): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error)
  }
}

/** Bytes of a record's key and value. */
export const sizeOf = ({ key, value }: Record): number => value.length + (key === undefined ? 0 : key.length)

/** Well below SQLite's limit for a row (1e9 bytes). */
const MAX_RECORD_BYTES = 256 * 1024 * 1024

export function tooLargeFor(record: Record, title: string): PublishError | undefined {
  if (sizeOf(record) <= MAX_RECORD_BYTES) return undefined
  return new PublishError("record_too_large", `${title} takes records up to ${MAX_RECORD_BYTES} bytes`)
}
