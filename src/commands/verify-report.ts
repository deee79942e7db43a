import type { CaptureExplanation } from "../admin/api/shapes.ts"
import { concealer, visible } from "../verify/masking.ts"
import { type Inquiry, isToken, type Report, type RequestDiagnosis, showTime } from "../verify/explanation.ts"
import { presetOf } from "../verify/senders.ts"
import { findFamily, type ProviderRef } from "../verify/verification.ts"

/**
 * The report of `hookline verify` as text: the heading, the steps with their lines, the result, the likely mistake, warnings.
 *
 * @param hints lines in addition to the likely mistake
 */
export function toText(
  explained: CaptureExplanation,
  heading: readonly string[],
  hints: readonly string[] = [],
): string {
  const sections = [
    ...explained.steps.map(({ name, state, lines }) => ({
      title: state === "failed" ? `${name}: failed` : name,
      lines,
    })),
    { title: "Result", lines: resultLines(explained, hints) },
    { title: "Warnings", lines: explained.warnings },
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
  { is_verified, result, sender, mistakes, advice, configuration, note }: CaptureExplanation,
  hints: readonly string[],
): readonly string[] {
  const answered = [
    result,
    ...(sender === null ? [] : [sender]),
    ...(advice === null ? [] : ["", advice.text]),
    ...linesUnder(undefined, advice?.excerpt),
    ...linesUnder("In the configuration file:", advice?.configuration),
  ]
  if (is_verified) return answered
  const described = (isCertain: boolean): string[] =>
    mistakes
      .filter(({ is_certain }) => is_certain === isCertain)
      .flatMap(({ problem, remedy }) => [`- ${problem}`, `  ${remedy}`])
  const [found, possible] = [described(true), described(false)]
  return [
    ...answered,
    ...(found.length > 0 ? ["", "Likely mistake:", ...found] : []),
    ...hints,
    ...linesUnder("In the configuration file:", configuration),
    ...(possible.length > 0 ? ["", "No known mistake explains it. Possible causes:", ...possible] : []),
    ...(note === null ? [] : ["", `Note: ${note}`]),
  ]
}

const linesUnder = (title: string | undefined, text: string | null | undefined): readonly string[] =>
  text === null || text === undefined
    ? []
    : ["", ...(title === undefined ? [] : [title, ""]), ...text.split("\n")]

/** How to check an old request, where its time is what is wrong with it. */
export const timeHints = ({ mistakes }: Report): readonly string[] =>
  mistakes.some(({ kind }) => kind === "time_off")
    ? ["  To check a captured request at its own time, set --now."]
    : []

/** The members that the JSON objects of `hookline verify` have in common. */
export function verdictOf(explained: CaptureExplanation): object {
  const { provider, is_verified, reason, detail, result, sender, advice, mistakes, configuration, warnings } =
    explained
  const of = (isCertain: boolean): object[] =>
    mistakes.flatMap(({ is_certain, ...it }) => (is_certain === isCertain ? [it] : []))
  return {
    provider,
    verified: is_verified,
    ...(reason !== null && { reason, detail }),
    result,
    ...(sender !== null && { sender }),
    ...(advice !== null && { advice }),
    mistakes: of(true),
    possible_mistakes: of(false),
    ...(configuration !== null && { configuration }),
    warnings,
  }
}

/** What a request was checked by. */
export function evidenceOf(inquiry: Inquiry, { explanation }: RequestDiagnosis): object {
  const { signed, received, expected, timestampMs, toleranceMs } = explanation
  return {
    signed: signed && concealer(inquiry.settings)(visible(signed)),
    // a token is the secret itself
    received: isToken(inquiry, explanation) ? [] : received,
    expected,
    signed_at: timestampMs === undefined ? undefined : showTime(timestampMs),
    checked_at: showTime(inquiry.nowMs),
    tolerance_ms: toleranceMs,
  }
}
