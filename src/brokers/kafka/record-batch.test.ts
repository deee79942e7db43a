import { describe, expect, test } from "bun:test"
import { Reader, readRecordsBatch } from "./client-library.ts"
import type { Record } from "../../pipeline/record.ts"
import { BatchMemory } from "./batch-memory.ts"
import { BATCH_HEADER_BYTES } from "../../kafka-protocol/batch-header.ts"
import { encodeBatch, recordBytes } from "./record-batch.ts"

const SEQUENCE = { producerId: 4711n, producerEpoch: 3, baseSequence: 17 }
const AT = Date.UTC(2026, 10, 20)

const encode = (records: readonly Record[]): Buffer =>
  encodeBatch(
    records.map((record) => ({ record })),
    SEQUENCE,
    AT,
    new BatchMemory(),
  )

const ofLength = (length: number): Record => ({ topic: "t", value: Buffer.alloc(length, "v") })

describe("a record batch", () => {
  test("gives each record its own time, or the batch's", () => {
    const value = Buffer.from("v")
    const times = [AT - 1000, undefined, AT - 90_000_000, AT + 5]
    const records = times.map((timestampMs) => ({ topic: "t", value, timestampMs }))
    const batch = readRecordsBatch(Reader.from(encode(records)))
    expect(batch).toMatchObject({ firstTimestamp: BigInt(AT - 90_000_000), maxTimestamp: BigInt(AT + 5) })
    expect(batch.records.map(({ timestampDelta }) => Number(batch.firstTimestamp + timestampDelta))).toEqual(
      times.map((ms) => ms ?? AT),
    )
  })

  test("is read by the client library as it was written", () => {
    const records: Record[] = [
      { topic: "t", value: Buffer.from("first") },
      { topic: "t", key: Buffer.from("k"), value: Buffer.alloc(0), headers: [] },
      {
        topic: "t",
        key: Buffer.alloc(0),
        value: Buffer.from("third"),
        headers: [
          ["naïve", Buffer.from([0, 255])],
          ["naïve", Buffer.alloc(0)],
        ],
      },
    ]
    const batch = readRecordsBatch(Reader.from(encode(records)))
    expect(batch).toMatchObject({
      firstOffset: 0n,
      magic: 2,
      attributes: 0,
      lastOffsetDelta: 2,
      partitionLeaderEpoch: -1,
    })
    expect(batch).toMatchObject({ firstTimestamp: BigInt(AT), maxTimestamp: BigInt(AT) })
    expect(batch).toMatchObject({ producerId: 4711n, producerEpoch: 3, firstSequence: 17 })
    const read = batch.records.map(({ key, value, headers, offsetDelta }) => ({
      offsetDelta,
      key: key?.toString(),
      value: value?.toString(),
      headers: [...headers].map(([name, content]) => [name?.toString(), [...(content ?? [])]]),
    }))
    expect(read).toEqual([
      { offsetDelta: 0, key: undefined, value: "first", headers: [] },
      { offsetDelta: 1, key: "k", value: "", headers: [] },
      {
        offsetDelta: 2,
        key: "",
        value: "third",
        headers: [
          ["naïve", [0, 255]],
          ["naïve", []],
        ],
      },
    ])
  })

  test("has lengths that are right where a varint grows", () => {
    for (const length of [
      0, 1, 55, 56, 57, 58, 63, 64, 8183, 8184, 8185, 8191, 8192, 1_048_560, 1_048_575, 1_048_576,
    ]) {
      const records = [ofLength(length), ofLength(length)]
      const read = readRecordsBatch(Reader.from(encode(records)))
      expect(read.records.map(({ value }) => value?.length)).toEqual([length, length])
    }
  })

  test("never takes more than its records were said to take", () => {
    for (const length of [0, 57, 63, 64, 8184, 8192, 1_048_570]) {
      expect(encode([ofLength(length)]).length).toBeLessThanOrEqual(
        BATCH_HEADER_BYTES + recordBytes(ofLength(length)),
      )
    }
    const many = Array.from({ length: 8192 }, () => ofLength(40))
    const said = many.reduce((total, record) => total + recordBytes(record), BATCH_HEADER_BYTES)
    expect(encode(many).length).toBeLessThanOrEqual(said)
  })
})
