import { fileURLToPath } from "node:url"
import { writeFileSync } from "node:fs"
import type { Family } from "./family.ts"
import { GENERIC } from "./generic.ts"
import { PRESETS } from "./presets.ts"
import { describeRequired } from "./providers.ts"
import { SECRET_FORMS } from "./secrets.ts"

export const PROVIDERS_PAGE = fileURLToPath(new URL("../../docs/providers.md", import.meta.url))

const INTRODUCTION = `# Providers

Generated from src/verify/presets.ts by \`npm run docs\`; do not edit.

\`\`\`ini
[pipeline:payments:Verifier]
provider = stripe
secret = \${STRIPE_SIGNING_SECRET}
\`\`\`

A secret may be a list, by comma or line: any of them may match, so that secrets can be rotated without losing an event.
It is written as the provider hands it out; where the form is a certain one, another is an error at start. One with a
comma in it goes in double quotes; passwords go one a line, public keys also as PEM or JWK.

- **needs**: the keys that have to be set beside \`provider\`.
- **tolerance**: how far a signed time may be off, both ways, unless \`tolerance\` is set; off: it is not checked unless
  it is set; empty: the provider signs no time. 0 turns the check off. The figure is the provider's, or its library's;
  *ours*: the provider names none, and it is our choice. Of JSON Web Tokens it is the leeway for \`exp\` and \`nbf\`; of
  Plaid's, their age.
- **URL**: the provider signs the URL that it sends to. Behind a proxy set \`public_url\`, or \`trusted_proxies\` whose
  X-Forwarded-Proto and X-Forwarded-Host are right.
`

const GENERIC_INTRODUCTION = `## Other senders

For everyone else \`provider\` is one of these kinds, and the keys say where things are.

- \`payload\` is what is signed: text with \`{timestamp}\`, \`{id}\`, \`{method}\`, \`{url}\` and \`{body}\` in it; \`{body}\` by default.
  \`{timestamp}\` goes with \`timestamp_header\` (seconds, milliseconds or RFC 3339, told by the form), \`{id}\` with \`id_header\`.
- \`header\` is where the signature is, \`prefix\` what stands before it, \`algorithm\` sha1, sha256 (the default) or sha512,
  \`encoding\` hex (the default), base64 or base64url.
- \`public_key\` is PEM, base64 of DER (SPKI) or a JWK; for Ed25519 also the 32 bytes in hex. ECDSA signatures are DER, of SHA-256.
- \`jwt\` takes bearer tokens; \`issuer\` and \`audience\` are checked where they are set, and should be.
`

const BODIES = `## Bodies that are no JSON object

What passes here goes to the Validator, which takes JSON objects alone: forms (Twilio, Mandrill) and lists (SendGrid,
HubSpot, Event Grid's own schema) are verified, then refused with 400.

## Handshakes

Answered by themselves, with a line in the log; nothing is published. GET, HEAD and OPTIONS are taken only where a preset
is asked with them, and are 405 elsewhere. Where \`content_types\` is set, it has to have the form's type for those marked *.

| preset | asked | answered |
|---|---|---|
| \`adyen\` | each event | \`[accepted]\`, unless response_body is set |
| \`asana\` | X-Hook-Secret, not signed | with the same header, once: while secret_file is not there yet |
| \`aws-sns\` | SubscriptionConfirmation, signed | 200; the URL is visited only with \`confirm = true\`, only at Amazon's hosts |
| \`azure-eventgrid\` | SubscriptionValidationEvent, with the secret | validationResponse |
| \`azure-eventgrid\` | OPTIONS of eventgrid.azure.net | WebHook-Allowed-Origin |
| \`discord\` | PING, signed | \`{"type":1}\`, or 204 for webhook events |
| \`dropbox\` | GET with challenge | the challenge |
| \`intercom\`, \`mandrill\`, \`trello\` | HEAD | 200 |
| \`meta\` | GET with hub.challenge | the challenge, to whoever has \`verify_token\` |
| \`ms-graph\` | POST with validationToken | the token |
| \`notion\` | verification_token, not signed | 200, once: while secret_file is not there yet |
| \`okta\` | GET with X-Okta-Verification-Challenge | the challenge |
| \`slack\` | url_verification, signed; ssl_check* | the challenge; 200 |
| \`twitch\` | webhook_callback_verification, signed | the challenge |
| \`woocommerce\` | ping, not signed* | 200 |
| \`x-twitter\` | GET with crc_token | its HMAC by the first secret; tokens that could be a body are not signed |
| \`xero\` | intent to receive | 200, or 401 where the signature is wrong, without a body |
| \`zoom\` | endpoint.url_validation, signed | the HMAC of plainToken by the secret that signed the question |

\`secret_file\` (Asana, Notion) keeps the secret that the provider makes up, for its owner alone to read; it is never
logged. Whoever asks first is believed: begin with an address that nobody knows, and see in the log when it was asked. To
begin anew, remove the file and start again. A \`secret\` in its place is the safer way where it is known.

With \`mode = observe\` only what was verified gets an answer of those that are signed.
`

