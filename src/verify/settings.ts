import { message, ofFile, type Message } from "../message.ts"
import { guard } from "../config/declarations.ts"
import {
  custom,
  duration,
  headerName,
  oneOf,
  type Option,
  text,
  WrongValue,
} from "../config/options/option-types.ts"
import type { DurationText } from "../config/options/option-types.ts"
import type { SettingKey, VerifierSettings } from "./schemes/family.ts"

interface SecretOption {
  readonly doc: string
  readonly optional: true
}

const isTexts = (value: readonly string[]): boolean =>
  Array.isArray(value) && value.length > 0 && value.every((it) => typeof it === "string" && it !== "")

/** One or several secrets; a string given in code is one. Messages never quote the value. */
export function texts(
  form: Message,
  split: (text: string, fileCommas?: readonly number[]) => readonly string[],
  declared: SecretOption,
) {
  const checked = (found: readonly string[]): readonly string[] => {
    if (isTexts(found)) return found
    const isEmpty = Array.isArray(found) && (found.length === 0 || found.includes(""))
    const problem = message`is ${isEmpty ? "empty; expected" : "not"} ${form}`
    throw new WrongValue(problem, problem)
  }
  return custom<readonly string[], SecretOption & { secret: true }, string | readonly string[]>(
    form,
    { ...declared, secret: true },
    (value, { fileCommas }) => checked(split(value, fileCommas)),
    (given) => checked(typeof given === "string" ? [given] : given),
  )
}

/**
 * By comma or line; double quotes keep commas, and spaces at the ends. The comma of `v1,whsec_` is no separator, and none that
 * a file gave is.
 *
 * @param fileCommas their places in the text
 */
export function splitSecrets(text: string, fileCommas: readonly number[] = []): readonly string[] {
  const kept = new Set(fileCommas)
  const masked = kept.size === 0 ? text : text.replaceAll(",", (comma, at) => (kept.has(at) ? KEPT : comma))
  return [...masked.matchAll(/[^\S\n]*(?:"([^"\n]*)"(?=\s*(?:[,\n]|$))|((?:v1,(?=whsec_))?[^,\n]+))/g)]
    .map(([, quoted, plain = ""]) => quoted ?? plain.trim())
    .map((it) => (kept.size === 0 ? it : it.replaceAll(KEPT, ",")))
    .filter((it) => it !== "")
}

/** In the place of a comma that separates nothing: no secret has it. */
const KEPT = "\0"

/** By comma, space or line; PEM blocks and JWKs are kept whole. */
export function splitKeys(text: string): readonly string[] {
  return text.match(/-----BEGIN [^-]+-----[^-]+-----END [^-]+-----|\{[^{}]*\}|[^\s,]+/g) ?? []
}

const splitLines = (text: string): readonly string[] =>
  text
    .split("\n")
    .map((it) => it.trim())
    .filter((it) => it !== "")

/** The file trims values; quotes keep a trailing space, as in `"Bearer "`. */
const unquoted = (value: string): string => /^"(.*)"$/.exec(value)?.[1] ?? value

const time = duration({ optional: true, doc: "" })

/** An option for each setting, with its values. */
type Options = { readonly [key in SettingKey]: Option<VerifierSettings[key], never> }

/** The options of a verifier, of which each family has some. */
export const SETTINGS = {
  secret: texts(
    message`a list${ofFile(" (commas or lines)")} of secrets in the provider's own form`,
    splitSecrets,
    {
      optional: true,
      doc: "One or several; any may match, for rotation. The first one answers the handshake of x-twitter. A file (`${file:…}`) has one a line; elsewhere put a secret that contains a comma in double quotes.",
    },
  ),
  tolerance: custom<number, { optional: true; doc: string }, number | DurationText>(
    message`${time.form}, or 0`,
    {
      optional: true,
      doc: "How far a signed time may be off, either way; default: the provider's. 0 turns the check off; signed ids are still remembered for 24 h.",
    },
    (value, context) => (value === "0" ? 0 : time.parse(value, context)),
    (given) => time.fromCode(given),
  ),
  header: headerName({ optional: true, doc: "The header of the signature or token." }),
  algorithm: oneOf(["sha1", "sha256", "sha512"], { optional: true, doc: "The hash; default: sha256." }),
  encoding: oneOf(["hex", "base64", "base64url"], {
    optional: true,
    doc: "The encoding of the signature; default: hex.",
  }),
  prefix: custom<string, { optional: true; doc: string }>(
    "a text, in double quotes if it ends with a space",
    { optional: true, doc: 'The prefix of the signature or token, such as `sha256=` or `"Bearer "`.' },
    unquoted,
    guard("a text", (given) => typeof given === "string"),
  ),
  payload: text({
    optional: true,
    doc: "The signed text, with the placeholders `{timestamp}`, `{id}`, `{method}`, `{url}` and `{body}`; default: `{body}`.",
  }),
  timestamp_header: headerName({ optional: true, doc: "The header of the signed time." }),
  id_header: headerName({ optional: true, doc: "The header of the signed id." }),
  query: text({ optional: true, doc: "The query parameter of the token." }),
  username: text({ optional: true, doc: "For HTTP Basic authentication." }),
  password: texts("a list of passwords, one a line", splitLines, {
    optional: true,
    doc: "One or several; any may match. Commas are part of a password.",
  }),
  issuer: text({ optional: true, doc: "The required issuer of a JWT." }),
  audience: text({ optional: true, doc: "The required audience of a JWT." }),
  jwks_url: text({ optional: true, doc: "The URL of the keys of JWTs." }),
  public_key: texts("a list of public keys: PEM, JWK, base64 or hex", splitKeys, {
    optional: true,
    doc: "One or several; any may match. PEM (`${file:/etc/hookline/key.pem}`), a JWK, base64 of DER, or the raw key of Ed25519.",
  }),
  email: text({ optional: true, doc: "The service account that Google signs for." }),
  topic_arn: text({ optional: true, doc: "The accepted Amazon SNS topic." }),
  webhook_id: text({ optional: true, doc: "PayPal's id of the webhook." }),
  verify_online: oneOf(["false", "true"], {
    optional: true,
    doc: "For paypal: whether to verify each event with PayPal's API, since the signature covers only the body's CRC-32; while the API is unavailable events get 503. Default: false.",
  }),
  api: text({
    optional: true,
    doc: "PayPal's API for verify_online: `live` (default), `sandbox` or a URL.",
  }),
  client_id: text({ optional: true, doc: "Of the app at PayPal, for verify_online." }),
  client_secret: text({ optional: true, secret: true, doc: "Of the app at PayPal, for verify_online." }),
  min_version: oneOf(["1", "2", "3"], {
    optional: true,
    doc: "For hubspot: the oldest accepted version of signatures; default: 3. Versions 1 and 2 sign no time.",
  }),
  require_exp: oneOf(["true", "false"], {
    optional: true,
    doc: "For jwt: whether a token must have `exp`; default: true. A token without it never expires.",
  }),
} as const satisfies Options
