import { flippedBodies, MOST_BYTES_FLIPPED, otherBodies } from "./diagnosis-bodies.ts"
import { exampleHeaders } from "./diagnosis-example.ts"
import { otherScheme } from "./diagnosis-scheme.ts"
import { otherSecrets } from "./diagnosis-secrets.ts"
import { otherHeaders } from "./diagnosis-signatures.ts"
import { otherUrls } from "./diagnosis-urls.ts"
import type { Mistake } from "./diagnosis-words.ts"
import { WrongSetting, type Outside, type VerifierSettings } from "./family.ts"
import { PRESETS } from "./presets.ts"
import { findFamily, makeVerifier } from "./providers.ts"
import {
  Refused,
  Verified,
  type Explanation,
  type SignedRequest,
  type Verdict,
  type Verifier,
} from "./verifier.ts"

/** A request and how it is to be judged. */
export interface Inquiry {
  readonly provider: string
  readonly settings: VerifierSettings
  readonly request: SignedRequest
  readonly nowMs: number
}

export interface Diagnosis {
  readonly explanation: Explanation
  /** What is wrong, found by trying: without it the request is right, as far as the signature tells. */
  readonly found: readonly Mistake[]
  /** What may be wrong, where nothing was found. */
  readonly possible: readonly Mistake[]
}

/**
 * Judges a request, and where it is refused looks for the mistake: verifies it again with one thing changed, as often as
 * there are likely mistakes. Takes up to a second or so: for people, not for events.
 *
 * @throws WrongSetting
 */
export async function diagnose(inquiry: Inquiry, outside?: Outside): Promise<Diagnosis> {
  const { provider, settings, request, nowMs } = inquiry
  const verifier = makeVerifier(provider, settings, outside)
  const explanation = await verifier.explain(request, nowMs)
  const { verdict } = explanation
  if (verdict instanceof Verified || verdict.reason === "keys_unavailable")
    return { explanation, found: [], possible: [] }
  const example = await exampleHeaders(inquiry)
  const found = [
    ...missingHeaders(verdict, request, example),
    ...(await new Search(inquiry, outside).mistakes(explanation, example)),
  ]
  if (found.length > 0) return { explanation, found, possible: [] }
  const timeless = await makeVerifier(provider, { ...settings, tolerance: 0 }, outside).verify(request, nowMs)
  return { explanation, found, possible: possibleMistakes(inquiry, verdict, timeless, verifier) }
}

function missingHeaders(verdict: Refused, { headers }: SignedRequest, example: Headers): Mistake[] {
  if (verdict.reason !== "missing_header") return []
  const { detail } = verdict
  const words = detail.match(/[\w-]+/g) ?? []
  const empty = words.filter((word) => headers.get(word) === "")
  if (empty.length > 0) return [{ kind: "header_empty", detail: empty.join(", ") }]
  // where any of several headers would do, the example has the first
  const named = words.find((word) => example.has(word)) ?? detail.replace(/^no /, "")
  return [{ kind: "header_missing", detail: named }]
}

/** Tries one change at a time, with the time left out of it. */
class Search {
  readonly #inquiry: Inquiry
  readonly #outside: Outside | undefined
  readonly #timeless: VerifierSettings

  constructor(inquiry: Inquiry, outside: Outside | undefined) {
    this.#inquiry = inquiry
    this.#outside = outside
    this.#timeless = { ...inquiry.settings, tolerance: 0 }
  }

