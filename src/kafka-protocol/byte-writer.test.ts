import { expect, test } from "bun:test"
import { ByteWriter, TooLarge } from "./byte-writer.ts"

test("large bytes are a part of their own, which is not copied", () => {
  const large = Buffer.alloc(100_000, "x")
  const to = new ByteWriter(4)
  to.int32(0)
  to.int16(7)
  to.bytes(large)
  to.bytes(large.subarray(0, 50_000))
  to.bytes(large)
  to.int16(8)
  to.beginWith(to.length - 4)
  expect(to.length).toBe(250_008)
  const parts = to.parts()
  expect(parts.map(({ length }) => length)).toEqual([6, 100_000, 50_000, 100_000, 2])
  expect(parts[1]!.buffer).toBe(large.buffer)
  const written = to.written()
  expect(written.length).toBe(250_008)
  expect(written.readInt32BE(0)).toBe(250_004)
  expect(written.readInt16BE(4)).toBe(7)
  expect(written.readInt16BE(250_006)).toBe(8)
  expect(written.subarray(6, 250_006).every((byte) => byte === 120)).toBe(true)
})

test("all parts together are not larger than they may be", () => {
  const to = new ByteWriter(4, 150_000)
  to.bytes(Buffer.alloc(100_000))
  expect(() => to.bytes(Buffer.alloc(70_000))).toThrow(TooLarge)
  expect(() => to.bytes(Buffer.alloc(50_001))).toThrow(TooLarge)
  to.bytes(Buffer.alloc(50_000))
  expect(to.length).toBe(150_000)
  expect(() => to.int8(0)).toThrow(TooLarge)
})
