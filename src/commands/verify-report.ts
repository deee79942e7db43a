import { describeMistake, REASON_WORDS, type Mistake } from "../verify/diagnosis-words.ts"
import { exampleHeaders } from "../verify/diagnosis-example.ts"
import type { Diagnosis, Inquiry } from "../verify/diagnosis.ts"
import { PRESETS } from "../verify/presets.ts"
import { findFamily } from "../verify/providers.ts"
import { secretWarnings } from "../verify/secret-warnings.ts"
import { Verified, type Explanation } from "../verify/verifier.ts"
import type { Conceal } from "./conceal.ts"
import { legend, visible } from "./visible.ts"

/** Writes out what came, what was signed, what was expected, how old it is, the verdict and the likely mistake. */
export async function report(inquiry: Inquiry, diagnosis: Diagnosis, conceal: Conceal): Promise<string> {
  const { explanation } = diagnosis
  const sections: [string, string[]][] = [
    ["Received", await received(inquiry, explanation, conceal)],
    ["Signed", signed(explanation, conceal)],
    [isToken(explanation) ? "Token" : "Signature", signature(explanation)],
    ["Time", time(explanation, inquiry.nowMs)],
    ["Verdict", verdict(inquiry, diagnosis, conceal)],
    ["Warnings", warnings(inquiry)],
  ]
  const text = sections
    .filter(([, lines]) => lines.length > 0)
    .map(([title, lines], i) =>
      [`${i + 1}. ${title}`, ...lines.map((line) => (line === "" ? "" : `   ${line}`))].join("\n"),
    )
  return [heading(inquiry), ...text].join("\n\n")
}

function heading({ provider }: Inquiry): string {
  const preset = PRESETS[provider]
  const { family } = findFamily(provider)!
  return preset === undefined ? `${provider}: ${family}` : `${preset.title}: ${family}\n${preset.docs}`
}

/** Whether what is presented is the secret itself, which is not shown. */
const isToken = ({ signed, received }: Explanation): boolean => signed === undefined && received.length > 0

/** Headers of senders that have to do with signatures, whether or not the scheme reads them. */
const TELLING = /sig|hmac|digest|hash|token|secret|time|auth|cert|-id$/i

async function received(inquiry: Inquiry, explanation: Explanation, conceal: Conceal): Promise<string[]> {
  const { provider, request } = inquiry
  const { method, url, headers, body } = request
  const example = await exampleHeaders(inquiry)
  const names = [...headers.keys()]
  const telling = names.filter((name) => example.has(name) || TELLING.test(name))
  const others = names.filter((name) => !telling.includes(name))
  const missing =
    explanation.verdict instanceof Verified ? [] : [...example.keys()].filter((name) => !headers.has(name))
  const spelled = (value: string): string =>
    isToken(explanation) || findFamily(provider)?.signer === undefined
      ? brief(value)
      : visible(Buffer.from(value))
  const hash = new Bun.CryptoHasher("sha256").update(body).digest("hex")
  return [
    `${method} ${conceal(findFamily(provider)?.signsUrl === true ? url : `${request.path}`)}`,
    ...telling.map((name) => {
      const value = headers.get(name)!
      return `${name}: ${value === "" ? "(empty)" : conceal(spelled(value))}`
    }),
    ...missing.map((name) => `${name}: (missing)`),
    ...(others.length === 0 ? [] : [`also: ${others.join(", ")}`]),
    `body: ${body.length} bytes, SHA-256 ${hash}`,
  ]
}

/** A token, of which only the length is told, or a long value, of which the beginning is. */
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
      ? ["expected  (the key checks it, it does not make it)"]
      : []),
  ]
}

function time({ timestampMs, toleranceMs }: Explanation, nowMs: number): string[] {
  if (timestampMs === undefined) return []
  const ageS = Math.round((nowMs - timestampMs) / 1000)
  const age = ageS < 0 ? `${-ageS} s ahead` : `${ageS} s old`
  const tolerance =
    toleranceMs === 0 ? "the time is not checked" : `${toleranceMs / 1000} s either way are tolerated`
  return [`signed at ${show(timestampMs)}`, `judged at ${show(nowMs)}`, `${age}; ${tolerance}`]
}

/** Times beyond what a Date can hold come from units that were mistaken. */
function show(ms: number): string {
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? `${ms} ms after 1970` : date.toISOString()
}

/** What `check` would say of the secrets, too. */
const warnings = ({ provider, settings }: Inquiry): string[] =>
  secretWarnings(provider, settings).map(({ key, text }) => `${key} ${text}`)

function verdict(inquiry: Inquiry, { explanation, found, possible }: Diagnosis, conceal: Conceal): string[] {
  const { verdict } = explanation
  if (verdict instanceof Verified) return ["verified"]
  const note = PRESETS[inquiry.provider]?.note
  const described = (mistakes: readonly Mistake[]): string[] =>
    mistakes.flatMap((mistake) => {
      // the fixed words are left alone: a gap in them would tell a secret that is one of them
      const { says, remedy } = describeMistake({ ...mistake, detail: conceal(mistake.detail) })
      return [`- ${says}`, `  ${remedy}`]
    })
  return [
    `refused (${verdict.reason}): ${conceal(verdict.detail)}`,
    `${REASON_WORDS[verdict.reason]}`,
    ...(found.length > 0 ? ["", "The likely mistake:", ...described(found)] : []),
    ...(found.some(({ kind }) => kind === "time_off")
      ? ["  To judge a captured request at its own time, give --now."]
      : []),
    ...(possible.length > 0 ? ["", "No change that was tried makes it right.", ...described(possible)] : []),
    ...(note === undefined ? [] : ["", `${PRESETS[inquiry.provider]!.title}: ${note}`]),
  ]
}
