import { timingSafeEqual } from "node:crypto"

/** Compares texts in constant time for equal lengths. */
export function sameText(a: string, b: string): boolean {
  const left = Buffer.from(a)
  const right = Buffer.from(b)
  return left.length === right.length && timingSafeEqual(left, right)
}

/** Makes a constant-time comparison with a secret, whatever the lengths. */
export function secretTest(secret: string): (text: string) => boolean {
  const expected = digest(secret)
  return (text) => timingSafeEqual(digest(text), expected)
}

const digest = (text: string): Uint8Array => new Bun.CryptoHasher("sha256").update(text).digest()
