import { fileURLToPath } from "node:url"
import { writeFileSync } from "node:fs"
import type { Family } from "./family.ts"
import { GENERIC } from "./generic.ts"
import { PRESETS } from "./presets.ts"
import { describeRequired } from "./providers.ts"
import { SECRET_FORMS } from "./secrets.ts"

export const PROVIDERS_PAGE = fileURLToPath(new URL("../../docs/providers.md", import.meta.url))

const INTRODUCTION = `# Providers

Generated from src/verify/presets.ts by \`bin/bun src/verify/providers-page.ts\`; do not edit.

\`\`\`ini
[pipeline:payments:Verifier]
provider = stripe
secret = \${STRIPE_SIGNING_SECRET}
\`\`\`

A secret may be a list: any of them may match, so that secrets can be rotated without losing an event. It is written as
the provider hands it out; where the form is a certain one, another is an error at start.

- **needs**: the keys that have to be set beside \`provider\`.
- **tolerance**: how far a signed time may be off, both ways, unless \`tolerance\` is set; off: it is not checked unless
  it is set; empty: the provider signs no time. 0 turns the check off.
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

const LEFT_OUT = `## Left out

No provider that was asked for is left out. What a preset does not cover:

- **HubSpot, GitLab, Jira, Mollie, Webflow**: the unsigned or older ways that the notes name.
- **PayPal**: asking PayPal's own API to verify; Hookline verifies by the certificate.
- **Plaid**: fetching keys by \`/webhook_verification_key/get\`, which takes the account's credentials: keys are set as JWKs.
- **Amazon SNS** and **PayPal** can't be tried out by \`hookline send\`: nobody else has their keys.
`

/** Writes docs/providers.md: a table of the presets, one of the generic kinds. */
export function renderProviders(): string {
  const presets = Object.entries(PRESETS).map(([name, { title, scheme, docs, note }]) => [
    `\`${name}\``,
    `[${title}](${docs})`,
    scheme.family,
    keys(describeRequired(scheme)) + optional(scheme) + secretForm(scheme),
    tolerance(scheme),
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
