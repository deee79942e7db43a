/*
 * What verification uses of node:buffer, for runtimes that have none, such as browsers. In their bundles it takes its place
 * (scripts/build-verify.ts); its behaviour is Node's.
 */

type Encoding = "utf8" | "hex" | "base64" | "base64url" | "latin1"

/** Parts are of the class of the whole, at run time in any case. */
// oxlint-disable-next-line no-unsafe-declaration-merging -- an override that only says so would be bundled
interface Bytes {
  subarray(begin?: number, end?: number): Bytes
}
class Bytes extends Uint8Array {
  override toString(encoding: Encoding = "utf8"): string {
    if (encoding === "utf8") return TEXT.decode(this)
    if (encoding === "hex") return Array.from(this, (byte) => byte.toString(16).padStart(2, "0")).join("")
    let text = ""
    // as many arguments as every engine takes
    for (let at = 0; at < this.length; at += 8192)
      text += String.fromCharCode(...this.subarray(at, at + 8192))
    if (encoding === "latin1") return text
    const encoded = btoa(text)
    return encoding === "base64"
      ? encoded
      : encoded.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")
  }

  equals(other: Uint8Array): boolean {
    return this.length === other.length && this.every((byte, i) => byte === other[i])
  }

  /** Of a byte or of bytes. */
  override indexOf(sought: number | Uint8Array, from = 0): number {
    if (typeof sought === "number") return super.indexOf(sought, from)
    for (let at = super.indexOf(sought[0]!, from); at >= 0; at = super.indexOf(sought[0]!, at + 1))
      if (sought.every((byte, i) => byte === this[at + i])) return at
    return -1
  }
}

/** A byte-order mark is a character, as it is for Node. */
const TEXT = new TextDecoder("utf-8", { ignoreBOM: true })
const STRICT = new TextDecoder("utf-8", { fatal: true })

function from(
  content: string | ArrayBufferLike | ArrayLike<number>,
  encodingOrOffset: Encoding | number = "utf8",
  length?: number,
): Bytes {
  if (content instanceof ArrayBuffer) return new Bytes(content, Number(encodingOrOffset) || 0, length)
  if (typeof content !== "string") return new Bytes(content as ArrayLike<number>)
  if (encodingOrOffset === "hex")
    return new Bytes(
      (/^(?:[0-9a-f]{2})*/i.exec(content)![0].match(/../g) ?? []).map((it) => Number.parseInt(it, 16)),
    )
  if (encodingOrOffset === "utf8") return new Bytes(new TextEncoder().encode(content))
  const text =
    encodingOrOffset === "latin1"
      ? content
      : decoded(
          content
            .replaceAll("-", "+")
            .replaceAll("_", "/")
            .replaceAll(/[^A-Za-z0-9+/]/g, ""),
        )
  return new Bytes(Array.from(text, (it) => it.charCodeAt(0)))
}

/** A single last digit says nothing of a byte. */
const decoded = (digits: string): string => atob(digits.length % 4 === 1 ? digits.slice(0, -1) : digits)

const STATIC = {
  from,
  concat(pieces: readonly Uint8Array[]): Bytes {
    const all = new Bytes(pieces.reduce((sum, { length }) => sum + length, 0))
    let at = 0
    for (const piece of pieces) {
      all.set(piece, at)
      at += piece.length
    }
    return all
  },
  allocUnsafe: (length: number): Bytes => new Bytes(length),
  byteLength: (text: string): number => from(text).length,
}

export type Buffer = Bytes
export const Buffer: (abstract new () => Bytes) & typeof STATIC = Object.assign(Bytes, STATIC)

/** As node:buffer has it. */
export function isUtf8(bytes: Uint8Array): boolean {
  try {
    STRICT.decode(bytes)
    return true
  } catch {
    return false
  }
}
