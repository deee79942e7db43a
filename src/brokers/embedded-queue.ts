import { PublishError } from "../errors.ts"
import type { Receipt, Record } from "../record.ts"

/** A record that was accepted and is not in the log yet. */
export interface Waiting {
  readonly record: Record
  readonly deadlineMs: number
  readonly resolve: (receipt: Receipt) => void
  readonly reject: (error: PublishError) => void
}

/** Accepted records, in the order in which they came. */
export class PublishQueue {
  readonly #title: string
  #waiting: Waiting[] = []

  /** @param title what the records are to be written to, for errors */
  constructor(title: string) {
    this.#title = title
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0
  }

  push(one: Waiting): void {
    this.#waiting.push(one)
  }

  /** Takes the next records, a little more than `bytes` of them; rejects those whose deadlines have passed by `nowMs`. */
  take(nowMs: number, bytes: number): Waiting[] {
    const batch: Waiting[] = []
    let taken = 0
    for (let size = 0; taken < this.#waiting.length && size < bytes; taken++) {
      const one = this.#waiting[taken]!
      if (one.deadlineMs <= nowMs) {
        one.reject(new PublishError("deadline", `${this.#title} did not take the record in time`))
      } else {
        size += sizeOf(one.record)
        batch.push(one)
      }
    }
    this.#waiting = taken === this.#waiting.length ? [] : this.#waiting.slice(taken)
    return batch
  }

  /** Puts a batch back to where it was taken from. */
  putBack(batch: Waiting[]): void {
    this.#waiting = batch.concat(this.#waiting)
  }

  rejectAll(error: PublishError): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error)
  }
}

/** Bytes of a record's key and value. */
export const sizeOf = ({ key, value }: Record): number => value.length + (key === undefined ? 0 : key.length)
