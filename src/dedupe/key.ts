/** 128 bits: no collision by chance, and no second preimage. */
const KEY_BYTES = 16

/** Hashes texts to keys of fixed length. @param space namespace: equal texts of different spaces have different keys */
export function keysIn(space: readonly string[]): (...parts: readonly (string | Uint8Array)[]) => string {
  const prefix = JSON.stringify(space)
  return (...parts) => {
    const hash = new Bun.CryptoHasher("sha256").update(prefix)
    for (const part of parts) hash.update(part)
    return hash.digest().toString("base64url", 0, KEY_BYTES)
  }
}
