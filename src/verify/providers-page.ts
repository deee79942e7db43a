import { fileURLToPath } from "node:url"
import { writeFileSync } from "node:fs"
import type { Family, VerifierSettings } from "./family.ts"
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
- **signs**: what a request that somebody captured can't be changed in. *body*: every byte; *form*: a form's parameters,
  joined without separators; *members*: some of the body's; *CRC-32*: that of the body, for which anybody can find another
  body; –: nothing, as of a token. *time*, *id*: those of the delivery.
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
- \`jwt\` takes bearer tokens; \`issuer\` and \`audience\` are checked where they are set, and should be. A token must have
  \`exp\` unless \`require_exp = false\`: one that does not expire is good for ever.
`

const REPLAY = `## Captured requests

Who sees one signed request (in a log, at a proxy) can send it again. Three things limit that, and \`hookline check\` warns
where one is missing:

- **The time** that is signed must be within the tolerance.
- **An id** that is signed is taken once. It is claimed before the event is published, and free again when the event was not
  taken (4xx, 5xx), so that the sender's retry comes through. Of several uses at once the others wait for the first: where it
  is published they are answered 200 and not published; where it fails the next one is. Ids are remembered for twice the
  tolerance, and for 24 h at least, whatever the tolerance.
- **The body.** Where it is not signed (\`mailgun\`, \`paypal\`), an id belongs to the body that was taken with it: the same
  body again is the sender's retry, 200; another one is 401, \`replayed\` in the log.

Ids are remembered in the store of the pipeline's Deduplicator, a file or Redis, where it has one: through a restart, and for
all replicas together with Redis. Without one those of \`mailgun\` and \`paypal\` are in a file beside the embedded log; on
Kafka, and for all other presets, in memory: up to 200,000, the oldest are forgotten early, and a restart forgets all. With
\`[service] workers\` the processes tell each other what they took, so that of uses in the same moment each process may take
one: use Redis. While the store is down events get 503.

A **Deduplicator** by an id in the body does the same for providers that sign the body and no id.

**PayPal** signs the CRC-32 of the body: four bytes, put anywhere, make any other body have the same. \`verify_online = true\`
with \`client_id\` and \`client_secret\` of the app asks PayPal's own API about each event that has passed the certificate, with
the event byte for byte; \`api = sandbox\` or a URL for others than the live one. Its token is kept while it is good. While the
API can't be asked within 5 s, or answers anything but a verdict, the event gets 503. It is the safer form as far as PayPal
vouches for it: what its API compares beside the signature PayPal does not say.

**Forms.** What Twilio and Mandrill sign of a form is names and values one after the other; the same text can be cut into
other pairs, and into JSON. A body that was verified so is a form, never JSON.

**Twice the same member.** Where members are read to verify (\`adyen\`, \`aws-sns\`, \`linear\`, \`mailgun\`, \`ms-graph\`, \`paypal\`
online), a name that an object has twice is 400, \`duplicate_member\`: consumers might read the other one.

**Certificates and keys** are fetched from the provider's own hosts alone, at paths of the known form, without redirects, and
bounded in size, time and number; what failed is not fetched again for a second, then ever longer, up to five minutes.
Certificates must be valid, the provider's by name, and lead to an authority that Bun trusts; an issuer that is missing from
the chain, as with Amazon SNS, is fetched from where the certificate says (\`http://crt.*.amazontrust.com\`): let both through
where outgoing connections are filtered. Sets of keys (JWKS) are read up to 1 MiB, fetched once for all who wait.
`

const BODIES = `## Bodies that are no JSON object

What passes here goes to the Validator, which takes JSON objects alone: forms (Twilio, Mandrill), also those that read as
JSON, and lists (SendGrid, HubSpot, Event Grid's own schema) are verified, then refused with 400.

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
| \`meta\` | GET with hub.challenge | the challenge, to whoever has \`verify_token\`; without one set, nobody |
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
    signs(scheme),
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
    ...table(["preset", "provider", "scheme", "needs", "tolerance", "signs", "URL", "note"], presets),
    "",
    GENERIC_INTRODUCTION,
    ...table(["kind", "needs", "may have", "tolerance"], kinds),
    "",
    REPLAY,
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

/** With the first of the ways that it may be set up in. */
function signs({ covers, requires }: Family): string {
  const settings = Object.fromEntries(requires[0]!.map((key) => [key, ""])) as VerifierSettings
  const { body, time, id } = covers(settings)
  const parts = { whole: ["body"], form: ["form"], part: ["members"], checksum: ["CRC-32"], none: [] }[body]
  return [...parts, ...(time ? ["time"] : []), ...(id ? ["id"] : [])].join(", ") || "–"
}

const tolerance = ({ toleranceMs }: Family): string =>
  toleranceMs === undefined
    ? ""
    : toleranceMs === 0
      ? "off"
      : toleranceMs < 3_600_000
        ? `${toleranceMs / 1000} s`
        : `${toleranceMs / 3_600_000} h`

function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`.replaceAll("  |", " |")
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)]
}

if (import.meta.main) writeFileSync(PROVIDERS_PAGE, renderProviders())
