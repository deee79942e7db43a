import type { RecordBatch } from "./protocol/record-batch.ts"

const MAX_BYTES = 4 * 1024 * 1024

/**
 * The batch that was last read at the end of each partition, so that consumers that follow a topic share one. A consumer that
 * asks for a record within it gets all of it and skips those before: from then on it is where the others are.
 */
export class RecentBatches {
  /** By partition, the oldest first. */
  readonly #batches = new Map<string, RecordBatch>()
  #bytes = 0

  /** @param end of the partition: what ends before it would keep a consumer from what follows */
  find(key: string, offset: number, end: number, maxBytes: number): RecordBatch | undefined {
    const batch = this.#batches.get(key)
    if (batch === undefined || batch.endOffset < end || batch.bytes.length > maxBytes) return undefined
    const skipped = offset - batch.firstOffset
    // at most as many records as it asks for
    return skipped >= 0 && skipped <= batch.endOffset - offset ? batch : undefined
  }

  add(key: string, batch: RecordBatch): void {
    this.#drop(key)
    this.#batches.set(key, batch)
    this.#bytes += batch.bytes.length
    for (const oldest of this.#batches.keys()) {
      if (this.#bytes <= MAX_BYTES) break
      this.#drop(oldest)
    }
  }

  clear(): void {
    this.#batches.clear()
    this.#bytes = 0
  }

  #drop(key: string): void {
    this.#bytes -= this.#batches.get(key)?.bytes.length ?? 0
    this.#batches.delete(key)
  }
}
