const ZSTD_MAGIC = 0xfd2fb528
const SKIPPABLE_MAGIC = 0x184d2a50
const RLE_BLOCK = 1

/**
 * Whether bytes are whole Zstandard frames and nothing else. The decoder takes what is cut short without a word (Bun
 * 1.4.5 as Node), so the frames' ends are looked for here; whether what they hold is sound is for the decoder to say.
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

/** Where the frame ends whose magic number ends at a position; beyond the last byte when it is cut short. */
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
