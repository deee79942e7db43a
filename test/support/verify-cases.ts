import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { makeSigner, makeVerifier, PROVIDER_NAMES, findFamily } from "../../src/verify/presets/providers.ts"
import { sampleRequest } from "../../src/verify/samples/samples.ts"
import type { VerifierSettings } from "../../src/verify/schemes/family.ts"
import { SECRET_FORMS } from "../../src/verify/schemes/secrets.ts"
import type { VerificationResult } from "../../src/verify/verifier.ts"

/** A request, what it is verified by, and what the service says of it: `hookline/verify` has to say the same. */
export interface VerifyCase {
  readonly name: string
  readonly settings: VerifierSettings
  readonly provider: string
  readonly url: string
  readonly method: string
  readonly headers: readonly (readonly [string, string])[]
  readonly body: string
  readonly nowMs: number
  readonly expected: VerificationResult
}

const VECTORS = join(import.meta.dir, "../../../shared/vectors/signature-vectors.json")
const NOW_MS = 1_790_000_000_000
const URL_POSTED = "https://hooks.example.com/in?a=1&b=two%20words"

const SECRETS: { readonly [form: string]: string } = {
  [SECRET_FORMS.hex]: "0123456789abcdef0123456789abcdef",
  [SECRET_FORMS.base64]: "b2J2aW91c2x5LWZha2Utc2VjcmV0LW9mLXRlc3Rz",
  [SECRET_FORMS.whsec]: "whsec_b2J2aW91c2x5LWZha2Utc2VjcmV0LW9mLXRlc3Rz",
}

/** Of all senders whose secret both sides have: as signed, with another body or id, late, with another secret, without headers. */
export async function verifyCases(): Promise<VerifyCase[]> {
  const cases: VerifyCase[] = []
  for (const provider of PROVIDER_NAMES) {
    const family = findFamily(provider)!
    const keys = family.requires.find((it) => it.includes("secret") || it.includes("password"))
    if (keys === undefined || family.signer === undefined || family.family === "jwt") continue
    const secret = SECRETS[family.secretForm ?? ""] ?? "obviously-fake-secret"
    const all: VerifierSettings = {
      secret: [secret],
      username: "hookline",
      password: ["obviously-fake:password"],
      header: "X-Signature",
      query: "token",
    }
    const settings = Object.fromEntries(
      keys.map((key) => [key, all[key as keyof typeof all]]),
    ) as VerifierSettings
    const signer = makeSigner(provider, settings)
    const sentWith = async (id: string) => {
      const { headers, body } = sampleRequest(provider, { id, number: 7, atMs: NOW_MS })
      const signed = await signer.sign({ method: "POST", url: URL_POSTED, headers, body, id }, NOW_MS)
      return {
        provider,
        settings,
        url: signed.url,
        method: signed.method,
        headers: [...signed.headers],
        body: new TextDecoder().decode(signed.body),
        nowMs: NOW_MS,
      }
    }
    const sent = await sentWith("evt_1")
    const others = {
      "as signed": {},
      "with another body": { body: `${sent.body} ` },
      late: { nowMs: NOW_MS + 30 * 86_400_000 },
      "without headers": { headers: [] },
      // a character for each byte of é in UTF-8
      "with an id that is not ASCII": await sentWith("evt_\u00c3\u00a9"),
      ...(settings.secret !== undefined && {
        "with another secret": { settings: { ...settings, secret: [`${secret.slice(0, -4)}AAAA`] } },
        "with two secrets": { settings: { ...settings, secret: [`${secret.slice(0, -4)}AAAA`, secret] } },
      }),
    }
    for (const [name, change] of Object.entries(others))
      cases.push(await judged({ name: `${provider} ${name}`, ...sent, ...change }))
  }
  return [...cases, ...(await publishedCases())]
}

async function judged(given: Omit<VerifyCase, "expected">): Promise<VerifyCase> {
  const { pathname, search } = new URL(given.url)
  const request = {
    method: given.method,
    url: given.url,
    path: pathname,
    query: search.slice(1),
    headers: new Headers(given.headers as [string, string][]),
    body: new TextEncoder().encode(given.body),
  }
  return {
    ...given,
    expected: await makeVerifier(given.provider, given.settings).verify(request, given.nowMs),
  }
}

/** The published signatures, where they are there, of senders with secrets. */
async function publishedCases(): Promise<VerifyCase[]> {
  if (!existsSync(VECTORS)) return []
  const vectors = JSON.parse(readFileSync(VECTORS, "utf8")) as {
    provider: string
    scheme: string
    name: string
    secret?: string
    method: string
    url: string | null
    headers: { [name: string]: string }
    body: string
    now?: number
  }[]
  return Promise.all(
    vectors
      .filter(({ scheme, secret }) => secret !== undefined && !scheme.endsWith("-primitive"))
      .map(({ provider, name, secret, url, headers, now = 0, ...it }) =>
        judged({
          ...it,
          provider,
          name: `${provider}: ${name}`,
          settings: { secret: [secret!] },
          url: url ?? "https://hooks.example.com/",
          headers: Object.entries(headers),
          nowMs: now * 1000,
        }),
      ),
  )
}
