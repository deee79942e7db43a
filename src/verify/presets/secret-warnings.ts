import type { SettingKey, VerifierSettings } from "../schemes/family.ts"
import { findFamily, nameOf, type ProviderRef } from "./providers.ts"

/** A doubt about a secret. Quotes nothing of it. */
export interface SecretWarning {
  readonly key: SettingKey
  /** Follows the key's name. */
  readonly text: string
}

/** 16 random bytes resist brute force. */
const LEAST_KEY_BYTES = 16

type Lookalike = readonly [pattern: RegExp, is: string]

/** Other credentials of a provider, by prefix. */
const LOOKALIKES: { readonly [provider: string]: Lookalike } = {
  stripe: [
    /^(?:[srp]k|rk)_(?:live|test)_/,
    "an API key of Stripe; the endpoint's signing secret begins with whsec_",
  ],
  github: [/^(?:gh[opsur]_|github_pat_)/, "an access token of GitHub; the secret is the webhook's own"],
  gitlab: [
    /^gl(?:pat|dt|rt|ptt|agent|oas)-/,
    "an access token of GitLab; the secret token is the webhook's own",
  ],
  slack: [
    /^(?:xox[a-z]|xapp)-/,
    "a token of Slack; the signing secret is on the app's page of basic information",
  ],
  shopify: [/^shp(?:at|ca|pa|ua)_/, "an access token of Shopify; the secret is the app's client secret"],
  telegram: [/^\d{6,}:[\w-]{30,}$/, "the bot's token; the secret is secret_token of setWebhook"],
  linear: [/^lin_(?:api|oauth)_/, "an API key of Linear; a signing secret begins with lin_wh_"],
  notion: [/^ntn_/, "an integration's token of Notion; the secret is the verification_token"],
  openai: [/^sk-/, "an API key of OpenAI; a signing secret begins with whsec_"],
  anthropic: [/^sk-ant-/, "an API key of Anthropic; a signing secret begins with whsec_"],
  clerk: [/^[sp]k_(?:live|test)_/, "an API key of Clerk; a signing secret begins with whsec_"],
  resend: [/^re_/, "an API key of Resend; a signing secret begins with whsec_"],
  svix: [/^(?:test)?sk_/, "an API key of Svix; a signing secret begins with whsec_"],
  workos: [/^sk_(?:live|test)_/, "an API key of WorkOS; the secret is the webhook's own"],
  razorpay: [/^rzp_(?:live|test)_/, "a key id of Razorpay; the secret is the webhook's own"],
  mailgun: [/^(?:pub)?key-/, "an API key of Mailgun; the secret is the HTTP webhook signing key"],
  hubspot: [/^pat-/, "an access token of HubSpot; the secret is the app's client secret"],
  paddle: [/^pdl_(?:live|sdbx)_apikey_/, "an API key of Paddle; a secret begins with pdl_ntfset_"],
  square: [
    /^(?:EAAA|sq0|sandbox-sq0)/,
    "an application's credential of Square; the secret is the subscription's signature key",
  ],
  twilio: [/^(?:AC|SK)[0-9a-f]{32}$/, "a SID of Twilio; the secret is the account's auth token"],
  dropbox: [/^sl\./, "an access token of Dropbox; the secret is the app secret"],
  sentry: [/^sntry[su]_/, "an auth token of Sentry; the secret is the integration's client secret"],
  circleci: [/^CCIPAT_/, "an API token of CircleCI; the secret is the webhook's own"],
}

/** Leftovers of a configuration file, a shell or a template. */
const REMAINS: readonly Lookalike[] = [
  [/^\$(?:\w+|\{[^}]*\}?|\([^)]*\))$|^%\w+%$|^\{\{.*\}\}$/, "an unexpanded variable; write ${NAME}"],
  [/\s(?:#|;|\/\/)(?:\s|$)/, "a secret with a trailing comment; comments need a line of their own"],
  [/^(['"`]).*\1$/s, "a quoted secret; remove the quotes"],
  [/^[a-z_]+ = /, "a line of another key; indented lines continue the value above them"],
  [/^<.*>$|^(?:change[-_ ]?me|your[-_ ].*|x{3,}|todo|secret|password)$/i, "a placeholder"],
  [/^-----BEGIN /, "a PEM key, but is used as text"],
]

const KEYS = ["secret", "password", "verify_token", "client_secret"] as const

/** Warnings about well-formed secrets. */
export function secretWarnings(
  provider: ProviderRef,
  settings: VerifierSettings & { readonly verify_token?: readonly string[] | undefined },
): readonly SecretWarning[] {
  const name = nameOf(provider)
  const keyBytes = findFamily(provider)?.keyBytes?.(settings)
  return KEYS.flatMap((key) => {
    const given = settings[key] ?? []
    const values = typeof given === "string" ? [given] : given
    return values.flatMap((value, i) => {
      const which = values.length === 1 ? "" : `value ${i + 1} of ${values.length}: `
      const own = key === "secret" && Object.hasOwn(LOOKALIKES, name) ? [LOOKALIKES[name]!] : []
      // signers of asymmetric schemes have a PEM private key
      const remains = keyBytes === undefined ? REMAINS.slice(0, -1) : REMAINS
      const found = [...own, ...remains].filter(([pattern]) => pattern.test(value))
      const texts = found.map(([, is]) => `${which}looks like ${is}`)
      const bytes = key === "secret" && texts.length === 0 ? keyBytes?.(value) : undefined
      if (bytes !== undefined && bytes < LEAST_KEY_BYTES)
        texts.push(
          `${which}has ${bytes} bytes, few enough to guess from one signed request; use at least ${LEAST_KEY_BYTES} random bytes`,
        )
      return texts.map((text) => ({ key: key as SettingKey, text }))
    })
  })
}
