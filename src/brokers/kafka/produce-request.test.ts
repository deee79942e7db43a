import { describe, expect, test } from "bun:test"
import { produceV11, produceV7, produceV9, Writer } from "./client-library.ts"
import { pino } from "pino"
import { Accumulator } from "./accumulator.ts"
import { BatchMemory } from "./batch-memory.ts"
import { EncodedBatch } from "./encoded-batch.ts"
import { Partition, type Batch } from "./partition.ts"
import { byTopic, decodeResponse } from "./produce-request.ts"
import { ProducerId } from "./epoch-and-sequence.ts"

const LONG_NAME = "ü".repeat(100)
const VERSIONS = [produceV7, produceV9, produceV11].map(({ api }) => ({
  version: api.version,
  compact: api.version >= 9,
}))

const log = pino({ level: "silent" })
const metrics = { batch() {}, retried() {}, connected() {}, incident() {} }
const producerId = new ProducerId(log, metrics, () => {})
const memory = new BatchMemory()
const context = { log, metrics, compression: "none", producerId, memory } as const
const topicOf = (name: string): Accumulator => new Accumulator(name, context)
const batchOf = (topic: Accumulator, index: number, bytes: Buffer): Batch =>
  new EncodedBatch(new Partition(topic, index), [], bytes)

const [a, b] = [topicOf("a"), topicOf(LONG_NAME)]
const batches = [
  batchOf(a, 0, Buffer.from("first")),
  batchOf(b, 499, Buffer.alloc(20_000, "x")),
  batchOf(a, 70_000, Buffer.alloc(127, "y")),
]
const sent = byTopic(batches)

interface PartitionResponse {
  readonly index: number
  readonly errorCode: number
  readonly baseOffset: bigint
  readonly errors?: string[]
  readonly message?: string
}

/** A response as the protocol has it in a version, with a tagged field in each structure where there are any. */
function response(version: number, topics: [name: string, said: PartitionResponse[]][]): Buffer {
  const compact = version >= 9
  const writer = Writer.create()
  const tags = (): void => {
    if (compact)
      writer.appendUnsignedVarInt(1).appendUnsignedVarInt(99).appendUnsignedVarInt(3).append(Buffer.alloc(3))
  }
  writer.appendArray(
    topics,
    (_, [name, partitions]) => {
      writer.appendString(name, compact).appendArray(
        partitions,
        (_, { index, errorCode, baseOffset, errors = [], message = null }) => {
          writer.appendInt32(index).appendInt16(errorCode).appendInt64(baseOffset)
          writer.appendInt64(-1n).appendInt64(5n)
          if (compact) {
            writer.appendArray(
              errors,
              (_, error, at) => {
                writer.appendInt32(at).appendString(error, compact)
                tags()
              },
              compact,
              false,
            )
            writer.appendString(message, compact)
          }
          tags()
        },
        compact,
        false,
      )
      tags()
    },
    compact,
    false,
  )
  writer.appendInt32(0)
  tags()
  return writer.buffer
}

const FAR = 2n ** 40n + 2n ** 31n + 7n
const TOPICS: [string, PartitionResponse[]][] = [
  [LONG_NAME, [{ index: 499, errorCode: 0, baseOffset: FAR }]],
  ["another", [{ index: 0, errorCode: 0, baseOffset: 3n }]],
  [
    "a",
    [
      { index: 70_000, errorCode: 87, baseOffset: -1n, errors: ["bad", ""], message: "a record is bad" },
      { index: 1, errorCode: 0, baseOffset: 4n },
      { index: 0, errorCode: 0, baseOffset: 0n },
    ],
  ],
]

describe.each(VERSIONS)("the answer to it, version $version", ({ version }) => {
  const body = response(version, TOPICS)

  test("has what the broker says of each batch, in whatever order", () => {
    expect(decodeResponse(body, version, sent)).toEqual([
      { batch: batches[1]!, errorCode: 0, baseOffset: Number(FAR) },
      { batch: batches[2]!, errorCode: 87, baseOffset: -1 },
      { batch: batches[0]!, errorCode: 0, baseOffset: 0 },
    ])
  })

  test("is not taken when it is cut off", () => {
    const lastTags = version >= 9 ? 6 : 0
    for (let length = 0; length < body.length - lastTags; length++)
      expect(() => decodeResponse(body.subarray(0, length), version, sent)).toThrow(RangeError)
  })
})
