import { message, ofFile } from "../../message.ts"
import { suggest } from "../../words.ts"
import type { ParseContext } from "../../config/declarations.ts"
import { WrongValue, custom, file, integer, oneOf } from "../../config/options/option-types.ts"
import {
  type OwnProvider,
  PROVIDER_NAMES,
  type ProviderRef,
  SETTINGS,
  splitSecrets,
  texts,
} from "../../verify/verification.ts"

const PROVIDER_FORM = "a provider or kind of docs/providers.md, such as stripe, github or hmac"

const provider = custom<ProviderRef, { doc: string }, string | OwnProvider>(
  PROVIDER_FORM,
  {
    doc: "The sender: a preset, or hmac, token, basic, jwt, ed25519 or ecdsa; see providers.md. Or the name of a `[provider:<name>]` section.",
  },
  (value, context) => knownProvider(value.toLowerCase(), context),
  (given, context) =>
    typeof given === "object" && given !== null && "scheme" in given
      ? given
      : knownProvider(String(given).replace(/^provider:/, ""), context),
)

function knownProvider(name: string, { defined = new Map() }: Partial<ParseContext> = {}): ProviderRef {
  if (PROVIDER_NAMES.includes(name)) return name
  const section = `provider:${name}`
  const own = defined.get(section) as OwnProvider | undefined
  if (own !== undefined) return own
  if (defined.has(section)) throw new WrongValue(`is [${section}], which has problems`)
  const ownNames = [...defined.keys()].flatMap((it) => /^provider:(.*)/s.exec(it)?.[1] ?? [])
  throw new WrongValue(
    `${JSON.stringify(name)} is not a provider${suggest(String(name), [...PROVIDER_NAMES, ...ownNames], (it) => it)}`,
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
  secret_count: integer({
    min: 1,
    max: 16,
    default: "1",
    needs: "secret_file",
    doc: "How many secrets `secret_file` accepts, each in a request of its own: one for each webhook of asana on this path. The further ones are stored in files next to it, as in `asana.secret.2`. Raise it by one, reload, then create the next webhook.",
  }),
  verify_token: texts(message`a list${ofFile(" (commas or lines)")} of tokens`, splitSecrets, {
    optional: true,
    doc: "The token that meta presents in its handshake; without it the handshake is refused.",
  }),
  confirm: oneOf(["false", "true"], {
    default: "false",
    doc: "For aws-sns: whether to confirm subscriptions, by fetching Amazon's URL from a verified request.",
  }),
} as const
