import { message } from "../../message.ts"
import { settle, settled } from "../crypto.ts"
import { nearest } from "../../words.ts"
import {
  describeRequired,
  WrongSetting,
  type Coverage,
  type Family,
  type SettingKey,
  type VerifierSettings,
} from "../schemes/family.ts"
import { isHeaderName } from "../../headers.ts"
import type { Fetcher } from "../fetch/fetcher.ts"
import { NETWORK } from "../fetch/network.ts"
import type { Sample } from "../samples/sample.ts"
import { GENERIC } from "../schemes/generic.ts"
import { toFamily, type SchemeForm } from "../schemes/scheme-form.ts"
import type { Profile } from "./profiles.ts"
import { SCHEMES } from "./schemes.ts"
import type { Signer, Verifier } from "../verifier.ts"

/** The values of the option `provider`: the presets, then the generic kinds. */
export const PROVIDER_NAMES: readonly string[] = [...Object.keys(SCHEMES), ...Object.keys(GENERIC)]

/** A custom provider, `[provider:<name>]`: data of the form that presets have. */
export interface OwnProvider extends Omit<Profile, "docs"> {
  readonly name: string
  readonly docs?: string | undefined
  readonly scheme: SchemeForm
  readonly sample?: Sample | undefined
}

/** The name of a preset or generic kind, or a custom provider. */
export type ProviderRef = string | OwnProvider

export const nameOf = (provider: ProviderRef): string =>
  typeof provider === "string" ? provider : provider.name

/** A provider's family; undefined: unknown name. */
export function findFamily(provider: ProviderRef): Family | undefined {
  if (typeof provider !== "string") return toFamily(provider.scheme)
  if (Object.hasOwn(SCHEMES, provider)) return toFamily(SCHEMES[provider]!)
  return Object.hasOwn(GENERIC, provider) ? GENERIC[provider] : undefined
}

/**
 * Makes a verifier. Secrets are decoded and keys imported here, once.
 *
 * @throws WrongSetting (a HooklineError `config`)
 */
export function makeVerifier(
  provider: ProviderRef,
  settings: VerifierSettings,
  fetcher: Fetcher = NETWORK,
): Verifier {
  const family = familyOf(provider)
  const missing = missingSettings(family, settings)
  if (missing.length > 0)
    throw new WrongSetting(
      missing[0]!,
      message`is missing; ${nameOf(provider)} requires ${describeRequired(family)}`,
      "missing_key",
    )
  checkTolerance(settings)
  checkHeaderNames(settings)
  return settled(family.verifier(settings, fetcher))
}

/**
 * Makes a signer, which uses the first secret.
 *
 * @throws WrongSetting, also if only the provider can sign
 */
export function makeSigner(provider: ProviderRef, settings: VerifierSettings): Signer {
  const { signer } = familyOf(provider)
  if (signer === undefined)
    throw new WrongSetting(
      "provider",
      `${nameOf(provider)} can't be signed for: only the provider has the key`,
    )
  const { sign } = signer(settings)
  return { sign: (request, nowMs) => settle(() => sign(request, nowMs)) }
}

/** The missing keys of the alternative in `requires` that is closest to complete. */
function missingSettings({ requires }: Family, settings: VerifierSettings): readonly SettingKey[] {
  const isMissing = (key: SettingKey): boolean => settings[key] === undefined
  if (requires.some((keys) => !keys.some(isMissing))) return []
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

/** What the signatures cover with the first alternative of the required keys. */
export function usualCoverage({ covers, requires }: Family): Coverage {
  return covers(Object.fromEntries((requires[0] ?? []).map((key) => [key, "any"])) as VerifierSettings)
}

function checkTolerance({ tolerance }: VerifierSettings): void {
  if (tolerance !== undefined && !(Number.isFinite(tolerance) && tolerance >= 0))
    throw new WrongSetting("tolerance", "is not a duration")
}

/** `hookline/verify` gets settings that no option has read. */
function checkHeaderNames(settings: VerifierSettings): void {
  for (const key of ["header", "timestamp_header", "id_header"] as const) {
    const name = settings[key]
    if (name !== undefined && !isHeaderName(name))
      throw new WrongSetting(
        key,
        `${JSON.stringify(name)} is not a header's name such as X-Signature, without spaces or a colon`,
      )
  }
}

function familyOf(provider: ProviderRef): Family {
  const family = findFamily(provider)
  if (family !== undefined) return family
  const near = nearest(nameOf(provider), PROVIDER_NAMES)
  throw new WrongSetting("provider", `unknown provider${near === undefined ? "" : `; did you mean ${near}?`}`)
}

/** A provider with its settings, secrets included. */
export interface Verification {
  readonly provider: ProviderRef
  readonly settings: VerifierSettings
}
