import { timingSafeEqual } from "node:crypto"

/** Compares texts in a time that tells nothing but whether their lengths are equal. */
export function sameText(a: string, b: string): boolean {
  const left = Buffer.from(a)
  const right = Buffer.from(b)
  return left.length === right.length && timingSafeEqual(left, right)
}

/** Makes a test for a secret text that takes the same time for every wrong one, whatever its length. */
export function secretTest(secret: string): (text: string) => boolean {
  const expected = digest(secret)
  return (text) => timingSafeEqual(digest(text), expected)
}

const digest = (text: string): Uint8Array => new Bun.CryptoHasher("sha256").update(text).digest()
