import { Buffer } from "node:buffer"
import { WrongSetting } from "./family.ts"

/** How a provider issues secrets, and the configuration spells them. */
export type SecretForm = "text" | "hex" | "base64" | "whsec" | "whsec or text"

export const SECRET_FORMS: { readonly [form in SecretForm]: string } = {
  text: "the secret as the provider shows it",
  hex: "hexadecimal digits",
  base64: "base64",
  whsec: "whsec_ and base64, as the provider shows it",
  "whsec or text": "the secret as the provider shows it",
}

/**
 * Decodes a secret to the key's bytes.
 *
 * @throws WrongSetting, without the secret
 */
export function decodeSecret(text: string, form: SecretForm): Uint8Array {
  if (form === "text") return Buffer.from(text)
  if (form === "whsec or text") return afterWhsec(text) ?? Buffer.from(text)
  const bytes =
    form === "hex"
      ? decodeHex(text)
      : decodeBase64(form === "whsec" ? text.replace(/^(?:v1,)?whsec_/, "") : text)
  if (bytes === undefined)
    throw new WrongSetting("secret", `has the wrong form; expected ${SECRET_FORMS[form]}`)
  return bytes
}

/** The key of a secret that is `whsec_` and base64; undefined: it is not. */
const afterWhsec = (text: string): Uint8Array | undefined =>
  text.startsWith("whsec_") ? decodeBase64(text.slice("whsec_".length)) : undefined

export const decodeHex = (text: string): Uint8Array | undefined =>
  /^(?:[0-9a-f]{2})+$/i.test(text) ? Buffer.from(text, "hex") : undefined

/** Strict base64, padded or not; undefined if malformed. */
export function decodeBase64(text: string): Uint8Array | undefined {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined
  const bytes = Buffer.from(text, "base64")
  const spelled = bytes.toString("base64")
  return spelled === text || spelled.replace(/=+$/, "") === text ? bytes : undefined
}
