import { randomBytes } from "node:crypto"
import { findFamily, makeVerifier, type ProviderRef } from "../../verify/presets/providers.ts"
import { WrongSetting, type VerifierSettings } from "../../verify/schemes/family.ts"

/** A random secret in the provider's own form; undefined: with these settings it needs something else, such as a public key. */
export function makeTestSecret(provider: ProviderRef, settings: VerifierSettings): string | undefined {
  const bytes = randomBytes(32)
  const isPrefixed = findFamily(provider)?.secretForm?.startsWith("whsec_") === true
  const secret = isPrefixed ? `whsec_${bytes.toString("base64")}` : bytes.toString("hex")
  return wrongSetting(provider, { ...settings, secret: [secret] }) === undefined ? secret : undefined
}

/** Why no Verifier can be made of the settings; undefined: one can. */
export function wrongSetting(provider: ProviderRef, settings: VerifierSettings): WrongSetting | undefined {
  try {
    makeVerifier(provider, settings)
    return undefined
  } catch (error) {
    if (error instanceof WrongSetting) return error
    throw error
  }
}
