// Hot path: every event of a verified pipeline passes here.
import { ed25519Test } from "../crypto.ts"
import { listOf, WrongSetting, type Family, type VerifierSettings } from "./family.ts"
import { hmac } from "./hmac.ts"
import { formReader, type HmacForm } from "./hmac-form.ts"
import { macKeys } from "./mac.ts"
import { decodeBase64, decodeSecret, type SecretForm } from "./secrets.ts"
import { signatureVerifier, type Key } from "./signature-verifier.ts"

/**
 * Standard Webhooks 1.0: `id.timestamp.body` signed with HMAC-SHA256 (`v1,` and base64) or Ed25519 (`v1a,`); signatures are
 * separated by spaces. Secrets are `whsec_` and base64, which `v1,` may precede, public keys `whpk_` and base64.
 *
 * @param prefix of the three headers: `webhook-`, `svix-`
 * @param secretForm `whsec or text` where the sender signs with the decoded key of newer secrets that begin with `whsec_`, and
 *   with the text of older ones: which a secret is can't be seen, so either signature is right
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
export function standardWebhooks(prefix: string, secretForm: "whsec" | "whsec or text" = "whsec"): Family {
  const form: HmacForm = {
    header: `${prefix}signature`,
    list: " ",
    prefix: "v1,",
    encoding: "base64",
    payload: "{id}.{timestamp}.{body}",
    time: { header: `${prefix}timestamp`, unit: "s" },
    id: `${prefix}id`,
    secret: secretForm,
    toleranceMs: 300_000,
  }
  const symmetric = hmac(form)
  const read = formReader({ ...form, prefix: "v1" })
  return {
    ...symmetric,
    family: "standard-webhooks",
    requires: [["secret"], ["public_key"]],
    verifier(settings) {
      const keys = [...secretKeys(settings, secretForm), ...publicKeys(settings)]
      return signatureVerifier(
        { signsUrl: false, read, spelling: SPELLING },
        keys,
        settings.tolerance ?? symmetric.toleranceMs!,
      )
    },
  }
}

const SPELLING = {
  test: /^(?:v1,[A-Za-z0-9+/]{43}=|v1a,[A-Za-z0-9+/]{86}==)$/,
  words: "v1, or v1a, and base64",
}

function secretKeys(settings: VerifierSettings, form: SecretForm): Key[] {
  if (settings.secret === undefined && settings.public_key !== undefined) return []
  const keysOf = (of: SecretForm) =>
    macKeys(
      listOf(settings, "secret").map((secret) => decodeSecret(secret, of)),
      { encoding: "base64", prefix: "v1," },
    )
  if (form !== "whsec or text") return keysOf(form)
  const older = keysOf("text")
  return keysOf(form).map((key, i) => ({ ...key, orExpected: older[i]!.expected }))
}

function publicKeys(settings: VerifierSettings): Key[] {
  if (settings.public_key === undefined) return []
  return listOf(settings, "public_key").map((text) => {
    const raw = decodeBase64(text.replace(/^whpk_/, ""))
    if (raw?.length !== 32) throw new WrongSetting("public_key", "is not whpk_ and base64 of 32 bytes")
    const isSigned = ed25519Test(raw)
    return {
      matches: (signed, signature) => {
        const bytes = signature.startsWith("v1a,") ? decodeBase64(signature.slice("v1a,".length)) : undefined
        return bytes?.length === 64 && isSigned(signed, bytes)
      },
    }
  })
}
