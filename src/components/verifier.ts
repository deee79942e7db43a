import { message, named, namedBy } from "../message.ts"
import { enumerate } from "../words.ts"
import type { Values } from "../config/options/option-types.ts"
import type { Checking } from "../config/declarations.ts"
import {
  type Coverage,
  type Family,
  findFamily,
  keysOf,
  makeVerifier,
  nameOf,
  secretWarnings,
  type VerifierSettings,
  WrongSetting,
} from "../verify/verification.ts"
import type { KnownSender } from "./known-sender.ts"
import { decodingOf, factsOf, presetOf } from "../verify/senders.ts"
import { isThisMachine } from "../outgoing/proxied-fetch.ts"
import { defineComponent } from "./define-component.ts"
import { VERIFIER_OPTIONS } from "./verifier/options.ts"
import { readSecrets } from "./verifier/secret-file.ts"
import { verifierStep } from "./verifier/step.ts"

type Options = typeof VERIFIER_OPTIONS

/** Passes only the provider's requests, and answers its handshakes. */
export const verifier = defineComponent({
  kind: "processor",
  name: "Verifier",
  summary:
    "Lets only requests pass that the provider signed, or that have its token, and answers the provider's handshakes. What each provider needs is in providers.md.",
  options: VERIFIER_OPTIONS,
  check,
  sender,
  verifies: ({ mode }) => mode !== "observe",
  verification: ({ provider, secret_file: file, secret_count: count, ...settings }) =>
    file === undefined
      ? { provider, settings }
      : { provider, settings: { ...settings, ...storedSecret(file, count) } },
  implies: ({ provider = "" }) => ({ Decoder: decodingOf(provider) }),
  create: (values, context) => verifierStep(values, context),
})

/** The secrets of a `secret_file`, if the provider's first request has arrived. */
function storedSecret(file: string, count: number): Pick<VerifierSettings, "secret"> {
  const secret = readSecrets(file, count)
  return secret.length === 0 ? {} : { secret }
}

function sender({ provider, ...settings }: Partial<Values<Options>>): KnownSender | undefined {
  const family = provider === undefined ? undefined : findFamily(provider)
  if (provider === undefined || family === undefined) return undefined
  const name = nameOf(provider)
  const covers = coverageOf(family, settings)
  const checksTime = (settings.tolerance ?? family.toleranceMs ?? 0) > 0
  const known = KNOWN.getOrInsertComputed(presetOf(provider) ?? family, () => new Map<string, KnownSender>())
  return known.getOrInsertComputed(JSON.stringify([name, covers, checksTime]), () => ({
    name,
    event: presetOf(provider)?.event ?? {},
    facts: factsOf(name),
    format: decodingOf(provider)?.format,
    covers,
    checksTime,
  }))
}

/** By preset or family, and by the settings that make a difference: one for all pipelines that have the same. */
const KNOWN = new WeakMap<object, Map<string, KnownSender>>()

function coverageOf(family: Family, settings: VerifierSettings): Coverage | undefined {
  try {
    return family.covers(settings)
  } catch (error) {
    if (error instanceof WrongSetting) return undefined
    throw error
  }
}

/** Keys of some providers in addition to those of their scheme. */
const MORE_KEYS: { readonly [provider: string]: readonly (keyof Options)[] } = {
  asana: ["secret_file", "secret_count"],
  notion: ["secret_file", "secret_count"],
  meta: ["verify_token"],
  "aws-sns": ["confirm"],
}

export const moreKeysOf = (provider: string): readonly string[] =>
  Object.hasOwn(MORE_KEYS, provider) ? MORE_KEYS[provider]! : []

/** Requires the provider's keys, and rejects those that it does not use. */
function check({ values, isGiven, isDefault, wrong, warn }: Checking<Options>): void {
  const { provider } = values
  const family = provider === undefined ? undefined : findFamily(provider)
  if (provider === undefined || family === undefined) return
  const name = nameOf(provider)
  const used: readonly string[] = [...new Set([...keysOf(family), ...moreKeysOf(name)])]
  const given = (Object.keys(VERIFIER_OPTIONS) as (keyof Options)[]).filter(isGiven)
  for (const key of given) {
    if (key === "provider" || key === "mode" || used.includes(key) || isDefault(key)) continue
    const all = namedBy(enumerate, [...used, "mode"])
    wrong(key, message`is not used by ${name}; its keys are ${all}`, "conflicting_keys")
  }
  // a key with an invalid value is not missing
  if (given.some((key) => values[key] === undefined)) return
  if (values.secret !== undefined && values.secret_file !== undefined)
    return wrong("secret_file", "conflicts with secret; remove one of them", "conflicting_keys")
  if (values.secret_file !== undefined) return
  try {
    makeVerifier(provider, values)
  } catch (error) {
    if (!(error instanceof WrongSetting)) throw error
    const { key, text, problem } = error
    const isMissing = key === "secret" && values.secret === undefined
    const form = family.secretForm === undefined ? "" : ` (${family.secretForm})`
    const file = used.includes("secret_file") ? message`, or ${named("secret_file")}` : ""
    return wrong(key, isMissing ? message`${text}${form}${file}` : text, problem)
  }
  for (const { key, text } of secretWarnings(provider, values)) warn(key, text)
  const keys = URL.parse(values.jwks_url ?? "")
  if (keys?.protocol === "http:" && !isThisMachine(keys.hostname))
    warn(
      "jwks_url",
      "the keys are fetched unencrypted, so that they can be exchanged on the way; use an https URL",
    )
  if (name === "meta" && values.verify_token === undefined)
    warn(
      "verify_token",
      "is not set: Meta's handshake, which confirms the endpoint, is refused; set the token that is entered at Meta",
    )
  if (name === "ms-graph" && values.audience === undefined)
    warn(
      "audience",
      "is not set: the audience of validationTokens is not checked; set it to the application's id",
    )
}
