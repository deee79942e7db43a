import { expect, test } from "bun:test"
import { constants, zstdCompressSync } from "node:zlib"
import * as fc from "fast-check"
import { isWholeZstdFrames } from "./content-coding.ts"

/** Texts that give raw, run-length and compressed blocks, several of them, of every size of the content size field. */
const contents = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  fc.nat(400_000).map((length) => new Uint8Array(length)),
  fc.nat(70_000).map((length) => Uint8Array.from({ length }, (_, i) => (i * i) >> 3)),
)

const frames = fc.tuple(contents, fc.boolean(), fc.boolean()).map(([content, checksum, size]) =>
  zstdCompressSync(content, {
    params: {
      [constants.ZSTD_c_checksumFlag]: Number(checksum),
      [constants.ZSTD_c_contentSizeFlag]: Number(size),
    },
  }),
)

const skippable = Buffer.from([0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3])

test("what zstd writes is whole, alone and in a row", () => {
  fc.assert(
    fc.property(fc.array(frames, { minLength: 1, maxLength: 3 }), (several) => {
      expect(isWholeZstdFrames(Buffer.concat([...several, skippable]))).toBe(true)
    }),
    { numRuns: 50 },
  )
})

test("no part of a frame from its start is whole, nor a frame with bytes after it", () => {
  fc.assert(
    fc.property(frames, fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (frame, part) => {
      expect(isWholeZstdFrames(frame.subarray(0, Math.floor(frame.length * part)))).toBe(false)
      expect(isWholeZstdFrames(Buffer.concat([frame, Buffer.from([0])]))).toBe(false)
    }),
    { numRuns: 200 },
  )
})

test("no bytes make it throw", () => {
  const magic = [0x28, 0xb5, 0x2f, 0xfd]
  fc.assert(
    fc.property(
      fc.uint8Array(),
      (bytes) => typeof isWholeZstdFrames(Buffer.from([...magic, ...bytes])) === "boolean",
    ),
  )
})
