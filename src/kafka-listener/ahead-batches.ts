import { steadyMs } from "../clock/clock.ts"
import type { RecordBatch } from "./protocol/record-batch.ts"

const MAX_BYTES = 4 * 1024 * 1024
/** After this long a consumer that has not asked for its batch is slow, or gone. */
const WANTED_MS = 1000

interface Ahead {
  readonly batch: RecordBatch
  readonly readMs: number
}

/**
 * Batches that consumers will ask for next, read while they process the ones before. Bounded: a
 * batch that there is no room for is read when it is asked for.
 */
export class AheadBatches {
  /** By partition and first offset, the oldest first. */
  readonly #batches = new Map<string, Ahead>()
  readonly #steady: () => number
  #bytes = 0

  /** @param steady as steadyMs */
  constructor(steady: () => number = steadyMs) {
    this.#steady = steady
  }

  /** Whether another fits, of at most this many bytes. */
  hasRoom(bytes: number): boolean {
    const sinceMs = this.#steady() - WANTED_MS
    for (const [key, { readMs }] of this.#batches) {
      if (readMs > sinceMs) break
      this.#drop(key)
    }
    return this.#bytes + bytes <= MAX_BYTES
  }

  add(partition: string, batch: RecordBatch): void {
    const key = `${partition} ${batch.firstOffset}`
    this.#drop(key)
    this.#batches.set(key, { batch, readMs: this.#steady() })
    this.#bytes += batch.bytes.length
  }

  /** The batch from an offset on, which is not kept any longer; undefined: there is none of at most that many bytes. */
  take(partition: string, offset: number, maxBytes: number): RecordBatch | undefined {
    const batch = this.#drop(`${partition} ${offset}`)
    return batch !== undefined && batch.bytes.length <= maxBytes ? batch : undefined
  }

  clear(): void {
    this.#batches.clear()
    this.#bytes = 0
  }

  #drop(key: string): RecordBatch | undefined {
    const batch = this.#batches.get(key)?.batch
    this.#batches.delete(key)
    this.#bytes -= batch?.bytes.length ?? 0
    return batch
  }
}
