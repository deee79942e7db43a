import { expect, test } from "bun:test"
import { BatchMemory } from "./batch-memory.ts"

const MIB = 1024 * 1024

test("a piece that is too small for a batch is not given to it", () => {
  const memory = new BatchMemory()
  const small = memory.take(1000)
  memory.giveBack(small)
  expect(memory.take(100_000).buffer).not.toBe(small.buffer)
  expect(memory.take(16 * 1024).buffer).toBe(small.buffer)
})

test("no more than 4 MiB is kept, nor what is larger than a batch", () => {
  const memory = new BatchMemory()
  const taken = Array.from({ length: 6 }, () => memory.take(MIB))
  for (const one of taken) memory.giveBack(one)
  const again = Array.from({ length: 6 }, () => memory.take(MIB).buffer)
  expect(again.filter((buffer) => taken.some((one) => one.buffer === buffer))).toHaveLength(4)
  const large = memory.take(3 * MIB)
  memory.giveBack(large)
  expect(memory.take(3 * MIB).buffer).not.toBe(large.buffer)
})

test("bytes that were not taken here, as compressed ones, are left alone", () => {
  const memory = new BatchMemory()
  const pooled = Buffer.from("compressed")
  memory.giveBack(pooled)
  expect(memory.take(8).buffer).not.toBe(pooled.buffer)
})
