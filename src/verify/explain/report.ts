import { withoutHidden } from "../../process/hidden-segments.ts"
import { headerBytes } from "../../headers.ts"
import { settle, sha256 } from "../crypto.ts"
import { describeAfter } from "../presets/delivery-facts.ts"
import { presetOf } from "../presets/presets.ts"
import { findFamily, makeVerifier, nameOf } from "../presets/providers.ts"
import { secretWarnings } from "../presets/secret-warnings.ts"
import { factsOf } from "../presets/sender-facts.ts"
import { REASON_WORDS, Verified, type Explanation } from "../verifier.ts"
import type { Advice } from "./advice.ts"
import { concealer, masker, urlConcealer, type Conceal } from "./conceal.ts"
import type { RequestDiagnosis } from "./diagnosis.ts"
import { exampleHeaders } from "./example.ts"
import { type Inquiry, describeMistake, type Mistake, type MistakeKind } from "./inquiry.ts"
import { stateOfStep, type StepName, type StepState } from "./step-state.ts"
import { linesAgainst } from "./suggestion.ts"
import { legend, visible } from "./visible.ts"

/** Why a request is verified or refused, for people: a JSON object without secrets, of the form that the admin API has. */
export interface Report {
  /** null: the pipeline verifies nobody. */
  provider: string | null
  is_verified: boolean
  /** A RefusedReason; null: verified. */
  reason: string | null
  /** The specifics of the reason. */
  detail: string | null
  /** The result as a sentence. */
  result: string
  steps: Step[]
  mistakes: ReportedMistake[]
  /** What the sender does after the answer that it gets; null: not known. */
  sender: string | null
  /** What to do about a request that was refused for another reason than its signature; null: nothing is known. */
  advice: Advice | null
  /** Lines of the configuration file against the first mistake that has any. */
  configuration: string | null
  /** The provider's pitfalls. */
  note: string | null
  /** Doubts about the secrets. */
  warnings: string[]
}

export interface Step {
  name: StepName
  state: StepState
  lines: string[]
}

export interface ReportedMistake {
  kind: MistakeKind
  problem: string
  remedy: string
  /** Whether it was found by trial; else it is a possible cause. */
  is_certain: boolean
}

export interface ReportOptions {
  /** Whether signatures are shortened too: who sees one that was expected could send the request. */
  readonly masksSignatures?: boolean | undefined
}

/** The report of a request that could not be diagnosed, with the reason as a sentence. */
export const notJudged = (provider: string | null, result: string): Report => ({
  provider,
  is_verified: false,
  reason: null,
  detail: null,
  result,
  steps: [],
  mistakes: [],
  sender: null,
  advice: null,
  configuration: null,
  note: null,
  warnings: [],
})

/** Reports a diagnosis. */
export async function reportOf(
  inquiry: Inquiry,
  diagnosis: RequestDiagnosis,
  { masksSignatures = false }: ReportOptions = {},
): Promise<Report> {
  const { provider, settings, pipeline } = inquiry
  const { explanation, found, possible } = diagnosis
  const conceal = concealer(settings)
  const mask: Conceal = masksSignatures ? masker(explanation, inquiry.request.headers) : (text) => text
  const concealUrl = urlConcealer(inquiry.request)
  const show: Conceal = (text) => withoutHidden(mask(conceal(concealUrl(text))))
  const preset = presetOf(provider)
  // only the detail is concealed: a gap in the fixed words would reveal a secret that is one of them
  const described = (mistakes: readonly Mistake[], isCertain: boolean): ReportedMistake[] =>
    mistakes.map((it) => ({
      kind: it.kind,
      ...describeMistake({ ...it, detail: show(it.detail) }),
      is_certain: isCertain,
    }))
  const suggested = found.map((it) => linesAgainst(it, provider, pipeline)).find((it) => it !== undefined)
  return {
    provider: nameOf(provider),
    ...resultOf(explanation, show),
    steps: await stepsOf(inquiry, diagnosis, { show, masksSignatures }),
    mistakes: [...described(found, true), ...described(possible, false)],
    sender: afterAnswer(inquiry, explanation),
    advice: null,
    configuration: suggested === undefined ? null : show(suggested),
    note: preset?.note ?? null,
    warnings: secretWarnings(provider, settings).map(({ key, text }) => `${key} ${text}`),
  }
}

function resultOf(
  { result }: Explanation,
  show: Conceal,
): Pick<Report, "is_verified" | "reason" | "detail" | "result"> {
  if (result instanceof Verified)
    return { is_verified: true, reason: null, detail: null, result: "The request is verified." }
  const detail = show(result.detail)
  const sentence = `The request is refused (${result.reason}): ${REASON_WORDS[result.reason]} (${detail}).`
  return { is_verified: false, reason: result.reason, detail, result: sentence }
}

function afterAnswer({ provider }: Inquiry, { result }: Explanation): string | null {
  const isVerified = result instanceof Verified
  const status = isVerified || result.reason === "keys_unavailable" ? 503 : 401
  const clauses = describeAfter(status, factsOf(nameOf(provider)))
  const answer = `${status}${isVerified ? ", as when the broker is unavailable," : ""}`
  return clauses.length === 0
    ? null
    : `After ${answer} ${presetOf(provider)?.title ?? nameOf(provider)} ${clauses.join("; it ")}.`
}

