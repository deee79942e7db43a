import type { Family } from "../schemes/family.ts"
import type { SchemeForm } from "../schemes/scheme-form.ts"
import { PROFILES, type BodyForm, type Profile } from "./profiles.ts"
import type { OwnProvider, ProviderRef } from "./providers.ts"
import { SCHEMES, type PresetName } from "./schemes.ts"

/** All that is known of a provider: its scheme, and its profile. */
export interface Preset extends Profile {
  readonly scheme: SchemeForm | Family
}

/** The known providers by name. */
export const PRESETS: { readonly [name: string]: Preset } = Object.fromEntries(
  Object.entries(SCHEMES).map(([name, scheme]) => {
    const { title, ...rest } = PROFILES[name as PresetName]
    return [name, { title, scheme, ...rest }]
  }),
)

/** What is known of a provider; undefined: it is a generic kind, or unknown. */
export function presetOf(provider: ProviderRef): Preset | OwnProvider | undefined {
  if (typeof provider !== "string") return provider
  return Object.hasOwn(PRESETS, provider) ? PRESETS[provider] : undefined
}

/** What a provider's bodies are, as options of the Decoder; undefined: JSON objects, or the bodies are not known. */
export function decodingOf(provider: ProviderRef): Omit<BodyForm, "docs"> | undefined {
  const { docs: _, ...decoding } = presetOf(provider)?.body ?? {}
  return "format" in decoding ? decoding : undefined
}
