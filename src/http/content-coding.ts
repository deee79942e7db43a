import {
  brotliDecompressSync,
  constants,
  gunzipSync,
  inflateRawSync,
  inflateSync,
  zstdDecompressSync,
  type ZlibOptions,
  type ZstdOptions,
} from "node:zlib"
import { isWholeZstdFrames } from "./zstd-frames.ts"

/** The decoded bytes, or why there are none. */
export type Decoded = Uint8Array | "invalid" | "too_large"
export type Decoder = (bytes: Uint8Array, maxBytes: number) => Decoded

/**
 * Decoders by content coding (RFC 9110, 8.4.1; RFC 9659 for zstd and its window of at most 8 MiB). They run at once,
 * not streamed: the native decoder stops as soon as it has made more than `maxBytes`, so that a bomb costs no more
 * memory than those and the coding's window (16 MiB at most, Brotli's), and a usual body costs 6 to 9 us.
 */
const DECODERS: { readonly [coding: string]: Decoder } = {
  gzip: decoder(gunzipSync),
  "x-gzip": decoder(gunzipSync),
  // by the RFC in zlib's wrapping, but some senders leave it out
  deflate: (bytes, maxBytes) => (isZlib(bytes) ? inflate : inflateRaw)(bytes, maxBytes),
  br: decoder(brotliDecompressSync),
  zstd: (bytes, maxBytes) => (isWholeZstdFrames(bytes) ? zstd(bytes, maxBytes) : "invalid"),
}

const inflate = decoder(inflateSync)
const inflateRaw = decoder(inflateRawSync)
const zstd = decoder(zstdDecompressSync, { params: { [constants.ZSTD_d_windowLogMax]: 23 } })

/** The codings that are understood, as a value of Accept-Encoding. */
export const ACCEPTED_CODINGS = "gzip, deflate, br, zstd"

/**
 * Finds how to decode a body.
 *
 * @param contentEncoding the header; null and `identity` mean that there is nothing to decode
 * @returns undefined for no decoding, "unknown" for a coding that isn't known, or several of them: nobody sends those
 */
export function decoderFor(contentEncoding: string | null): Decoder | "unknown" | undefined {
  if (contentEncoding === null) return undefined
  const coding = contentEncoding.trim().toLowerCase()
  if (coding === "identity" || coding === "") return undefined
  return Object.hasOwn(DECODERS, coding) ? DECODERS[coding]! : "unknown"
}

/** With `info` a one-shot decoder gives the engine beside the bytes; its `bytesWritten` is what it has consumed. */
type Info = { buffer: Uint8Array; engine: { bytesWritten: number } }
type OneShot = (bytes: Uint8Array, options: ZlibOptions & ZstdOptions) => unknown

function decoder(oneShot: OneShot, options: ZstdOptions = {}): Decoder {
  return (bytes, maxBytes) => {
    try {
      const decoded = oneShot(bytes, { ...options, info: true, maxOutputLength: maxBytes }) as Info
      // bytes after the end are no part of the event, and nobody would see that they were left out
      return decoded.engine.bytesWritten < bytes.length ? "invalid" : decoded.buffer
    } catch (error) {
      if (!(error instanceof Error && "code" in error)) throw error
      return error.code === "ERR_BUFFER_TOO_LARGE" ? "too_large" : "invalid"
    }
  }
}

/** RFC 1950: the method is 8 (deflate), and the first two bytes are a multiple of 31. */
function isZlib(bytes: Uint8Array): boolean {
  const [first = 0, second = 0] = bytes
  return (first & 15) === 8 && ((first << 8) | second) % 31 === 0
}
