import { expect, test } from "bun:test"
import { murmur2, partitionOf } from "./murmur2.ts"

// UtilsTest.testMurmur2 of Apache Kafka, then the unit test of librdkafka (rdmurmur2.c).
const VECTORS: readonly (readonly [key: string, hash: number])[] = [
  ["21", -973932308],
  ["foobar", -790332482],
  ["a-little-bit-long-string", -985981536],
  ["a-little-bit-longer-string", -1486304829],
  ["lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971],
  ["abc", 479470107],
  ["kafka", 0xd067cf64 | 0],
  ["giberish123456789", 0x8f552b0c | 0],
  ["1234", 0x9fc97b14 | 0],
  ["234", 0xe7c009ca | 0],
  ["34", 0x873930da | 0],
  ["4", 0x5a4b5ca1 | 0],
  ["", 0x106e08d9],
]

test.each(VECTORS)("murmur2 of %j is the Java client's", (key, hash) => {
  expect(murmur2(Buffer.from(key))).toBe(hash)
})

test("a negative hash loses its sign, as the Java client's toPositive does", () => {
  expect(partitionOf(Buffer.from("foobar"), 50)).toBe((-790332482 & 0x7fffffff) % 50)
  expect(partitionOf(Buffer.from("foobar"), 50)).toBe(16)
})
