import { promisify } from "node:util"
import * as zlib from "node:zlib"
import { compressionsAlgorithms } from "./client-library.ts"
import type { EncodedBatch } from "./encoded-batch.ts"
import type { BatchMemory } from "./batch-memory.ts"
import { BATCH_HEADER_BYTES } from "../../kafka-protocol/batch-header.ts"
import { withCompressed, type Compression } from "./record-batch.ts"

/**
 * From this size on a batch is compressed by a thread of Bun's: on the event loop gzip takes 18 ms of CPU for a mebibyte,
 * 0.16 for this. Handing a batch over takes 0.03 ms of the loop and 0.1 of CPU, more than a small batch is worth. Snappy
 * and lz4, which Bun has no threads for, take 3 to 5 ms for a mebibyte, on the loop.
 */
export const ASIDE_BYTES = 16 * 1024

/** Compress in another thread, as the client library does on the event loop. A simulation has its own. */
export const THREADS: { [algorithm in Compression]?: (bytes: Uint8Array) => Promise<Uint8Array> } = {
  gzip: promisify<Uint8Array, Buffer>(zlib.gzip),
  zstd: promisify<Uint8Array, Buffer>(zlib.zstdCompress),
}

/** Compresses a batch that has just been formed: at once, or while `compressing` is pending. */
export function compressBatch(
  batch: EncodedBatch<unknown>,
  algorithm: Exclude<Compression, "none">,
  memory: BatchMemory,
): void {
  const plain = batch.bytes
  const records = plain.subarray(BATCH_HEADER_BYTES)
  const take = (compressed: Uint8Array): void => {
    batch.bytes = withCompressed(plain, compressed, algorithm)
    batch.compressing = undefined
    memory.giveBack(plain)
  }
  const pending = plain.length < ASIDE_BYTES ? undefined : THREADS[algorithm]?.(records)
  if (pending === undefined) take(compressionsAlgorithms[algorithm].compressSync(records))
  else batch.compressing = pending.then(take)
}
