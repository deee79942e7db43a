// Hot path: each batch takes its memory here.

/** The smallest piece; larger ones are powers of two. */
const LEAST_BYTES = 16 * 1024
/** The largest that is kept: of a batch of 1 MiB, the broker's usual limit. */
const MOST_BYTES = 2 * 1024 * 1024
/** Kept next to what is in use: the batches of a few leaders. */
const KEPT_BYTES = 4 * 1024 * 1024

/**
 * Memory of batches, used again: fresh memory costs 130 us of CPU a megabyte, four times what it takes to write it, since
 * the kernel clears each page, and hands the engine garbage to collect.
 */
export class BatchMemory {
  /** By size. */
  readonly #kept = new Map<number, Buffer[]>()
  #keptBytes = 0

  /** Uninitialised. Only who knows that nothing reads it any more may give it back. */
  take(bytes: number): Buffer {
    const size = sizeOf(bytes)
    const kept = this.#kept.get(size)?.pop()
    if (kept === undefined)
      return Buffer.allocUnsafeSlow(size <= MOST_BYTES ? size : bytes).subarray(0, bytes)
    this.#keptBytes -= size
    return kept.subarray(0, bytes)
  }

  /** @param memory taken here, or a part of it */
  giveBack({ buffer }: Buffer): void {
    const size = buffer.byteLength
    if (size !== sizeOf(size) || size > MOST_BYTES || this.#keptBytes + size > KEPT_BYTES) return
    this.#keptBytes += size
    const whole = Buffer.from(buffer)
    const kept = this.#kept.get(size)
    if (kept === undefined) this.#kept.set(size, [whole])
    else kept.push(whole)
  }
}

function sizeOf(bytes: number): number {
  let size = LEAST_BYTES
  while (size < bytes) size *= 2
  return size
}
