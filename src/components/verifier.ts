import { enumerate } from "../config/nearest.ts"
import type { Values } from "../config/options.ts"
import type { Checking } from "../config/section.ts"
import { WrongSetting, type SettingKey, type VerifierSettings } from "../verify/family.ts"
import { findFamily, makeVerifier } from "../verify/providers.ts"
import { secretWarnings } from "../verify/secret-warnings.ts"
import { defineComponent } from "./component.ts"
import { verification } from "./verification.ts"
import { VERIFIER_OPTIONS } from "./verifier-options.ts"

type Options = typeof VERIFIER_OPTIONS

/** Lets only what the provider sent pass, and answers its handshakes. */
export const Verifier = defineComponent({
  kind: "processor",
  name: "Verifier",
  summary:
    "Lets only requests pass that the provider signed, or that have its token, and answers the provider's handshakes. What each provider needs is in providers.md.",
  options: VERIFIER_OPTIONS,
  check,
  verifies: ({ mode }) => mode !== "observe",
  proves: ({ provider, ...settings }) => {
    const family = findFamily(provider)!
    return {
      sender: provider,
      covers: family.covers(settings),
      checksTime: (settings.tolerance ?? family.toleranceMs ?? 0) > 0,
    }
  },
  create: (values, context) => verification(values, context),
})

/** Keys that some providers have beside those of their scheme. */
const MORE_KEYS: { readonly [provider: string]: readonly (keyof Options)[] } = {
  asana: ["secret_file"],
  notion: ["secret_file"],
  meta: ["verify_token"],
  "aws-sns": ["confirm"],
}

/** Asks for what the provider needs, and tells of what it has no use for. */
function check({ values, isGiven, wrong, warn }: Checking<Options>): void {
  const { provider } = values
  const family = provider === undefined ? undefined : findFamily(provider)
  if (provider === undefined || family === undefined) return
  const used: readonly string[] = [
    ...new Set([...family.requires.flat(), ...family.optional, ...(MORE_KEYS[provider] ?? [])]),
  ]
  const given = (Object.keys(VERIFIER_OPTIONS) as (keyof Options)[]).filter(isGiven)
  for (const key of given) {
    if (key === "provider" || key === "mode" || used.includes(key)) continue
    wrong(key, `is not used by ${provider}; its keys are ${enumerate([...used, "mode"])}`)
  }
  // a key with a problem of its own is not called missing
  if (given.some((key) => values[key] === undefined)) return
  if (values.secret !== undefined && values.secret_file !== undefined)
    return wrong("secret_file", "is set beside secret; one of them is right")
  if (values.secret_file !== undefined) return
  try {
    makeVerifier(provider, settingsOf(values))
  } catch (error) {
    if (!(error instanceof WrongSetting)) throw error
    const { key, message } = error
    const said = message.slice(`${key}: `.length)
    const isMissing = key === "secret" && values.secret === undefined
    const form = family.secretForm === undefined ? "" : ` (${family.secretForm})`
    const file = used.includes("secret_file") ? ", or secret_file" : ""
    return wrong(key, isMissing ? said + form + file : said)
  }
  for (const { key, text } of secretWarnings(provider, values)) warn(key, text)
  if (provider === "meta" && values.verify_token === undefined)
    warn(
      "verify_token",
      "is not set: Meta's handshake is refused, by which it sees that the endpoint is wanted",
    )
  if (provider === "ms-graph" && values.audience === undefined)
    warn(
      "audience",
      "is not set: that validationTokens are for this application is not checked; set it to the application's id",
    )
}

/** A component's values as a family's settings; keys that are no settings do no harm. */
function settingsOf(values: Partial<Values<Options>>): VerifierSettings {
  return values satisfies { readonly [key in SettingKey]?: VerifierSettings[key] }
}
