import { expect, test } from "bun:test"
import { readRecordsBatch, Reader, Writer, crc32c as crc32cOfLibrary } from "@platformatic/kafka"
import { crc32c, portable } from "./crc32c.ts"
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

test.each([
  ["native, where there is a module", crc32c],
  ["in WebAssembly", portable()],
])("the checksum is that of the client library: %s", (_, crc32c) => {
  expect(crc32c(Buffer.from("123456789"))).toBe(0xe3069283)
  const bytes = crypto.getRandomValues(new Uint8Array(1000))
  for (let length = 0; length < 40; length++) {
    const part = bytes.subarray(3, 3 + length)
    const given = Writer.create().append(Buffer.from(part)).dynamicBuffer
    if (length > 0) expect(crc32c(part)).toBe(crc32cOfLibrary(given))
  }
})

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
