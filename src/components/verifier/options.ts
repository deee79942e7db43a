import { suggest } from "../../config/file/nearest.ts"
import { WrongValue, custom, file, oneOf } from "../../config/options/option-types.ts"
import { PROVIDER_NAMES } from "../../verify/presets/providers.ts"
import { SETTINGS, splitSecrets, texts } from "../../verify/settings.ts"

const PROVIDER_FORM = "a provider or kind of docs/providers.md, such as stripe, github or hmac"

const provider = custom<string, { doc: string }>(
  PROVIDER_FORM,
  { doc: "The sender: a preset, or hmac, token, basic, jwt, ed25519 or ecdsa; see providers.md." },
  (value) => knownProvider(value.toLowerCase()),
  knownProvider,
)

function knownProvider(name: string): string {
  if (PROVIDER_NAMES.includes(name)) return name
  throw new WrongValue(
    `${JSON.stringify(name)} is not a provider${suggest(String(name), PROVIDER_NAMES, (it) => it)}`,
  )
}

export const VERIFIER_OPTIONS = {
  provider,
  mode: oneOf(["enforce", "observe"], {
    default: "enforce",
    doc: "With observe, unverified events are logged, counted and published: for introducing verification on a live endpoint.",
  }),
  ...SETTINGS,
  secret_file: file({
    optional: true,
    doc: "For asana and notion, which send the secret in their first request: the file that stores it. Until it exists, the first such request from any sender creates it (check that it was the provider's), and events are refused.",
  }),
  verify_token: texts("a list (commas or lines) of tokens", splitSecrets, {
    optional: true,
    doc: "The token that meta presents in its handshake; without it the handshake is refused.",
  }),
  confirm: oneOf(["false", "true"], {
    default: "false",
    doc: "For aws-sns: whether to confirm subscriptions, by fetching Amazon's URL from a verified request.",
  }),
} as const
