import { expect, test } from "bun:test"
import { KeptBatches } from "./kept-batches.ts"

const MIB = 1024 * 1024
let nowMs = 0
const batch = (firstOffset: number, bytes = MIB) => ({
  bytes: Buffer.alloc(bytes),
  firstOffset,
  endOffset: firstOffset + 10,
})

test("four megabytes of batches are kept, until they are taken or nobody wants them", () => {
  const kept = new KeptBatches(() => nowMs)
  for (let n = 0; n < 4; n++) {
    expect(kept.hasRoom(MIB)).toBe(true)
    nowMs += 100
    kept.add(`1 ${n}`, batch(n * 10))
  }
  expect(kept.hasRoom(MIB)).toBe(false)
  expect(kept.take("1 1", MIB)?.firstOffset).toBe(10)
  expect(kept.take("1 1", MIB)).toBeUndefined()
  expect(kept.hasRoom(MIB)).toBe(true)
  kept.add("2 1", batch(10))
  expect(kept.hasRoom(MIB)).toBe(false)
  nowMs += 701
  // the first one is a second old
  expect(kept.hasRoom(MIB)).toBe(true)
  expect(kept.take("1 0", MIB)).toBeUndefined()
  expect(kept.take("1 2", MIB)?.firstOffset).toBe(20)
})

test("a batch that is larger than a consumer asks for is dropped", () => {
  const kept = new KeptBatches(() => nowMs)
  kept.add("1 10", batch(10, 100))
  expect(kept.take("1 10", 99)).toBeUndefined()
  // the consumer reads less at once than when it was read
  expect(kept.take("1 10", 100)).toBeUndefined()
})

test("where batches do not fit, the one that was read first makes room", () => {
  const kept = new KeptBatches(() => nowMs)
  for (let n = 0; n < 5; n++) kept.add(`${n} 0`, batch(0))
  expect(kept.get("0 0")).toBeUndefined()
  expect(kept.get("1 0")).toBeDefined()
})
