/** Length of the longest prefix of some valid UTF-8 text (RFC 3629), into the first invalid or truncated character. */
export function endOfUtf8(bytes: Uint8Array): number {
  let at = 0
  while (at < bytes.length) {
    const lead = bytes[at]!
    at++
    if (lead < 0x80) continue
    const length = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0
    if (length === 0) return at - 1
    // the second byte's bounds exclude overlong forms, surrogates and code points beyond U+10FFFF
    let low = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80
    let high = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf
    for (let rest = length - 1; rest > 0; rest--) {
      const byte = bytes[at]
      if (byte === undefined || byte < low || byte > high) return at
      low = 0x80
      high = 0xbf
      at++
    }
  }
  return at
}
