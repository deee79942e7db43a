import { expect, test } from "bun:test"
import { Reader, readRecordsBatch } from "./client-library.ts"
import { TopicFixture } from "../../../test/support/kafka-topic.ts"
import { PendingRecord } from "./pending-queue.ts"
import { EncodedBatch } from "./encoded-batch.ts"
import { BatchMemory } from "./batch-memory.ts"
import { ASIDE_BYTES, compressBatch } from "./compression.ts"
import { encodeBatch } from "./record-batch.ts"

const SEQUENCE = { producerId: 4711n, producerEpoch: 3, baseSequence: 17 }
const ALGORITHMS = ["gzip", "snappy", "lz4", "zstd"] as const

const fixture = new TopicFixture()
fixture.metadata("aaaaaaaa-0000-0000-0000-000000000000", 1)
const [partition] = fixture.topic.partitions

/** A batch of that many records of a kilobyte. */
function batchOf(count: number, memory = new BatchMemory()): EncodedBatch<unknown> {
  const records = Array.from({ length: count }, (_, at) => {
    const record = { topic: "t", value: Buffer.alloc(1000, `value ${at} `) }
    return new PendingRecord(record, Number.POSITIVE_INFINITY, () => {})
  })
  return new EncodedBatch(partition!, records, encodeBatch(records, SEQUENCE, Date.now(), memory))
}

function values({ bytes }: EncodedBatch<unknown>): (string | undefined)[] {
  const { records, ...header } = readRecordsBatch(Reader.from(bytes))
  expect(header).toMatchObject({ producerId: 4711n, producerEpoch: 3, firstSequence: 17, magic: 2 })
  return records.map(({ value }) => value?.toString())
}

test.each(ALGORITHMS)("compressed with %s a batch is smaller and reads the same", async (algorithm) => {
  for (const count of [1, 50]) {
    const batch = batchOf(count)
    const [before, { length }] = [values(batch), batch.bytes]
    compressBatch(batch, algorithm, new BatchMemory())
    await batch.compressing
    expect(batch.compressing).toBeUndefined()
    expect(batch.bytes.length).toBeLessThan(length / 2)
    expect(values(batch)).toEqual(before)
  }
})

test.each(["gzip", "zstd"] as const)(
  "a large batch is compressed with %s in another thread",
  async (algorithm) => {
    const [small, large] = [batchOf(10), batchOf(20)]
    expect(small.bytes.length).toBeLessThan(ASIDE_BYTES)
    expect(large.bytes.length).toBeGreaterThan(ASIDE_BYTES)
    const memory = new BatchMemory()
    for (const batch of [small, large]) compressBatch(batch, algorithm, memory)
    expect(small.compressing).toBeUndefined()
    expect(large.compressing).toBeInstanceOf(Promise)
    await large.compressing
  },
)

test("the memory of the plain batch is used again once it is compressed, and not before", async () => {
  const memory = new BatchMemory()
  const batch = batchOf(20, memory)
  const plain = batch.bytes
  compressBatch(batch, "gzip", memory)
  expect(memory.take(plain.length).buffer).not.toBe(plain.buffer)
  await batch.compressing
  expect(memory.take(plain.length).buffer).toBe(plain.buffer)
})