interface Showing {
  readonly show: Conceal
  readonly masksSignatures: boolean
}

async function stepsOf(inquiry: Inquiry, diagnosis: RequestDiagnosis, showing: Showing): Promise<Step[]> {
  const { explanation } = diagnosis
  const { provider, settings, nowMs } = inquiry
  const hasToken = isToken(inquiry, explanation)
  const steps: [StepName, string[]][] = [["Received", await received(inquiry, explanation, showing)]]
  if (!hasToken) steps.push(["Signed", signed(explanation, showing)])
  steps.push([hasToken ? "Token" : "Signature", signature(explanation, hasToken, showing)])
  if (explanation.timestampMs !== undefined || makeVerifier(provider, settings).toleranceMs > 0)
    steps.push(["Time", time(explanation, nowMs)])
  return steps.map(([name, lines]) => ({ name, state: stateOfStep(name, diagnosis), lines }))
}

/** Whether the secret itself is presented, which is not shown. */
export const isToken = (
  { provider, settings }: Pick<Inquiry, "provider" | "settings">,
  { signed, received }: Explanation,
): boolean =>
  signed === undefined && (received.length > 0 || findFamily(provider)!.covers(settings).body === "none")

/** Headers likely to concern signatures, whether or not the scheme reads them. */
const RELEVANT = /sig|hmac|digest|hash|token|secret|time|auth|cert|-id$/i
/** Headers that may hold credentials of another scheme. */
const CREDENTIAL = /auth|token|secret|key|cookie|password/i

async function received(
  inquiry: Inquiry,
  explanation: Explanation,
  { show, masksSignatures }: Showing,
): Promise<string[]> {
  const { provider, request } = inquiry
  const { method, url, headers, body } = request
  const example = await exampleHeaders(inquiry)
  const names = [...headers.keys()]
  const relevant = names.filter((name) => example.has(name) || RELEVANT.test(name))
  const others = names.filter((name) => !relevant.includes(name))
  const missing =
    explanation.result instanceof Verified ? [] : [...example.keys()].filter((name) => !headers.has(name))
  const isHidden = (name: string): boolean =>
    isToken(inquiry, explanation) ||
    findFamily(provider)?.signer === undefined ||
    (masksSignatures && CREDENTIAL.test(name) && !example.has(name))
  const hash = await settle(() => sha256([body], "hex"))
  return [
    `${method} ${show(findFamily(provider)?.signsUrl === true ? url : `${request.path}`)}`,
    ...relevant.map((name) => {
      const value = headers.get(name)!
      if (value === "") return `${name}: (empty)`
      return `${name}: ${show(isHidden(name) ? brief(value) : visible(headerBytes(value)))}`
    }),
    ...missing.map((name) => `${name}: (missing)`),
    ...(others.length === 0 ? [] : [`also: ${others.join(", ")}`]),
    `body: ${body.length} bytes, SHA-256 ${hash}`,
  ]
}

/** A token is shown by its length only. */
const brief = (value: string): string => `(${value.length} characters)`

function signed({ signed }: Explanation, { show }: Showing): string[] {
  if (signed === undefined) return []
  const end = endOfShown(signed)
  const shown = show(visible(signed.subarray(0, end)))
  const signs = legend(shown)
  return [
    `${signed.length} bytes${signs === "" ? "" : `; ${signs}`}:`,
    "",
    ...shown.replace(/\n$/, "").split("\n"),
    ...(end < signed.length ? [`(${signed.length - end} more bytes)`] : []),
  ]
}

/** How much of what was signed is shown: nobody reads more. */
const MOST_SHOWN_BYTES = 64 * 1024

/** No character of UTF-8 is cut in two. */
function endOfShown(bytes: Uint8Array): number {
  if (bytes.length <= MOST_SHOWN_BYTES) return bytes.length
  let end = MOST_SHOWN_BYTES
  while (end > MOST_SHOWN_BYTES - 4 && (bytes[end]! & 0xc0) === 0x80) end--
  return end
}

function signature({ received, expected }: Explanation, hasToken: boolean, { show }: Showing): string[] {
  if (hasToken) return received.map((it) => `received  ${brief(it)}`)
  const isExpected = (it: string): string => (expected.includes(it) ? "  <- matches" : "")
  const lines = [
    ...received.map((it) => `received  ${it}${isExpected(it)}`),
    ...expected.map((it, i) => `expected  ${it}  (secret ${i + 1})`),
    ...(received.length > 0 && expected.length === 0
      ? ["expected  (unknown: a public key can't produce it)"]
      : []),
  ]
  return lines.map(show)
}

function time({ timestampMs, toleranceMs }: Explanation, nowMs: number): string[] {
  if (timestampMs === undefined) return []
  const ageS = Math.round((nowMs - timestampMs) / 1000)
  const age = ageS < 0 ? `${-ageS} s ahead` : `${ageS} s old`
  const tolerance = toleranceMs === 0 ? "not checked" : `tolerance ${toleranceMs / 1000} s`
  return [`signed at ${showTime(timestampMs)}`, `checked at ${showTime(nowMs)}`, `${age}; ${tolerance}`]
}

/** A time in a wrong unit may exceed the range of Date. */
export function showTime(ms: number): string {
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? `${ms} ms after 1970` : date.toISOString()
}
