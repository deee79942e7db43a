import type { VerifierSettings } from "../schemes/family.ts"
import type { Candidate } from "./inquiry.ts"
import { decodeBase64, decodeHex } from "../schemes/secrets.ts"

/** Likely variants of a secret, as the configuration would spell it. */
export function* otherSecrets(settings: VerifierSettings, key: "secret" | "password"): Iterable<Candidate> {
  for (const secret of settings[key] ?? []) {
    const others = [
      ["secret_around", "white space", secret.trim()],
      ["secret_around", "quotes", secret.trim().replace(/^(["'])(.*)\1$/s, "$2")],
      ["secret_form", "followed by a newline", `${secret}\n`],
      ["secret_form", "without the prefix whsec_", secret.replace(/^whsec_/, "")],
      ["secret_form", "with the prefix whsec_", `whsec_${secret}`],
      ["secret_form", "without the prefix Bearer", secret.replace(/^Bearer +/i, "")],
      ["secret_form", "with the prefix Bearer", `Bearer ${secret}`],
      ["secret_form", "used as text, not decoded from base64", Buffer.from(secret).toString("base64")],
    ] as const
    for (const [kind, detail, other] of others)
      if (other !== secret && other !== "") {
        const without = kind === "secret_around" ? "without the " : ""
        const options = { [key]: `the same, ${without}${detail}` }
        yield { mistake: { kind, detail, options }, settings: { ...settings, [key]: [other] } }
      }
  }
}

export const AS_TEXT = "used as text"

/** The HMAC keys that a text may stand for, each with its decoding. */
export function otherKeys(secret: string): [string, Uint8Array][] {
  const bare = secret.trim().replace(/^whsec_/, "")
  const keys: [string, Uint8Array][] = [[AS_TEXT, Buffer.from(secret)]]
  if (bare !== secret) keys.push(["used as text, without whsec_ or white space", Buffer.from(bare)])
  const bytes = decodeBase64(bare.replaceAll("-", "+").replaceAll("_", "/"))
  if (bytes !== undefined) keys.push(["decoded from base64", bytes])
  const digits = decodeHex(bare)
  if (digits !== undefined) keys.push(["decoded from hexadecimal", digits])
  return keys
}