const LEFT_OUT = `## Left out

No provider that was asked for is left out. What a preset does not cover:

- **HubSpot, GitLab, Jira, Mollie, Webflow**: the unsigned or older ways that the notes name.
- **PayPal**: asking PayPal's own API to verify; Hookline verifies by the certificate.
- **Plaid**: fetching keys by \`/webhook_verification_key/get\`, which takes the account's credentials: keys are set as JWKs.
- **Amazon SNS** and **PayPal** can't be tried out by \`hookline send\`: nobody else has their keys.
`

/** Writes docs/providers.md: a table of the presets, one of the generic kinds. */
export function renderProviders(): string {
  const presets = Object.entries(PRESETS).map(([name, { title, scheme, docs, note, toleranceIsOurs }]) => [
    `\`${name}\``,
    `[${title}](${docs})`,
    scheme.family,
    keys(describeRequired(scheme)) + optional(scheme) + secretForm(scheme),
    tolerance(scheme) + (toleranceIsOurs === true ? ", *ours*" : ""),
    scheme.signsUrl ? "yes" : "",
    note ?? "",
  ])
  const kinds = Object.entries(GENERIC).map(([name, family]) => [
    `\`${name}\``,
    keys(describeRequired(family)),
    family.optional.map((key) => `\`${key}\``).join(", "),
    tolerance(family),
  ])
  return [
    INTRODUCTION,
    ...table(["preset", "provider", "scheme", "needs", "tolerance", "URL", "note"], presets),
    "",
    GENERIC_INTRODUCTION,
    ...table(["kind", "needs", "may have", "tolerance"], kinds),
    "",
    BODIES,
    LEFT_OUT,
  ].join("\n")
}

const keys = (text: string): string =>
  text.replace(/[a-z_]+/g, (it) => (/^(and|or)$/.test(it) ? it : `\`${it}\``))

const optional = (family: Family): string => {
  const more = family.optional.filter((key) => key !== "tolerance")
  return more.length === 0 ? "" : `; may have ${more.map((key) => `\`${key}\``).join(", ")}`
}

/** Said where it is not just what the provider shows. */
const secretForm = ({ secretForm, requires }: Family): string =>
  secretForm === undefined || secretForm === SECRET_FORMS.text || !requires.flat().includes("secret")
    ? ""
    : `; secret: ${secretForm}`

const tolerance = ({ toleranceMs }: Family): string =>
  toleranceMs === undefined ? "" : toleranceMs === 0 ? "off" : `${toleranceMs / 1000} s`

function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`.replaceAll("  |", " |")
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)]
}

if (import.meta.main) writeFileSync(PROVIDERS_PAGE, renderProviders())