  async mistakes(explanation: Explanation, example: Headers): Promise<Mistake[]> {
    const { request, settings } = this.#inquiry
    if (await this.#accepts({})) return this.#timeMistakes(explanation)
    const found = [
      await this.#firstOf(otherHeaders(request.headers, example), ({ headers }) => ({
        request: { ...request, headers },
      })),
      await this.#firstOf((settings.secret ?? []).flatMap(otherSecrets), ({ secret }) => ({
        settings: { secret: [secret] },
      })),
      await this.#firstOf((settings.password ?? []).flatMap(otherSecrets), ({ secret }) => ({
        settings: { password: [secret] },
      })),
      await this.#firstOf(otherBodies(request.body), ({ body }) => ({ request: { ...request, body } })),
      await this.#otherUrl(),
      await this.#otherProviders(),
    ].filter((it) => it !== undefined)
    if (found.length > 0) return found
    const scheme = otherScheme(explanation, settings.secret ?? [], request)
    if (scheme !== undefined) return [scheme]
    const bit = await this.#flippedBit(explanation)
    return bit === undefined ? [] : [bit]
  }

  async #accepts(change: {
    provider?: string
    settings?: VerifierSettings
    request?: SignedRequest
  }): Promise<boolean> {
    const { provider, request, nowMs } = this.#inquiry
    try {
      const settings = { ...this.#timeless, ...change.settings }
      const verifier = makeVerifier(change.provider ?? provider, settings, this.#outside)
      return (await verifier.verify(change.request ?? request, nowMs)) instanceof Verified
    } catch (error) {
      if (error instanceof WrongSetting) return false
      throw error
    }
  }

  async #firstOf<T extends { readonly mistake: Mistake }>(
    others: Iterable<T>,
    change: (other: T) => { settings?: VerifierSettings; request?: SignedRequest },
  ): Promise<Mistake | undefined> {
    for (const other of others) if (await this.#accepts(change(other))) return other.mistake
    return undefined
  }

  async #otherUrl(): Promise<Mistake | undefined> {
    const { provider, request } = this.#inquiry
    if (findFamily(provider)?.signsUrl !== true) return undefined
    const others = otherUrls(request.url, request.headers)
    return this.#firstOf(
      others.map((url) => ({ url, mistake: { kind: "url_other", detail: url } as const })),
      ({ url }) => ({ request: { ...request, url } }),
    )
  }

  async #otherProviders(): Promise<Mistake | undefined> {
    const names: string[] = []
    for (const provider of Object.keys(PRESETS)) {
      // providers that nobody else can sign for are asked over the network
      if (provider === this.#inquiry.provider || findFamily(provider)?.signer === undefined) continue
      if (await this.#accepts({ provider })) names.push(provider)
    }
    return names.length === 0 ? undefined : { kind: "provider_other", detail: names.join(", ") }
  }

  async #flippedBit({ verdict }: Explanation): Promise<Mistake | undefined> {
    const { provider, request, nowMs } = this.#inquiry
    const verifier = makeVerifier(provider, this.#timeless, this.#outside)
    const isSigned =
      verifier.needs === "body" && !(verdict instanceof Verified) && verdict.reason !== "missing_header"
    if (!isSigned || request.body.length > MOST_BYTES_FLIPPED) return undefined
    for (const { body, mistake } of flippedBodies(request.body)) {
      const judged = verifier.verify({ ...request, body }, nowMs)
      if ((judged instanceof Promise ? await judged : judged) instanceof Verified) return { ...mistake }
    }
    return undefined
  }

  #timeMistakes({ timestampMs = 0, verdict }: Explanation): Mistake[] {
    const { nowMs } = this.#inquiry
    const isNear = (ms: number): boolean => Math.abs(ms - nowMs) < NEAR_MS
    if (isNear(timestampMs / 1000))
      return [{ kind: "time_unit", detail: "milliseconds, where seconds are right" }]
    if (isNear(timestampMs * 1000))
      return [{ kind: "time_unit", detail: "seconds, where milliseconds are right" }]
    return [{ kind: "time_off", detail: verdict instanceof Refused ? verdict.detail : "" }]
  }
}

/** Ten years: a time that is in the wrong unit is off by far more. */
const NEAR_MS = 10 * 365 * 86_400_000

/**
 * What may be wrong where nothing was found.
 *
 * @param timeless the verdict with the time left out of it
 */
function possibleMistakes(
  { request }: Inquiry,
  { reason }: Refused,
  timeless: Verdict,
  { needs, signsUrl }: Verifier,
): Mistake[] {
  if (timeless instanceof Verified || timeless.reason !== "no_match") return []
  const mistakes: Mistake[] = []
  const add = (kind: Mistake["kind"], detail = ""): unknown => mistakes.push({ kind, detail })
  const { body, headers, url } = request
  const text = Buffer.from(body).toString()
  if (reason !== "no_match") add("signature_too")
  if (needs === "body") {
    if (body.length === 0) add("body_empty")
    else if (text.includes("\uFFFD")) add("body_decoded")
    else if (headers.get("Content-Type")?.includes("json") === true && !isJson(text)) add("body_truncated")
  }
  if (signsUrl) add("url_unlike", url)
  add("secret_wrong")
  if (needs === "body" && body.length > 0) add("body_unlike")
  return mistakes
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
