import type { CaptureExplanation } from "../admin/api/shapes.ts"
import { concealer } from "../verify/explain/conceal.ts"
import type { Diagnosis } from "../verify/explain/diagnosis.ts"
import type { Inquiry } from "../verify/explain/inquiry.ts"
import { isToken, showTime, type Report, type ReportedMistake } from "../verify/explain/report.ts"
import { visible } from "../verify/explain/visible.ts"
import { REASON_WORDS } from "../verify/explain/words.ts"
import { findFamily, presetOf, type ProviderRef } from "../verify/presets/providers.ts"
import type { RefusedReason } from "../verify/verifier.ts"

/** What is said of a request, whoever explains it. */
interface Explained {
  readonly is_verified: boolean
  readonly steps: readonly {
    readonly name: string
    readonly state: string
    readonly lines: readonly string[]
  }[]
  /** The lines of the result. */
  readonly result: readonly string[]
  readonly mistakes: readonly Pick<ReportedMistake, "problem" | "remedy" | "is_certain">[]
  readonly configuration: string | null
  readonly note: string | null
  readonly warnings?: readonly string[]
}

/** The report of `hookline verify` as text: the heading, the steps with their lines, the result, the likely mistake, warnings. */
export function toText(report: Report, heading: readonly string[]): string {
  const { is_verified, reason, detail, mistakes } = report
  const result = is_verified
    ? ["verified"]
    : [`refused (${reason}): ${detail}`, REASON_WORDS[reason as RefusedReason]]
  const isLate = mistakes.some(({ kind }) => kind === "time_off")
  const hints = isLate ? ["  To check a captured request at its own time, set --now."] : []
  return render({ ...report, result }, heading, hints)
}

/** What the admin API says of a captured request, in the same form. */
export function captureToText(explanation: CaptureExplanation, heading: readonly string[]): string {
  return render({ ...explanation, result: [explanation.result] }, heading)
}

function render(explained: Explained, heading: readonly string[], hints: readonly string[] = []): string {
  const sections = [
    ...explained.steps.map(({ name, state, lines }) => ({
      title: state === "failed" ? `${name}: failed` : name,
      lines,
    })),
    { title: "Result", lines: resultLines(explained, hints) },
    { title: "Warnings", lines: explained.warnings ?? [] },
  ]
  const text = sections
    .filter(({ lines }) => lines.length > 0)
    .map(({ title, lines }, i) =>
      [`${i + 1}. ${title}`, ...lines.map((line) => (line === "" ? "" : `   ${line}`))].join("\n"),
    )
  return [heading.join("\n"), ...text].join("\n\n")
}

/** The provider's title and kind of scheme, then its documentation. */
export function headingOf(provider: ProviderRef): readonly string[] {
  const preset = presetOf(provider)
  const { family } = findFamily(provider)!
  return [`${preset?.title ?? provider}: ${family}`, preset?.docs ?? []].flat()
}

function resultLines(
  { is_verified, result, mistakes, configuration, note }: Explained,
  hints: readonly string[],
): readonly string[] {
  if (is_verified) return result
  const described = (isCertain: boolean): string[] =>
    mistakes
      .filter(({ is_certain }) => is_certain === isCertain)
      .flatMap(({ problem, remedy }) => [`- ${problem}`, `  ${remedy}`])
  const [found, possible] = [described(true), described(false)]
  return [
    ...result,
    ...(found.length > 0 ? ["", "Likely mistake:", ...found] : []),
    ...hints,
    ...(configuration === null ? [] : ["", "In the configuration file:", "", ...configuration.split("\n")]),
    ...(possible.length > 0 ? ["", "No known mistake explains it. Possible causes:", ...possible] : []),
    ...(note === null ? [] : ["", `Note: ${note}`]),
  ]
}

/** The report of `hookline verify` as a JSON object, with the evidence. */
export function toJson(report: Report, inquiry: Inquiry, { explanation }: Diagnosis): string {
  const { provider, is_verified, reason, detail, mistakes, configuration, warnings } = report
  const { signed, received, expected, timestampMs, toleranceMs } = explanation
  const of = (isCertain: boolean): object[] =>
    mistakes.flatMap(({ is_certain, ...it }) => (is_certain === isCertain ? [it] : []))
  return JSON.stringify({
    provider,
    verified: is_verified,
    ...(is_verified ? {} : { reason, detail }),
    signed: signed && concealer(inquiry.settings)(visible(signed)),
    // a token is the secret itself
    received: isToken(inquiry, explanation) ? [] : received,
    expected,
    signed_at: timestampMs === undefined ? undefined : showTime(timestampMs),
    checked_at: showTime(inquiry.nowMs),
    tolerance_ms: toleranceMs,
    mistakes: of(true),
    possible_mistakes: of(false),
    ...(configuration !== null && { configuration }),
    warnings,
  })
}
