import { describeMistake, REASON_WORDS, type Mistake } from "../verify/explain/words.ts"
import { exampleHeaders } from "../verify/explain/example.ts"
import type { Diagnosis } from "../verify/explain/diagnosis.ts"
import type { Inquiry } from "../verify/explain/inquiry.ts"
import { PRESETS } from "../verify/presets/presets.ts"
import { findFamily } from "../verify/presets/providers.ts"
import { secretWarnings } from "../verify/presets/secret-warnings.ts"
import { Verified, type Explanation } from "../verify/verifier.ts"
import type { Conceal } from "./conceal.ts"
import { legend, visible } from "./visible.ts"

/** The report of `hookline verify`: the request, the signed bytes, expected signatures, age, result and likely mistake. */
export async function report(inquiry: Inquiry, diagnosis: Diagnosis, conceal: Conceal): Promise<string> {
  const { explanation } = diagnosis
  const sections: [string, string[]][] = [
    ["Received", await received(inquiry, explanation, conceal)],
    ["Signed", signed(explanation, conceal)],
    [isToken(explanation) ? "Token" : "Signature", signature(explanation)],
    ["Time", time(explanation, inquiry.nowMs)],
    ["Result", result(inquiry, diagnosis, conceal)],
    ["Warnings", warnings(inquiry)],
  ]
  const text = sections
    .filter(([, lines]) => lines.length > 0)
    .map(([title, lines], i) =>
      [`${i + 1}. ${title}`, ...lines.map((line) => (line === "" ? "" : `   ${line}`))].join("\n"),
    )
  return [heading(inquiry), ...text].join("\n\n")
}

/** The same as a JSON object. */
export function toJson(
  { provider, settings, nowMs }: Inquiry,
  diagnosis: Diagnosis,
  conceal: Conceal,
): string {
  const { explanation, found, possible } = diagnosis
  const { result, signed, received, expected, timestampMs, toleranceMs } = explanation
  const described = (mistakes: readonly Mistake[]): object[] =>
    mistakes.map((it) => ({ kind: it.kind, ...describeMistake({ ...it, detail: conceal(it.detail) }) }))
  return JSON.stringify({
    provider,
    verified: result instanceof Verified,
    ...(result instanceof Verified ? {} : { reason: result.reason, detail: conceal(result.detail) }),
    signed: signed && conceal(visible(signed)),
    // a token is the secret itself
    received: isToken(explanation) ? [] : received,
    expected,
    signed_at: timestampMs === undefined ? undefined : show(timestampMs),
    checked_at: show(nowMs),
    tolerance_ms: toleranceMs,
    mistakes: described(found),
    possible_mistakes: described(possible),
    warnings: warnings({ provider, settings }),
  })
}

function heading({ provider }: Inquiry): string {
  const preset = PRESETS[provider]
  const { family } = findFamily(provider)!
  return preset === undefined ? `${provider}: ${family}` : `${preset.title}: ${family}\n${preset.docs}`
}

/** Whether the secret itself is presented, which is not shown. */
const isToken = ({ signed, received }: Explanation): boolean => signed === undefined && received.length > 0

/** Headers likely to concern signatures, whether or not the scheme reads them. */
const RELEVANT = /sig|hmac|digest|hash|token|secret|time|auth|cert|-id$/i

async function received(inquiry: Inquiry, explanation: Explanation, conceal: Conceal): Promise<string[]> {
  const { provider, request } = inquiry
  const { method, url, headers, body } = request
  const example = await exampleHeaders(inquiry)
  const names = [...headers.keys()]
  const relevant = names.filter((name) => example.has(name) || RELEVANT.test(name))
  const others = names.filter((name) => !relevant.includes(name))
  const missing =
    explanation.result instanceof Verified ? [] : [...example.keys()].filter((name) => !headers.has(name))
  const spelled = (value: string): string =>
    isToken(explanation) || findFamily(provider)?.signer === undefined
      ? brief(value)
      : visible(Buffer.from(value))
  const hash = new Bun.CryptoHasher("sha256").update(body).digest("hex")
  return [
    `${method} ${conceal(findFamily(provider)?.signsUrl === true ? url : `${request.path}`)}`,
    ...relevant.map((name) => {
      const value = headers.get(name)!
      return `${name}: ${value === "" ? "(empty)" : conceal(spelled(value))}`
    }),
    ...missing.map((name) => `${name}: (missing)`),
    ...(others.length === 0 ? [] : [`also: ${others.join(", ")}`]),
    `body: ${body.length} bytes, SHA-256 ${hash}`,
  ]
}

/** A token is shown by its length only. */
const brief = (value: string): string => `(${value.length} characters)`

function signed({ signed }: Explanation, conceal: Conceal): string[] {
  if (signed === undefined) return []
  const shown = conceal(visible(signed))
  const signs = legend(shown)
  return [
    `${signed.length} bytes${signs === "" ? "" : `; ${signs}`}:`,
    "",
    ...shown.replace(/\n$/, "").split("\n"),
  ]
}

function signature(explanation: Explanation): string[] {
  const { received, expected } = explanation
  if (isToken(explanation)) return received.map((it) => `received  ${brief(it)}`)
  const isExpected = (it: string): string => (expected.includes(it) ? "  <- matches" : "")
  return [
    ...received.map((it) => `received  ${it}${isExpected(it)}`),
    ...expected.map((it, i) => `expected  ${it}  (secret ${i + 1})`),
    ...(received.length > 0 && expected.length === 0
      ? ["expected  (unknown: a public key can't produce it)"]
      : []),
  ]
}

function time({ timestampMs, toleranceMs }: Explanation, nowMs: number): string[] {
  if (timestampMs === undefined) return []
  const ageS = Math.round((nowMs - timestampMs) / 1000)
  const age = ageS < 0 ? `${-ageS} s ahead` : `${ageS} s old`
  const tolerance = toleranceMs === 0 ? "not checked" : `tolerance ${toleranceMs / 1000} s`
  return [`signed at ${show(timestampMs)}`, `checked at ${show(nowMs)}`, `${age}; ${tolerance}`]
}

/** A time in a wrong unit may exceed the range of Date. */
function show(ms: number): string {
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? `${ms} ms after 1970` : date.toISOString()
}

/** The warnings of `hookline check` about the secrets. */
const warnings = ({ provider, settings }: Pick<Inquiry, "provider" | "settings">): string[] =>
  secretWarnings(provider, settings).map(({ key, text }) => `${key} ${text}`)

function result(inquiry: Inquiry, { explanation, found, possible }: Diagnosis, conceal: Conceal): string[] {
  const { result } = explanation
  if (result instanceof Verified) return ["verified"]
  const note = PRESETS[inquiry.provider]?.note
  const described = (mistakes: readonly Mistake[]): string[] =>
    mistakes.flatMap((mistake) => {
      // only the detail is concealed: a gap in the fixed words would reveal a secret that is one of them
      const { problem, remedy } = describeMistake({ ...mistake, detail: conceal(mistake.detail) })
      return [`- ${problem}`, `  ${remedy}`]
    })
  return [
    `refused (${result.reason}): ${conceal(result.detail)}`,
    `${REASON_WORDS[result.reason]}`,
    ...(found.length > 0 ? ["", "Likely mistake:", ...described(found)] : []),
    ...(found.some(({ kind }) => kind === "time_off")
      ? ["  To check a captured request at its own time, set --now."]
      : []),
    ...(possible.length > 0
      ? ["", "No known mistake explains it. Possible causes:", ...described(possible)]
      : []),
    ...(note === undefined ? [] : ["", `${PRESETS[inquiry.provider]!.title}: ${note}`]),
  ]
}
