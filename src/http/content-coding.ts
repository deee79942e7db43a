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

/** The decoded bytes, or the reason for a refusal. */
export type Decoded = Uint8Array | "invalid" | "too_large"
export type Decoder = (bytes: Uint8Array, maxBytes: number) => Decoded

/**
 * Decoders by content coding (RFC 9110, 8.4.1; RFC 9659 for zstd and its window of at most 8 MiB). Synchronous, not
 * streamed: the native decoder stops once it has produced more than `maxBytes`, so a bomb costs no more memory than
 * that and the coding's window (at most 16 MiB, Brotli's). A usual body costs 6 to 9 us.
 */
const DECODERS: { readonly [coding: string]: Decoder } = {
  gzip: decoder(gunzipSync),
  "x-gzip": decoder(gunzipSync),
  // the RFC requires zlib's wrapping, which some senders omit
  deflate: (bytes, maxBytes) => (isZlib(bytes) ? inflate : inflateRaw)(bytes, maxBytes),
  br: decoder(brotliDecompressSync),
  zstd: (bytes, maxBytes) => (isWholeZstdFrames(bytes) ? zstd(bytes, maxBytes) : "invalid"),
}

const inflate = decoder(inflateSync)
const inflateRaw = decoder(inflateRawSync)
const zstd = decoder(zstdDecompressSync, { params: { [constants.ZSTD_d_windowLogMax]: 23 } })

/** Supported codings, as a value of Accept-Encoding. */
export const ACCEPTED_CODINGS = "gzip, deflate, br, zstd"

/** @returns undefined: nothing to decode (`identity`); "unknown" also for several codings */
export function decoderFor(contentEncoding: string): Decoder | "unknown" | undefined {
  const coding = contentEncoding.trim().toLowerCase()
  if (coding === "identity" || coding === "") return undefined
  return Object.hasOwn(DECODERS, coding) ? DECODERS[coding]! : "unknown"
}

/** The result of a one-shot decoder with `info`; `engine.bytesWritten` counts the bytes consumed. */
type Info = { buffer: Uint8Array; engine: { bytesWritten: number } }
type OneShot = (bytes: Uint8Array, options: ZlibOptions & ZstdOptions) => unknown

function decoder(oneShot: OneShot, options: ZstdOptions = {}): Decoder {
  return (bytes, maxBytes) => {
    try {
      const decoded = oneShot(bytes, { ...options, info: true, maxOutputLength: maxBytes }) as Info
      // otherwise trailing bytes would be dropped silently
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

const ZSTD_MAGIC = 0xfd2fb528
const SKIPPABLE_MAGIC = 0x184d2a50
const RLE_BLOCK = 1

/**
 * Whether bytes are whole Zstandard frames and nothing else. The decoder silently accepts truncated frames (Bun 1.4.5,
 * and Node), so this finds the frames' ends; the decoder validates their contents.
 *
 *     frame  magic(4) descriptor(1) window(0-1) dictionary id(0-4) content size(0-8) block... checksum(0 or 4)
 *     block  header(3, little endian: bit 0 last, bits 1-2 type, then its size) and its bytes; one byte for a run (RLE)
 *
 * @see https://www.rfc-editor.org/rfc/rfc8878#section-3.1
 */
export function isWholeZstdFrames(bytes: Uint8Array): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let at = 0
  while (at + 4 <= bytes.length) {
    const magic = view.getUint32(at, true)
    if (magic === ZSTD_MAGIC) at = endOfFrame(view, at + 4)
    else if ((magic & 0xfffffff0) >>> 0 === SKIPPABLE_MAGIC && at + 8 <= bytes.length)
      at += 8 + view.getUint32(at + 4, true)
    else return false
  }
  return at === bytes.length && at > 0
}

/** The end of the frame whose magic number ends at `start`; past the last byte if truncated. */
function endOfFrame(view: DataView, start: number): number {
  const cutShort = view.byteLength + 1
  if (start >= view.byteLength) return cutShort
  const descriptor = view.getUint8(start)
  const singleSegment = (descriptor >> 5) & 1
  const contentSizeFlag = descriptor >> 6
  const contentSizeBytes = contentSizeFlag === 0 ? singleSegment : 1 << contentSizeFlag
  const dictionaryIdBytes = [0, 1, 2, 4][descriptor & 3]!
  let at = start + 1 + (1 - singleSegment) + dictionaryIdBytes + contentSizeBytes
  for (let last = false; !last;) {
    if (at + 3 > view.byteLength) return cutShort
    const header = view.getUint16(at, true) | (view.getUint8(at + 2) << 16)
    last = (header & 1) === 1
    at += 3 + (((header >> 1) & 3) === RLE_BLOCK ? 1 : header >> 3)
  }
  return at + ((descriptor >> 2) & 1) * 4
}
