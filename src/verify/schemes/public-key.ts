import { Buffer } from "node:buffer"
import { createPrivateKey, createPublicKey, type KeyObject } from "node:crypto"
import { WrongSetting } from "./family.ts"
import { decodeBase64 } from "./secrets.ts"

const PUBLIC_KEY_FORM = "a public key as PEM, base64 of DER or a JWK; for Ed25519 also its 32 bytes in hex"

/**
 * Imports a public key.
 *
 * @param types accepted key types: `ed25519`, `ec`, `rsa`
 * @throws WrongSetting
 */
export function importPublicKey(text: string, types: readonly string[]): KeyObject {
  const wrong = new WrongSetting("public_key", `is not ${PUBLIC_KEY_FORM} (${types.join(" or ")})`)
  let key: KeyObject
  try {
    key = read(text.trim())
  } catch {
    throw wrong
  }
  if (key.type !== "public" || !types.includes(key.asymmetricKeyType ?? "")) throw wrong
  const short = shortRsa(key.asymmetricKeyDetails?.modulusLength)
  if (short !== undefined) throw new WrongSetting("public_key", `is ${short}`)
  return key
}

/** NIST SP 800-131A, section 3: signatures by shorter keys are no proof. RFC 7518 (3.3) requires it of JWTs. */
const LEAST_RSA_BITS = 2048

/** What is wrong with an RSA key of so many bits; undefined: nothing, or it is a key of another kind. */
export const shortRsa = (bits: number | undefined): string | undefined =>
  bits !== undefined && bits < LEAST_RSA_BITS
    ? `an RSA key of ${bits} bits; at least ${LEAST_RSA_BITS} are required`
    : undefined

function read(text: string): KeyObject {
  if (text.startsWith("-----BEGIN")) return createPublicKey(text)
  if (text.startsWith("{")) return createPublicKey({ key: JSON.parse(text), format: "jwk" })
  if (/^[0-9a-f]{64}$/i.test(text)) return ed25519(Buffer.from(text, "hex"))
  const der = decodeBase64(text)
  if (der?.length === 32) return ed25519(der)
  return createPublicKey({ key: Buffer.from(der ?? []), format: "der", type: "spki" })
}

/** RFC 8037 */
export function ed25519(raw: Uint8Array): KeyObject {
  const x = Buffer.from(raw).toString("base64url")
  return createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" })
}

/**
 * Imports the private key that a signer has as its secret.
 *
 * @throws WrongSetting
 */
export function importPrivateKey(text: string): KeyObject {
  try {
    return createPrivateKey(text)
  } catch {
    throw new WrongSetting("secret", "is not a PEM private key (PKCS #8), which signing requires")
  }
}
