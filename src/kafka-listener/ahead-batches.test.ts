import { expect, test } from "bun:test"
import { AheadBatches } from "./ahead-batches.ts"

const MIB = 1024 * 1024
let nowMs = 0
const batch = (firstOffset: number, bytes = MIB) => ({
  bytes: Buffer.alloc(bytes),
  firstOffset,
  endOffset: firstOffset + 10,
})

test("four megabytes are kept, until they are taken or nobody wants them", () => {
  const ahead = new AheadBatches(() => nowMs)
  for (let n = 0; n < 4; n++) {
    expect(ahead.hasRoom(MIB)).toBe(true)
    nowMs += 100
    ahead.add("records_1", batch(n * 10))
  }
  expect(ahead.hasRoom(MIB)).toBe(false)
  expect(ahead.take("records_1", 10, MIB)?.firstOffset).toBe(10)
  expect(ahead.take("records_1", 10, MIB)).toBeUndefined()
  expect(ahead.hasRoom(MIB)).toBe(true)
  ahead.add("records_2", batch(10))
  expect(ahead.hasRoom(MIB)).toBe(false)
  nowMs += 701
  // the first one is a second old
  expect(ahead.hasRoom(MIB)).toBe(true)
  expect(ahead.take("records_1", 0, MIB)).toBeUndefined()
  expect(ahead.take("records_1", 20, MIB)?.firstOffset).toBe(20)
})

test("a batch is for who asks for its first record, and takes its size", () => {
  const ahead = new AheadBatches(() => nowMs)
  ahead.add("records_1", batch(10, 100))
  expect(ahead.take("records_2", 10, MIB)).toBeUndefined()
  expect(ahead.take("records_1", 11, MIB)).toBeUndefined()
  expect(ahead.take("records_1", 10, 99)).toBeUndefined()
  // it was dropped: the consumer reads less at once than when it was read
  expect(ahead.take("records_1", 10, 100)).toBeUndefined()
})
