import type { SettingKey, VerifierSettings } from "./family.ts"
import { findFamily } from "./providers.ts"

/** Something about a secret that is not wrong for sure. Quotes nothing of it. */
export interface SecretWarning {
  readonly key: SettingKey
  /** Can follow the key's name. */
  readonly text: string
}

/** What a secret of HMAC has at least; 16 random bytes can't be searched through. */
const LEAST_KEY_BYTES = 16

interface Lookalike {
  readonly test: RegExp
  readonly is: string
}
/** Other credentials of a provider than the one that signs, by how they begin. */
const LOOKALIKES: { readonly [provider: string]: Lookalike } = {
  stripe: {
    test: /^(?:[srp]k|rk)_(?:live|test)_/,
    is: "an API key of Stripe; the endpoint's signing secret begins with whsec_",
  },
  github: {
    test: /^(?:gh[opsur]_|github_pat_)/,
    is: "an access token of GitHub; the secret is the webhook's own",
  },
  gitlab: {
    test: /^gl(?:pat|dt|rt|ptt|agent|oas)-/,
    is: "an access token of GitLab; the secret token is the webhook's own",
  },
  slack: {
    test: /^(?:xox[a-z]|xapp)-/,
    is: "a token of Slack; the signing secret is on the app's page of basic information",
  },
  shopify: {
    test: /^shp(?:at|ca|pa|ua)_/,
    is: "an access token of Shopify; the secret is the app's client secret",
  },
  telegram: { test: /^\d{6,}:[\w-]{30,}$/, is: "the bot's token; the secret is secret_token of setWebhook" },
  linear: { test: /^lin_(?:api|oauth)_/, is: "an API key of Linear; a signing secret begins with lin_wh_" },
  notion: { test: /^ntn_/, is: "an integration's token of Notion; the secret is the verification_token" },
  openai: { test: /^sk-/, is: "an API key of OpenAI; a signing secret begins with whsec_" },
  anthropic: { test: /^sk-ant-/, is: "an API key of Anthropic; a signing secret begins with whsec_" },
  clerk: { test: /^[sp]k_(?:live|test)_/, is: "an API key of Clerk; a signing secret begins with whsec_" },
  resend: { test: /^re_/, is: "an API key of Resend; a signing secret begins with whsec_" },
  svix: { test: /^(?:test)?sk_/, is: "an API key of Svix; a signing secret begins with whsec_" },
  workos: { test: /^sk_(?:live|test)_/, is: "an API key of WorkOS; the secret is the webhook's own" },
  razorpay: { test: /^rzp_(?:live|test)_/, is: "a key id of Razorpay; the secret is the webhook's own" },
  mailgun: { test: /^(?:pub)?key-/, is: "an API key of Mailgun; the secret is the HTTP webhook signing key" },
  hubspot: { test: /^pat-/, is: "an access token of HubSpot; the secret is the app's client secret" },
  paddle: {
    test: /^pdl_(?:live|sdbx)_apikey_/,
    is: "an API key of Paddle; a secret begins with pdl_ntfset_",
  },
  square: {
    test: /^(?:EAAA|sq0|sandbox-sq0)/,
    is: "an application's credential of Square; the secret is the subscription's signature key",
  },
  twilio: { test: /^(?:AC|SK)[0-9a-f]{32}$/, is: "a SID of Twilio; the secret is the account's auth token" },
  dropbox: { test: /^sl\./, is: "an access token of Dropbox; the secret is the app secret" },
  sentry: {
    test: /^sntry[su]_/,
    is: "an auth token of Sentry; the secret is the integration's client secret",
  },
  circleci: { test: /^CCIPAT_/, is: "an API token of CircleCI; the secret is the webhook's own" },
}

/** What a configuration file, a shell or a template leaves behind in any secret. */
const REMAINS: readonly Lookalike[] = [
  {
    test: /^\$(?:\w+|\{[^}]*\}?|\([^)]*\))$|^%\w+%$|^\{\{.*\}\}$/,
    is: "a variable that was not replaced; write ${NAME}",
  },
  {
    test: /\s(?:#|;|\/\/)(?:\s|$)/,
    is: "a secret with a comment behind it; comments have a line of their own",
  },
  { test: /^(['"`]).*\1$/s, is: "a secret in quotes that belong to it; take them away" },
  { test: /^<.*>$|^(?:change[-_ ]?me|your[-_ ].*|x{3,}|todo|secret|password)$/i, is: "a placeholder" },
  { test: /^-----BEGIN /, is: "a key in PEM, and is used as text" },
]

const KEYS = ["secret", "password", "verify_token", "client_secret"] as const

/** What may be wrong with the secrets of settings that are right as far as their form goes. */
export function secretWarnings(
  provider: string,
  settings: VerifierSettings & { readonly verify_token?: readonly string[] | undefined },
): readonly SecretWarning[] {
  const keyBytes = findFamily(provider)?.keyBytes?.(settings)
  return KEYS.flatMap((key) => {
    const given = settings[key] ?? []
    const values = typeof given === "string" ? [given] : given
    return values.flatMap((value, i) => {
      const which = values.length === 1 ? "" : `${ordinal(i)} of ${values.length}: `
      const own = key === "secret" && Object.hasOwn(LOOKALIKES, provider) ? [LOOKALIKES[provider]!] : []
      // who signs by a private key of its own has it here in PEM
      const remains = keyBytes === undefined ? REMAINS.slice(0, -1) : REMAINS
      const found = [...own, ...remains].filter(({ test }) => test.test(value))
      const texts = found.map(({ is }) => `${which}looks like ${is}`)
      const bytes = key === "secret" && texts.length === 0 ? keyBytes?.(value) : undefined
      if (bytes !== undefined && bytes < LEAST_KEY_BYTES)
        texts.push(
          `${which}has ${bytes} bytes, which can be guessed from one signed request; have at least ${LEAST_KEY_BYTES} made at random`,
        )
      return texts.map((text) => ({ key: key as SettingKey, text }))
    })
  })
}

const ordinal = (i: number): string => `value ${i + 1}`
