import { gunzipSync } from "node:zlib"
import { crc32c } from "../../../src/kafka-protocol/crc32c.ts"

/** A record batch (magic 2) as a broker reads it: https://kafka.apache.org/41/design/design/#record-batch */
export interface RecordBatch {
  readonly bytes: Buffer
  readonly producerId: bigint
  readonly producerEpoch: number
  readonly baseSequence: number
  readonly records: readonly BatchRecord[]
}

export interface BatchRecord {
  readonly key: Buffer | undefined
  readonly value: Buffer
}

/** @returns undefined: damaged */
export function readBatch(bytes: Buffer): RecordBatch | undefined {
  if (bytes.length < HEADER_BYTES || bytes.readInt32BE(8) !== bytes.length - 12 || bytes[16] !== 2)
    return undefined
  if (crc32c(bytes.subarray(21)) !== bytes.readUInt32BE(17)) return undefined
  const packed = bytes.subarray(HEADER_BYTES)
  const body = (bytes.readInt16BE(21) & 7) === GZIP ? gunzipSync(packed) : packed
  let at = 0
  const varint = (): number => {
    let value = 0
    for (let factor = 1; ; factor *= 128) {
      const byte = body[at++]!
      value += (byte & 127) * factor
      if (byte < 128) return value % 2 === 1 ? -(value + 1) / 2 : value / 2
    }
  }
  const taken = (): Buffer | undefined => {
    const length = varint()
    if (length < 0) return undefined
    at += length
    return body.subarray(at - length, at)
  }
  const records: BatchRecord[] = []
  for (let left = bytes.readInt32BE(57); left > 0; left--) {
    const length = varint()
    const end = at + length
    at++
    varint()
    varint()
    const key = taken()
    records.push({ key, value: taken() ?? Buffer.alloc(0) })
    at = end
  }
  return {
    bytes,
    producerId: bytes.readBigInt64BE(43),
    producerEpoch: bytes.readInt16BE(51),
    baseSequence: bytes.readInt32BE(53),
    records,
  }
}

const HEADER_BYTES = 61
const GZIP = 1
