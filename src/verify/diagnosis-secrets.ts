import type { Mistake } from "./diagnosis-words.ts"
import { decodeBase64 } from "./secrets.ts"

/** A secret that may be the right one, as the configuration would spell it. */
export interface OtherSecret {
  readonly mistake: Mistake
  readonly secret: string
}

/** What a secret may have to look like instead. */
export function otherSecrets(secret: string): OtherSecret[] {
  const others: OtherSecret[] = []
  const add = (kind: "secret_around" | "secret_form", detail: string, other: string): void => {
    if (other !== secret && other !== "") others.push({ mistake: { kind, detail }, secret: other })
  }
  add("secret_around", "white space", secret.trim())
  add("secret_around", "quotes", secret.trim().replace(/^(["'])(.*)\1$/s, "$2"))
  add("secret_form", "with a newline after it", `${secret}\n`)
  add("secret_form", "without whsec_ before it", secret.replace(/^whsec_/, ""))
  add("secret_form", "with whsec_ before it", `whsec_${secret}`)
  add("secret_form", "without Bearer before it", secret.replace(/^Bearer +/i, ""))
  add("secret_form", "with Bearer before it", `Bearer ${secret}`)
  add("secret_form", "used as text, not decoded from base64", Buffer.from(secret).toString("base64"))
  return others
}

/** The bytes that a text may stand for as the key of an HMAC, each with how it is read. */
export function otherKeys(secret: string): [string, Uint8Array][] {
  const bare = secret.trim().replace(/^whsec_/, "")
  const keys: [string, Uint8Array][] = [["used as text", Buffer.from(secret)]]
  if (bare !== secret) keys.push(["used as text, without whsec_ or white space", Buffer.from(bare)])
  const bytes = decodeBase64(bare.replaceAll("-", "+").replaceAll("_", "/"))
  if (bytes !== undefined) keys.push(["decoded from base64", bytes])
  if (/^(?:[0-9a-f]{2})+$/i.test(bare)) keys.push(["decoded from hexadecimal", Buffer.from(bare, "hex")])
  return keys
}
