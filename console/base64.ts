/** The bytes of base64 text. */
export const bytesOfBase64 = (base64: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
const lenient = new TextDecoder("utf-8", { ignoreBOM: true })

/** Text of bytes; undefined: they are not UTF-8. */
export function textOf(bytes: Uint8Array): string | undefined {
  try {
    return strict.decode(bytes)
  } catch {
    return undefined
  }
}

/** Text of bytes for display, with � for what is not UTF-8. */
export const shownTextOf = (bytes: Uint8Array): string => lenient.decode(bytes)
