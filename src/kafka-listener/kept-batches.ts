import { steadyMs } from "../clock/clock.ts"
import type { RecordBatch } from "./record-batch.ts"

const MAX_BYTES = 4 * 1024 * 1024
/** After this long a consumer that has not asked for its batch is slow, or gone. */
const WANTED_MS = 1000

/** Batches in memory, by key: as many as fit, those that were read last. */
export class KeptBatches {
  /** The oldest first. */
  readonly #batches = new Map<string, { readonly batch: RecordBatch; readonly readMs: number }>()
  readonly #steady: () => number
  #bytes = 0

  /** @param steady as steadyMs */
  constructor(steady: () => number = steadyMs) {
    this.#steady = steady
  }

  get(key: string): RecordBatch | undefined {
    return this.#batches.get(key)?.batch
  }

  /** Gives a batch away; undefined: there is none of at most that many bytes. */
  take(key: string, maxBytes: number): RecordBatch | undefined {
    const batch = this.#drop(key)
    return batch !== undefined && batch.bytes.length <= maxBytes ? batch : undefined
  }

  add(key: string, batch: RecordBatch): void {
    this.#drop(key)
    this.#batches.set(key, { batch, readMs: this.#steady() })
    this.#bytes += batch.bytes.length
    for (const oldest of this.#batches.keys()) {
      if (this.#bytes <= MAX_BYTES) break
      this.#drop(oldest)
    }
  }

  /** Drops those that nobody has asked for in time. @returns whether another fits, of at most this many bytes */
  hasRoom(bytes: number): boolean {
    const sinceMs = this.#steady() - WANTED_MS
    for (const [key, { readMs }] of this.#batches) {
      if (readMs > sinceMs) break
      this.#drop(key)
    }
    return this.#bytes + bytes <= MAX_BYTES
  }

  clear(): void {
    this.#batches.clear()
    this.#bytes = 0
  }

  #drop(key: string): RecordBatch | undefined {
    const batch = this.get(key)
    this.#batches.delete(key)
    this.#bytes -= batch?.bytes.length ?? 0
    return batch
  }
}
