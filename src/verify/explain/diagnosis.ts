import { Buffer } from "node:buffer"
import { slices } from "../../clock/slices.ts"
import type { Fetcher } from "../fetch/fetcher.ts"
import { SCHEMES } from "../presets/schemes.ts"
import { findFamily, makeVerifier } from "../presets/providers.ts"
import { WrongSetting } from "../schemes/family.ts"
import { readJson } from "../../json/read.ts"
import {
  Refused,
  Verified,
  type Explanation,
  type SignedRequest,
  type VerificationResult,
  type Verifier,
} from "../verifier.ts"
import {
  otherBodies,
  beforeEnrichment,
  readRecord,
  otherLists,
  otherSecrets,
  otherUrls,
} from "./candidates.ts"
import { exampleHeaders } from "./example.ts"
import type { Candidate, Inquiry, Mistake } from "./inquiry.ts"
import { otherScheme } from "./scheme.ts"
import { otherHeaders } from "./signatures.ts"

export interface RequestDiagnosis {
  readonly explanation: Explanation
  /** Mistakes found by trial: without them the signature matches. */
  readonly found: readonly Mistake[]
  /** Possible causes, where no mistake was found. */
  readonly possible: readonly Mistake[]
}

/**
 * Verifies a request and, if it is refused, searches for the mistake: verifies it again with one change at a time. Takes up
 * to a second: for people, not for events.
 *
 * @throws WrongSetting
 */
export async function diagnose(inquiry: Inquiry, fetcher?: Fetcher): Promise<RequestDiagnosis> {
  const { provider, settings, request, nowMs } = inquiry
  const verifier = makeVerifier(provider, settings, fetcher)
  const explanation = await verifier.explain(request, nowMs)
  const { result } = explanation
  if (result instanceof Verified || result.reason === "keys_unavailable")
    return { explanation, found: [], possible: [] }
  const example = await exampleHeaders(inquiry)
  const found = [
    ...missingHeaders(result, request, example),
    ...(await findMistakes(inquiry, explanation, example, fetcher)),
  ]
  if (found.length > 0) return { explanation, found, possible: [] }
  const timeless = await makeVerifier(provider, { ...settings, tolerance: 0 }, fetcher).verify(request, nowMs)
  return { explanation, found, possible: possibleMistakes(inquiry, result, timeless, verifier) }
}

function missingHeaders(result: Refused, { headers }: SignedRequest, example: Headers): Mistake[] {
  if (result.reason !== "missing_header") return []
  const { detail } = result
  const words = detail.match(/[\w-]+/g) ?? []
  const empty = words.filter((word) => headers.get(word) === "")
  if (empty.length > 0) return [{ kind: "header_empty", detail: empty.join(", ") }]
  // the example has the first of several alternative headers
  const named = words.find((word) => example.has(word)) ?? detail.replace(/^no /, "")
  return [{ kind: "header_missing", detail: named }]
}

/** Tries one change at a time, ignoring the timestamp. */
async function findMistakes(
  inquiry: Inquiry,
  explanation: Explanation,
  example: Headers,
  fetcher: Fetcher | undefined,
): Promise<readonly Mistake[]> {
  const { provider, settings, request, nowMs } = inquiry
  const slice = slices()
  const accepts = async (change: Partial<Inquiry>): Promise<boolean> => {
    // each try reads the whole body
    await slice()
    const changed = { ...inquiry, ...change }
    try {
      const verifier = makeVerifier(changed.provider, { ...changed.settings, tolerance: 0 }, fetcher)
      return (await verifier.verify(changed.request, nowMs)) instanceof Verified
    } catch (error) {
      if (error instanceof WrongSetting) return false
      throw error
    }
  }
  const firstOf = async (candidates: Iterable<Candidate>): Promise<readonly Mistake[]> => {
    for (const { mistake, ...change } of candidates) if (await accepts(change)) return [mistake]
    return []
  }
  const otherProviders = async (): Promise<readonly Mistake[]> => {
    const names: string[] = []
    for (const name of Object.keys(SCHEMES)) {
      // schemes without a signer need the network
      if (name === provider || findFamily(name)?.signer === undefined) continue
      if (await accepts({ provider: name })) names.push(name)
    }
    const [first] = names
    if (first === undefined) return []
    return [{ kind: "provider_other", detail: names.join(", "), options: { provider: first } }]
  }

  if (await accepts({})) return [timeMistake(explanation, nowMs)]
  const found = [
    ...(await firstOf(beforeEnrichment(request))),
    ...(await firstOf(otherHeaders(request, example))),
    ...(await firstOf(otherLists(settings))),
    ...(await firstOf(otherSecrets(settings, "secret"))),
    ...(await firstOf(otherSecrets(settings, "password"))),
    ...(await firstOf(otherBodies(request))),
    ...(findFamily(provider)?.signsUrl === true ? await firstOf(otherUrls(request)) : []),
    ...(await otherProviders()),
  ]
  if (found.length > 0) return found
  const mistake = await otherScheme(explanation, settings.secret ?? [], request)
  return mistake === undefined ? [] : [mistake]
}

function timeMistake({ timestampMs = 0, result }: Explanation, nowMs: number): Mistake {
  const isNear = (ms: number): boolean => Math.abs(ms - nowMs) < NEAR_MS
  if (isNear(timestampMs / 1000)) return { kind: "time_unit", detail: "milliseconds instead of seconds" }
  if (isNear(timestampMs * 1000)) return { kind: "time_unit", detail: "seconds instead of milliseconds" }
  const lateMs = nowMs - timestampMs
  // a later one is a replay, or was captured long ago
  const isRetry = lateMs > 0 && lateMs < 3_600_000
  return {
    kind: "time_off",
    detail: result instanceof Refused ? result.detail : "",
    options: isRetry ? { tolerance: `${Math.ceil(lateMs / 60_000) + 1}m` } : undefined,
  }
}

/** Ten years: a time in the wrong unit is off by far more. */
const NEAR_MS = 10 * 365 * 86_400_000

/** Possible causes where none was found. `timeless` is the result without the time check. */
function possibleMistakes(
  { request }: Inquiry,
  { reason }: Refused,
  timeless: VerificationResult,
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
    else if (headers.get("Content-Type")?.includes("json") === true && readJson(body) === undefined)
      add("body_truncated")
  }
  const record = needs === "body" ? readRecord(body) : undefined
  if (record !== undefined)
    add(
      "body_record",
      record.form === "line" ? "a line of hookline tail" : "a record that Hookline published",
    )
  if (signsUrl) add("url_unlike", url)
  add("secret_wrong")
  if (needs === "body" && body.length > 0 && record === undefined) add("body_unlike")
  return mistakes
}
