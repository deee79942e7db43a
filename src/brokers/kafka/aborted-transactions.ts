import type { fetchV12 } from "./client-library.ts"

type FetchedPartition = ReturnType<typeof fetchV12.parseResponse>["responses"][0]["partitions"][0]
export type FetchedBatch = NonNullable<FetchedPartition["records"]>[number]

/** Bits of a batch's attributes: it is part of a transaction; it has a transaction's marker in place of records. */
const TRANSACTIONAL = 1 << 4
const CONTROL = 1 << 5
/** A marker's key: its version and its type, an int16 each. */
const TYPE_AT = 2
const ABORT = 0

export const isControl = ({ attributes }: FetchedBatch): boolean => (attributes & CONTROL) !== 0

/**
 * Which batches of a fetched partition belong to aborted transactions, by the list that the broker adds for the isolation
 * level READ_COMMITTED; as Java's consumer does it (CompletedFetch).
 */
export class AbortedTransactions {
  /** Those that begin in a batch to come, by their first offset. */
  readonly #ahead: { readonly producerId: bigint; readonly firstOffset: bigint }[]
  /** Producers whose transaction is an aborted one, up to its marker. */
  readonly #producers = new Set<bigint>()

  constructor({ abortedTransactions }: FetchedPartition) {
    this.#ahead = (abortedTransactions ?? []).toSorted((a, b) => Number(a.firstOffset - b.firstOffset))
  }

  /** Whether the records of the next batch were aborted. Every batch is asked about, in order. */
  has(batch: FetchedBatch): boolean {
    const { producerId, attributes, firstOffset, lastOffsetDelta, records } = batch
    const last = firstOffset + BigInt(lastOffsetDelta)
    while (this.#ahead.length > 0 && this.#ahead[0]!.firstOffset <= last)
      this.#producers.add(this.#ahead.shift()!.producerId)
    if (isControl(batch)) {
      const key = records[0]?.key
      if (key && Buffer.from(key).readInt16BE(TYPE_AT) === ABORT) this.#producers.delete(producerId)
      return false
    }
    return (attributes & TRANSACTIONAL) !== 0 && this.#producers.has(producerId)
  }
}
