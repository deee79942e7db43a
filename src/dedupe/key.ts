/** 128 bits: nobody finds two texts whose keys come out the same by chance, or a second one for a given one at all. */
const KEY_BYTES = 16

/**
 * Makes keys of fixed length for a store that several things share.
 *
 * @param space tells one of these from the others: equal texts of different spaces have different keys
 */
export function keysIn(space: readonly string[]): (...parts: readonly (string | Uint8Array)[]) => string {
  const prefix = JSON.stringify(space)
  return (...parts) => {
    const hash = new Bun.CryptoHasher("sha256").update(prefix)
    for (const part of parts) hash.update(part)
    return hash.digest().toString("base64url", 0, KEY_BYTES)
  }
}
