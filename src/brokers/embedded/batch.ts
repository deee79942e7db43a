// Hot path: each record of the embedded log passes here on its way to the thread that commits.
import type { Record, SourcePartition } from "../../pipeline/record.ts"
import { packHeaders, unpackHeaders } from "../packed-headers.ts"

/**
 * Records in one buffer, which is transferred between threads:
 *
 *     layout   for each record, as float64: index of its topic | timestamp in milliseconds since 1970, -1: none of its own
 *              | bytes of its key, -1: none | bytes of its packed headers, 0: none | bytes of its value
 *     bytes    for each record: key | headers | value
 *
 * They are copied once, and need no objects to cross. The buffer may be larger than its content.
 */
export interface PackedBatch {
  readonly topics: readonly string[]
  readonly records: number
  readonly bytes: ArrayBuffer
  /** Where replayed records come from, by place in the batch; absent: none is replayed. */
  readonly sources?: readonly (SourcePartition | undefined)[]
}

const COLUMNS = 5
const LAYOUT_BYTES = COLUMNS * Float64Array.BYTES_PER_ELEMENT
const NONE = -1
/** The least buffer, so that later batches fit in. */
const LEAST_BYTES = 256 * 1024

/** @param spare buffer of an earlier batch, reused if it is large enough */
export function packBatch(batch: readonly { readonly record: Record }[], spare?: ArrayBuffer): PackedBatch {
  const indexes = new Map<string, number>()
  const headers: (Uint8Array | undefined)[] = []
  let sources: (SourcePartition | undefined)[] | undefined
  let size = batch.length * LAYOUT_BYTES
  for (let i = 0; i < batch.length; i++) {
    const { topic, key, value, headers: given, sourcePartition } = batch[i]!.record
    if (sourcePartition !== undefined) (sources ??= [])[i] = sourcePartition
    if (!indexes.has(topic)) indexes.set(topic, indexes.size)
    const packed = given === undefined || given.length === 0 ? undefined : packHeaders(given)
    headers.push(packed)
    size += (key === undefined ? 0 : key.length) + (packed === undefined ? 0 : packed.length) + value.length
  }
  const fits = spare !== undefined && size <= spare.byteLength
  const bytes = fits ? new Uint8Array(spare) : new Uint8Array(Math.max(size, LEAST_BYTES))
  const layout = new Float64Array(bytes.buffer, 0, batch.length * COLUMNS)
  let at = batch.length * LAYOUT_BYTES
  let column = 0
  for (let i = 0; i < batch.length; i++) {
    const { topic, timestampMs, key, value } = batch[i]!.record
    const packed = headers[i]
    layout[column++] = indexes.get(topic)!
    layout[column++] = timestampMs ?? NONE
    layout[column++] = key === undefined ? NONE : key.length
    layout[column++] = packed === undefined ? 0 : packed.length
    layout[column++] = value.length
    if (key !== undefined) {
      bytes.set(key, at)
      at += key.length
    }
    if (packed !== undefined) {
      bytes.set(packed, at)
      at += packed.length
    }
    bytes.set(value, at)
    at += value.length
  }
  const packed = { topics: [...indexes.keys()], records: batch.length, bytes: bytes.buffer }
  return sources === undefined ? packed : { ...packed, sources }
}

/** The records, as views of the bytes. */
export function unpackBatch({ topics, records, bytes, sources }: PackedBatch): { readonly record: Record }[] {
  const layout = new Float64Array(bytes, 0, records * COLUMNS)
  let at = records * LAYOUT_BYTES
  const take = (length: number): Uint8Array => {
    const taken = new Uint8Array(bytes, at, length)
    at += length
    return taken
  }
  const batch: { readonly record: Record }[] = []
  for (let column = 0; column < layout.length; column += COLUMNS) {
    const timestampMs = layout[column + 1]!
    const keyBytes = layout[column + 2]!
    const headerBytes = layout[column + 3]!
    const key = keyBytes === NONE ? undefined : take(keyBytes)
    const headers = headerBytes === 0 ? undefined : unpackHeaders(take(headerBytes))
    const value = take(layout[column + 4]!)
    const topic = topics[layout[column]!]!
    const ownMs = timestampMs === NONE ? undefined : timestampMs
    const sourcePartition = sources?.[batch.length]
    batch.push({ record: { topic, key, value, headers, timestampMs: ownMs, sourcePartition } })
  }
  return batch
}

/** The memory of larger batches is not kept for the next one. */
const SPARE_BYTES = 1024 * 1024

/** Packs batches one after the other, each in the memory of the last one that has come back. */
export class BatchPacker {
  #spare: ArrayBuffer | undefined

  pack(batch: readonly { readonly record: Record }[]): PackedBatch {
    const packed = packBatch(batch, this.#spare)
    this.#spare = undefined
    return packed
  }

  /** @param bytes of a batch that the thread has transferred back */
  release(bytes: ArrayBuffer): void {
    if (bytes.byteLength <= SPARE_BYTES) this.#spare = bytes
  }
}
