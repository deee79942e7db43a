import { expect, test } from "bun:test"
import { constants, gzipSync, zstdCompressSync } from "node:zlib"
import { decoderFor, type Decoder } from "./content-coding.ts"

const decoder = (coding: string): Decoder => decoderFor(coding) as Decoder

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
