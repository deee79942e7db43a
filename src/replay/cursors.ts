import type { OffsetRange } from "../brokers/broker.ts"
import type { ReplayPosition } from "./progress.ts"
import { lengthOf } from "./range.ts"

/** Position in a partition: what is read next, and the first offset that the job has not passed. */
interface Cursor {
  readonly range: OffsetRange
  read: number
  next: number
}

/** How far a job is in each partition. */
export class Cursors {
  readonly #all: Map<number, Cursor>

  /** @param from where an earlier job of the same ranges got to */
  constructor(ranges: readonly OffsetRange[], from: ReplayPosition | undefined) {
    this.#all = new Map(
      ranges.map((range) => {
        const next = Math.min(Math.max(range.first, from?.next.get(range.partition) ?? 0), range.end)
        return [range.partition, { range, read: next, next }] as const
      }),
    )
  }

  add(ranges: readonly OffsetRange[]): void {
    for (const range of ranges)
      this.#all.set(range.partition, { range, read: range.first, next: range.first })
  }

  get unread(): OffsetRange[] {
    return [...this.#all.values()].map(({ range, read }) => ({ ...range, first: read }))
  }

  /** @param offset which is read next */
  setRead(partition: number, offset: number): void {
    this.#all.get(partition)!.read = offset
  }

  /** @param offset before which the job has passed all */
  setNext(partition: number, offset: number): void {
    this.#all.get(partition)!.next = offset
  }

  /** The job has passed all. */
  finish(): void {
    for (const one of this.#all.values()) one.next = one.range.end
  }

  /** How many offsets all ranges have. */
  get offsets(): number {
    return lengthOf([...this.#all.values()].map(({ range }) => range))
  }

  /** How many of these the job has passed. */
  get passed(): number {
    return lengthOf([...this.#all.values()].map(({ range, next }) => ({ ...range, end: next })))
  }

  get next(): ReplayPosition["next"] {
    return new Map([...this.#all].map(([partition, { next }]) => [partition, next]))
  }

  /** The offset that is read next, by partition. */
  get read(): ReplayPosition["next"] {
    return new Map([...this.#all].map(([partition, { read }]) => [partition, read]))
  }
}
