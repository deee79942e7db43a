import assert from "node:assert/strict"
import {
  brotliCompressSync,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from "node:zlib"
import { decoderFor } from "../../../src/http/content-coding.ts"
import type { Target } from "../target.ts"

const MOST_BYTES = 64 * 1024
const TEXT = Buffer.from('{"a":[1,2,3],"text":"aaaaaaaaaaaaaaaaaaaaaaaaaaaa"}')

const CODINGS = [
  { coding: "gzip", encode: gzipSync, stream: createGunzip },
  { coding: "deflate", encode: deflateSync, stream: createInflate },
  { coding: "deflate", encode: deflateRawSync, stream: createInflateRaw },
  { coding: "br", encode: brotliCompressSync, stream: createBrotliDecompress },
  { coding: "zstd", encode: zstdCompressSync, stream: createZstdDecompress },
] as const

/** What the streaming decoder makes of bytes; undefined: it fails. */
async function streamed(
  bytes: Uint8Array,
  stream: (typeof CODINGS)[number]["stream"],
): Promise<Buffer | undefined> {
  const decoder = stream()
  try {
    decoder.end(bytes)
    return Buffer.concat((await Array.fromAsync(decoder)) as Buffer[])
  } catch {
    return undefined
  }
}

/** First byte: the coding, and whether the rest is encoded before it is decoded. */
export const contentCoding: Target = {
  name: "content-coding",
  seeds: CODINGS.flatMap(({ encode }, at) => [
    Buffer.concat([Buffer.of(at), encode(TEXT)]),
    Buffer.concat([Buffer.of(at + 128), TEXT]),
  ]),
  words: ["\u001f", "(", "aaaaaaaa"],
  async check(bytes) {
    const [first = 0, ...rest] = bytes
    const given = Uint8Array.from(rest)
    const { coding, encode, stream } = CODINGS[(first & 127) % CODINGS.length]!
    const decode = decoderFor(coding)
    assert.ok(typeof decode === "function")
    if (first < 128) {
      const decoded = decode(given, MOST_BYTES)
      if (typeof decoded === "string") return
      assert.ok(decoded.length <= MOST_BYTES)
      // without its wrapping, deflate is told by the first bytes
      const own =
        coding === "deflate"
          ? await Promise.all([createInflate, createInflateRaw].map((it) => streamed(given, it)))
          : [await streamed(given, stream)]
      assert.ok(
        own.some((one) => one?.equals(decoded) === true),
        "the streaming decoder says otherwise",
      )
      return
    }
    const encoded = encode(given)
    // what looks like zlib's wrapping is taken for it
    if (encode === deflateRawSync && (encoded[0]! & 15) === 8) return
    assert.deepEqual(Buffer.from(decode(encoded, MOST_BYTES) as Uint8Array), Buffer.from(given))
    assert.equal(decode(encoded.subarray(0, -1), MOST_BYTES), "invalid", "cut short")
    assert.equal(decode(Buffer.concat([encoded, Buffer.of(0)]), MOST_BYTES), "invalid", "followed by a byte")
    if (given.length > 1) assert.equal(decode(encoded, given.length - 1), "too_large")
  },
}
