import { WrongSetting, type SettingKey } from "./family.ts"

/** How a provider hands out secrets, and so how they are written in the configuration. */
export type SecretForm = "text" | "hex" | "base64" | "whsec"

/** In words, for messages and lists. */
export const SECRET_FORMS: { readonly [form in SecretForm]: string } = {
  text: "the secret as the provider shows it",
  hex: "hexadecimal digits",
  base64: "base64",
  whsec: "whsec_ and base64, as the provider shows it",
}

/**
 * The key's bytes.
 *
 * @throws WrongSetting naming the right form, without the secret
 */
export function decodeSecret(text: string, form: SecretForm, key: SettingKey = "secret"): Uint8Array {
  switch (form) {
    case "text":
      return Buffer.from(text)
    case "hex":
      if (!/^(?:[0-9a-f]{2})+$/i.test(text)) throw wrongForm(key, form)
      return Buffer.from(text, "hex")
    case "base64":
      return decodeBase64(text) ?? refuse(key, form)
    case "whsec":
      return decodeBase64(text.startsWith("whsec_") ? text.slice("whsec_".length) : text) ?? refuse(key, form)
  }
}

/** Strict base64, padded or not; undefined when it is something else. */
export function decodeBase64(text: string): Uint8Array | undefined {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined
  const bytes = Buffer.from(text, "base64")
  const spelled = bytes.toString("base64")
  return spelled === text || spelled.replace(/=+$/, "") === text ? bytes : undefined
}

function refuse(key: SettingKey, form: SecretForm): never {
  throw wrongForm(key, form)
}

const wrongForm = (key: SettingKey, form: SecretForm): WrongSetting =>
  new WrongSetting(key, `is not of the right form: ${SECRET_FORMS[form]}`)
