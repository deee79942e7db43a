import { expect, test } from "bun:test"
import { readRecordsBatch, Reader } from "../brokers/kafka/client-library.ts"
import { crc32c } from "../kafka-protocol/crc32c.ts"
import { encodeRecordBatch } from "./record-batch.ts"

const row = (
  offset: number,
  timestamp: number,
  value: string,
  key?: string,
  headers?: [string, string][],
) => ({
  offset,
  timestamp,
  key: key === undefined ? null : Buffer.from(key),
  headers: headers === undefined ? null : packed(headers.flat()),
  value: Buffer.from(value),
})

/** Each after its length. */
const packed = (parts: readonly string[]): Buffer =>
  Buffer.concat(
    parts.flatMap((part) => {
      const length = Buffer.alloc(4)
      length.writeUInt32LE(Buffer.byteLength(part))
      return [length, Buffer.from(part)]
    }),
  )

test("a batch is read by the client library as the rows were", () => {
  const rows = [
    row(1_000_000, 1_795_000_000_500, '{"n":1}'),
    // the clock was set back
    row(1_000_001, 1_795_000_000_000, "é".repeat(5000), "key", [
      ["a", "1"],
      ["é", ""],
    ]),
    row(1_000_002, 1_795_000_900_000, "", ""),
  ]
  const { bytes, endOffset } = encodeRecordBatch(rows, 1_000_000)!
  expect(endOffset).toBe(1_000_003)
  const batch = readRecordsBatch(Reader.from(bytes))
  expect(batch).toMatchObject({
    firstOffset: 1_000_000n,
    firstTimestamp: 1_795_000_000_500n,
    maxTimestamp: 1_795_000_900_000n,
    lastOffsetDelta: 2,
    magic: 2,
    producerId: -1n,
  })
  expect(batch.crc >>> 0).toBe(crc32c(bytes.subarray(21)))
  const records = batch.records.map((it) => ({
    offset: Number(batch.firstOffset) + it.offsetDelta,
    timestamp: Number(batch.firstTimestamp + it.timestampDelta),
    key: it.key === null ? null : it.key.toString(),
    value: String(it.value),
    headers: [...it.headers].map(([name, value]) => `${String(name)}=${String(value)}`),
  }))
  expect(records).toEqual([
    { offset: 1_000_000, timestamp: 1_795_000_000_500, key: null, value: '{"n":1}', headers: [] },
    {
      offset: 1_000_001,
      timestamp: 1_795_000_000_000,
      key: "key",
      value: "é".repeat(5000),
      headers: ["a=1", "é="],
    },
    { offset: 1_000_002, timestamp: 1_795_000_900_000, key: "", value: "", headers: [] },
  ])
})

test("a batch has what fits, and its first record however large", () => {
  const rows = [row(0, 0, "x".repeat(1000)), row(1, 0, "y"), row(2, 0, "z")]
  expect(encodeRecordBatch(rows, 0)?.endOffset).toBe(1)
  const whole = encodeRecordBatch(rows, 10_000)!.bytes.length
  expect(encodeRecordBatch(rows, whole)?.endOffset).toBe(3)
  expect(encodeRecordBatch(rows, whole - 1)?.endOffset).toBe(2)
  expect(encodeRecordBatch([], 1000)).toBeUndefined()
})
