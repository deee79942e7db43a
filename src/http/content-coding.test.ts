import { expect, test } from "bun:test"
import {
  brotliCompressSync,
  constants,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from "node:zlib"
import * as fc from "fast-check"
import { decoderFor, type Decoder } from "./content-coding.ts"

const codings = [
  ["gzip", gzipSync],
  ["deflate", deflateSync],
  ["deflate", deflateRawSync],
  ["br", brotliCompressSync],
  ["zstd", zstdCompressSync],
] as const

const decoder = (coding: string): Decoder => decoderFor(coding) as Decoder

test.each(codings)("%s: what was encoded comes back, up to its very length", (coding, encode) => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 500 }), (bytes) => {
      const encoded = encode(bytes)
      expect(Buffer.from(decoder(coding)(encoded, bytes.length) as Uint8Array).equals(bytes)).toBe(true)
      if (bytes.length > 1) expect(decoder(coding)(encoded, bytes.length - 1)).toBe("too_large")
    }),
    { numRuns: 50 },
  )
})

test.each(codings)("%s: any bytes get an answer", (coding) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
      const decoded = decoder(coding)(bytes, 1000)
      expect(typeof decoded === "string" || decoded.length <= 1000).toBe(true)
    }),
  )
})

test("gzip in several members is one body", () => {
  const encoded = Buffer.concat([gzipSync("one "), gzipSync("two")])
  expect(Buffer.from(decoder("gzip")(encoded, 7) as Uint8Array).toString()).toBe("one two")
})

test("a zstd window over 8 MiB is refused", () => {
  const encoded = zstdCompressSync(Buffer.alloc(1000, "ab"), {
    params: { [constants.ZSTD_c_windowLog]: 24, [constants.ZSTD_c_contentSizeFlag]: 0 },
  })
  const descriptor = encoded[4]!
  expect((descriptor >> 5) & 1).toBe(0)
  const wide = Buffer.from(encoded)
  wide[5] = (27 - 10) << 3
  expect(decoder("zstd")(wide, 10_000)).toBe("invalid")
})

test("identity wants no decoding; several codings are none that is known", () => {
  expect(["", "identity", " Identity "].map(decoderFor)).toEqual([undefined, undefined, undefined])
  expect(["gzip, gzip", "compress", "toString"].map(decoderFor)).toEqual(["unknown", "unknown", "unknown"])
})
