import { rootCertificates } from "node:tls"
import { nearest } from "../../config/file/nearest.ts"
import { WrongSetting, type Family, type SettingKey, type VerifierSettings } from "../schemes/family.ts"
import type { Fetcher } from "../fetch/fetcher.ts"
import { GENERIC } from "../schemes/generic.ts"
import { PRESETS, type BodyForm } from "./presets.ts"
import type { Signer, Verifier } from "../verifier.ts"

const NETWORK: Fetcher = { fetch: (url, init) => fetch(url, init), rootCertificates }

/** The values of the option `provider`: the presets, then the generic kinds. */
export const PROVIDER_NAMES: readonly string[] = [...Object.keys(PRESETS), ...Object.keys(GENERIC)]

/** The family of a preset or generic kind. */
export function findFamily(name: string): Family | undefined {
  if (Object.hasOwn(PRESETS, name)) return PRESETS[name]!.scheme
  return Object.hasOwn(GENERIC, name) ? GENERIC[name] : undefined
}

/** What a preset's bodies are, as options of the Decoder; undefined: JSON objects, or the bodies are not known. */
export function decodingOf(name: string): Omit<BodyForm, "docs"> | undefined {
  const { docs: _, ...decoding } = (Object.hasOwn(PRESETS, name) ? PRESETS[name]!.body : undefined) ?? {}
  return "format" in decoding ? decoding : undefined
}

/**
 * Makes a verifier. Secrets are decoded and keys imported here, once.
 *
 * @throws WrongSetting (a HooklineError `config`)
 */
export function makeVerifier(name: string, settings: VerifierSettings, fetcher: Fetcher = NETWORK): Verifier {
  const family = familyOf(name)
  const missing = missingSettings(family, settings)
  if (missing.length > 0)
    throw new WrongSetting(missing[0]!, `is missing; ${name} requires ${describeRequired(family)}`)
  checkTolerance(settings)
  return family.verifier(settings, fetcher)
}

/**
 * Makes a signer, which uses the first secret.
 *
 * @throws WrongSetting, also if only the provider can sign
 */
export function makeSigner(name: string, settings: VerifierSettings): Signer {
  const { signer } = familyOf(name)
  if (signer === undefined)
    throw new WrongSetting("provider", `${name} can't be signed for: only the provider has the key`)
  return signer(settings)
}

/** The missing keys of the alternative in `requires` that is closest to complete. */
function missingSettings({ requires }: Family, settings: VerifierSettings): readonly SettingKey[] {
  const isMissing = (key: SettingKey): boolean => settings[key] === undefined
  const alternatives = requires.map((keys) => ({ missing: keys.filter(isMissing), of: keys.length }))
  // with equally many missing, the one with more present
  const [best] = alternatives.toSorted((a, b) => a.missing.length - b.missing.length || b.of - a.of)
  return best?.missing ?? []
}

/** The keys that a family can have. */
export function keysOf({ requires, optional = [], toleranceMs }: Family): readonly SettingKey[] {
  const tolerance: readonly SettingKey[] = toleranceMs === undefined ? [] : ["tolerance"]
  return [...new Set([...requires.flat(), ...tolerance, ...optional])]
}

/** `secret, or username and password` */
export function describeRequired({ requires }: Family): string {
  return requires.map((keys) => keys.join(" and ")).join(", or ")
}

function checkTolerance({ tolerance }: VerifierSettings): void {
  if (tolerance !== undefined && !(Number.isFinite(tolerance) && tolerance >= 0))
    throw new WrongSetting("tolerance", "is not a duration")
}

function familyOf(name: string): Family {
  const family = findFamily(name)
  if (family !== undefined) return family
  const near = nearest(name, PROVIDER_NAMES)
  throw new WrongSetting("provider", `unknown provider${near === undefined ? "" : `; did you mean ${near}?`}`)
}
