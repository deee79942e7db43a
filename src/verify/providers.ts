import { rootCertificates } from "node:tls"
import { nearest } from "../config/nearest.ts"
import { WrongSetting, type Family, type Outside, type SettingKey, type VerifierSettings } from "./family.ts"
import { GENERIC } from "./generic.ts"
import { PRESETS } from "./presets.ts"
import type { Signer, Verifier } from "./verifier.ts"

const OUTSIDE: Outside = { fetch: (url, init) => fetch(url, init), rootCertificates }

/** Every name that the option `provider` may have: the presets, then the generic kinds. */
export const PROVIDER_NAMES: readonly string[] = [...Object.keys(PRESETS), ...Object.keys(GENERIC)]

/** The family of a preset or generic kind; undefined when there is none of this name. */
export function findFamily(name: string): Family | undefined {
  if (Object.hasOwn(PRESETS, name)) return PRESETS[name]!.scheme
  return Object.hasOwn(GENERIC, name) ? GENERIC[name] : undefined
}

/**
 * Makes a verifier. Secrets are decoded and keys imported here, once.
 *
 * @throws WrongSetting (a HooklineError `config`) with the key that is wrong or missing and what would be right
 */
export function makeVerifier(name: string, settings: VerifierSettings, outside: Outside = OUTSIDE): Verifier {
  const family = familyOf(name)
  const missing = missingSettings(family, settings)
  if (missing.length > 0)
    throw new WrongSetting(missing[0]!, `is missing: ${name} needs ${describeRequired(family)}`)
  checkTolerance(settings)
  return family.verifier(settings, outside)
}

/**
 * Makes a signer, which signs with the first secret.
 *
 * @throws WrongSetting, also where nobody but the provider can sign
 */
export function makeSigner(name: string, settings: VerifierSettings): Signer {
  const { signer } = familyOf(name)
  if (signer === undefined)
    throw new WrongSetting("provider", `${name} can't be signed for: only it has the key`)
  return signer(settings)
}

/** The keys that a family still needs, of the way that is nearest to complete; none when one is complete. */
function missingSettings({ requires }: Family, settings: VerifierSettings): readonly SettingKey[] {
  const isMissing = (key: SettingKey): boolean => settings[key] === undefined
  const ways = requires.map((keys) => ({ missing: keys.filter(isMissing), of: keys.length }))
  // of ways that lack equally many, the one of which more is there
  const [best] = ways.toSorted((a, b) => a.missing.length - b.missing.length || b.of - a.of)
  return best?.missing ?? []
}

/** `secret, or username and password` */
export function describeRequired({ requires }: Family): string {
  return requires.map((keys) => keys.join(" and ")).join(", or ")
}

function checkTolerance({ tolerance }: VerifierSettings): void {
  if (tolerance !== undefined && !(Number.isFinite(tolerance) && tolerance >= 0))
    throw new WrongSetting("tolerance", "is not a length of time")
}

function familyOf(name: string): Family {
  const family = findFamily(name)
  if (family !== undefined) return family
  const near = nearest(name, PROVIDER_NAMES)
  throw new WrongSetting(
    "provider",
    `there is none of this name${near === undefined ? "" : `; is it ${near}?`}`,
  )
}
