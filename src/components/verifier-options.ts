import { suggest } from "../config/nearest.ts"
import { WrongValue, custom, duration, file, oneOf, text } from "../config/options.ts"
import { PROVIDER_NAMES } from "../verify/providers.ts"

const PROVIDER_FORM = "a provider or kind of docs/providers.md, such as stripe, github or hmac"

const provider = custom<string, { doc: string }>(
  PROVIDER_FORM,
  { doc: "Who sends: a preset, or hmac, token, basic, jwt, ed25519 or ecdsa; see providers.md." },
  (value) => {
    const name = value.toLowerCase()
    const problem = wrongProvider(name)
    if (problem !== undefined) throw new WrongValue(problem)
    return name
  },
  wrongProvider,
)

function wrongProvider(name: string): string | undefined {
  if (PROVIDER_NAMES.includes(name)) return undefined
  return `${JSON.stringify(name)} is no provider${suggest(name, PROVIDER_NAMES, (it) => it)}`
}

interface SecretOption {
  readonly doc: string
  readonly optional: true
}

const isTexts = (value: readonly string[]): boolean =>
  Array.isArray(value) && value.length > 0 && value.every((it) => typeof it === "string" && it !== "")

/** Several secrets. Messages name the form and never the value. */
function texts(form: string, split: (text: string) => readonly string[], declared: SecretOption) {
  return custom<readonly string[], SecretOption & { secret: true }>(
    form,
    { ...declared, secret: true },
    (value) => {
      const found = split(value)
      if (!isTexts(found)) throw new WrongValue(`is not ${form}`)
      return found
    },
    (value) => (isTexts(value) ? undefined : `is not ${form}`),
  )
}

/** By comma or line; in double quotes a comma belongs to the item, and so do blanks at its ends. */
export function splitSecrets(text: string): readonly string[] {
  return [...text.matchAll(/[^\S\n]*(?:"([^"\n]*)"(?=\s*(?:[,\n]|$))|([^,\n]+))/g)]
    .map(([, quoted, plain = ""]) => quoted ?? plain.trim())
    .filter((it) => it !== "")
}

/** PEM blocks and JWKs are one each, however many lines and commas they have; else it goes by comma or line. */
export function splitKeys(text: string): readonly string[] {
  return text.match(/-----BEGIN [^-]+-----[^-]+-----END [^-]+-----|\{[^{}]*\}|[^\s,]+/g) ?? []
}

const splitLines = (text: string): readonly string[] =>
  text
    .split("\n")
    .map((it) => it.trim())
    .filter((it) => it !== "")

/** The file trims values: quotes keep a blank at the end, as of `"Bearer "`. */
const unquoted = (value: string): string => /^"(.*)"$/.exec(value)?.[1] ?? value

const time = duration({ optional: true, doc: "" })

/** The keys of a Verifier, apart from what each provider makes of them. */
export const VERIFIER_OPTIONS = {
  provider,
  mode: oneOf(["enforce", "observe"], {
    default: "enforce",
    doc: "With observe failures are logged and counted, and the events pass: for introducing verification on a live endpoint.",
  }),
  secret: texts("a list, by comma or line, of secrets in the provider's own form", splitSecrets, {
    optional: true,
    doc: "One or several; any may match, so that they can be rotated. The first one answers the handshake of x-twitter. One with a comma in it goes in double quotes.",
  }),
  secret_file: file({
    optional: true,
    doc: "For asana and notion, which send the secret in their first request: a file that it is kept in. While the file is not there, the first such request makes it (anybody's: see that it is the provider's), and events are refused.",
  }),
  verify_token: texts("a list, by comma or line, of tokens", splitSecrets, {
    optional: true,
    doc: "What meta has to present in its handshake, which is refused where it is not set.",
  }),
  tolerance: custom<number, { optional: true; doc: string }>(
    `${time.form}, or 0`,
    {
      optional: true,
      doc: "How far a signed time may be off, both ways; 0 turns the check off; signed ids are remembered for 24 h all the same. The provider's where it is not set.",
    },
    (value, context) => (value === "0" ? 0 : time.parse(value, context)),
    (value) => time.wrong(value),
  ),
  header: text({ optional: true, doc: "The header that has the signature or the token." }),
  algorithm: oneOf(["sha1", "sha256", "sha512"], { optional: true, doc: "The hash; sha256 where not set." }),
  encoding: oneOf(["hex", "base64", "base64url"], {
    optional: true,
    doc: "How the signature is written; hex where not set.",
  }),
  prefix: custom<string, { optional: true; doc: string }>(
    "a text, in double quotes where it ends in a blank",
    { optional: true, doc: 'What stands before the signature or token, such as `sha256=` or `"Bearer "`.' },
    unquoted,
    (value) => (typeof value === "string" ? undefined : "is not a text"),
  ),
  payload: text({
    optional: true,
    doc: "What is signed: a text with `{timestamp}`, `{id}`, `{method}`, `{url}` and `{body}` in it; `{body}` where not set.",
  }),
  timestamp_header: text({ optional: true, doc: "The header that has the signed time." }),
  id_header: text({ optional: true, doc: "The header that has the signed id." }),
  query: text({ optional: true, doc: "The parameter of the URL's query that has the token." }),
  username: text({ optional: true, doc: "For HTTP Basic authentication." }),
  password: texts("a list of passwords, one a line", splitLines, {
    optional: true,
    doc: "One or several; any may match. One a line: a comma belongs to it.",
  }),
  issuer: text({ optional: true, doc: "Who has to have issued a JWT." }),
  audience: text({ optional: true, doc: "Whom a JWT has to be for." }),
  jwks_url: text({ optional: true, doc: "Where the keys of JWTs are fetched." }),
  public_key: texts("a list of public keys: PEM, JWK, base64 or hex", splitKeys, {
    optional: true,
    doc: "One or several; any may match. PEM (`${file:/etc/hookline/key.pem}`), a JWK, base64 of DER, or the raw key of Ed25519.",
  }),
  email: text({ optional: true, doc: "The service account that Google signs for." }),
  topic_arn: text({ optional: true, doc: "The Amazon SNS topic that may send." }),
  webhook_id: text({ optional: true, doc: "PayPal's id of the webhook." }),
  verify_online: oneOf(["false", "true"], {
    optional: true,
    doc: "For paypal: whether PayPal's API is asked about each event, since the signature covers the body's CRC-32 only; events get 503 while it can't be asked. false where not set.",
  }),
  api: text({
    optional: true,
    doc: "PayPal's API for verify_online: `live` (where not set), `sandbox` or a URL.",
  }),
  client_id: text({ optional: true, doc: "Of the app at PayPal, for verify_online." }),
  client_secret: text({ optional: true, secret: true, doc: "Of the app at PayPal, for verify_online." }),
  min_version: oneOf(["1", "2", "3"], {
    optional: true,
    doc: "For hubspot: the oldest version of signatures that is taken; 3 where not set. Versions 1 and 2 sign no time.",
  }),
  require_exp: oneOf(["true", "false"], {
    optional: true,
    doc: "For jwt: whether a token must say when it expires; true where not set. One that does not is good for ever.",
  }),
  confirm: oneOf(["false", "true"], {
    default: "false",
    doc: "For aws-sns: whether subscriptions are confirmed, by visiting the URL of Amazon's that a verified request names.",
  }),
} as const
