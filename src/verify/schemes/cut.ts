import { toHeaderValue } from "../../headers.ts"
import type { TimeUnit } from "./freshness.ts"
import { literally } from "./mac.ts"
import type { PayloadParts } from "./signature-verifier.ts"

/*
 * A signed text joins its parts by separators that parts may contain, or by none. Whoever has a signed request could cut its
 * text at another place, into an event of another id, time, URL or body with the same signature. So a request is refused unless
 * its text can be cut in one way only: parts before the body end where they first can, those after it begin where they last
 * can.
 */

/** Says which parts of a request can't be told apart in the signed text; undefined: all can. */
export type Cut = (parts: PayloadParts) => string | undefined

/** The check for a template of `parsePayload`; undefined: its texts can't be cut otherwise. */
export function cutOf(template: string, unit: TimeUnit): Cut | undefined {
  const pieces = template.split(/\{(\w*)\}/).map(toHeaderValue)
  const body = pieces.indexOf("body")
  const checks: Cut[] = []
  for (let i = 1; i < pieces.length; i += 2) {
    const between = pieces[i < body ? i + 1 : i - 1]!
    const name = pieces[i]!
    if (i < body) checks.push(...before(name, between, pieces[i + 2]!, { unit, behindTime: pieces[i + 3]! }))
    if (i > body) checks.push(...after(name, between, pieces[i - 2]!, unit))
  }
  if (checks.length === 0) return undefined
  return (parts) => {
    for (const check of checks) {
      const problem = check(parts)
      if (problem !== undefined) return problem
    }
    return undefined
  }
}

/** The checks of a part before the body. @param next the part behind it, `between` which is a text */
function before(
  name: string,
  between: string,
  next: string,
  { unit, behindTime }: { unit: TimeUnit; behindTime: string },
): Cut[] {
  const adjoins = between === ""
  if (name === "timestamp")
    return adjoins && unit !== "iso" ? [unless(startsWithDigit(next), "time", next)] : []
  if (name !== "id" && name !== "url") return []
  const value = name === "id" ? ({ id }: PayloadParts) => id : ({ url }: PayloadParts) => queryOf(url)
  const checks: Cut[] = []
  if (name === "url" && adjoins && next === "body")
    checks.push(unless(({ url, body }) => !url.includes("?") && body[0] === QUESTION_MARK, name, next))
  if (next === "timestamp") {
    const time = timeWithin(between, unit, behindTime)
    checks.push(unless((parts) => time.test(value(parts)), name, "time"))
    if (unit !== "iso") checks.push(fixedDigits(unit))
  } else if (!adjoins) checks.push(unless((parts) => value(parts).includes(between), name, next))
  else if (next === "body")
    checks.push(
      unless(
        (parts) => {
          const text = value(parts)
          return text !== "" && (OUTSIDE.test(text) || (parts.body.length > 0 && !isOutside(parts.body[0]!)))
        },
        name,
        next,
      ),
    )
  return checks
}

/** The checks of a part after the body. @param previous the part before it, `between` which is a text */
function after(name: string, between: string, previous: string, unit: TimeUnit): Cut[] {
  const adjoins = between === ""
  if (name === "timestamp") return adjoins && unit !== "iso" ? [trailingDigits(unit)] : []
  if (name === "url") return [unless(({ url }) => queryOf(url).includes(baseOf(url)), name, previous)]
  if (name !== "id") return []
  return adjoins
    ? [unless(({ id, body }) => OUTSIDE.test(id) || !isOutside(body.at(-1) ?? 0), name, previous)]
    : [unless(({ id }) => id.includes(between), name, previous)]
}

const unless =
  (isAmbiguous: (parts: PayloadParts) => boolean, one: string, other: string): Cut =>
  (parts) =>
    isAmbiguous(parts) ? `the ${one} and the ${other} can't be told apart in the signed text` : undefined

/** A time behind a part that may hold a time has as many digits as today's. */
const fixedDigits = (unit: TimeUnit): Cut =>
  unless(({ timestamp }) => /^\d+$/.test(timestamp) && !DIGITS[unit].test(timestamp), "id", "time")

const DIGITS: { readonly [unit in TimeUnit]: RegExp } = {
  s: /^\d{10}$/,
  ms: /^\d{13}$/,
  any: /^(?:\d{10}|\d{13})$/,
  iso: /^/,
}

/**
 * A time that adjoins the body's end is all digits there, or of their last ones as many as today's times have; where that is
 * either number, the larger.
 */
const trailingDigits = (unit: TimeUnit): Cut =>
  unless(
    ({ timestamp, body }) => {
      if (!/^\d+$/.test(timestamp)) return false
      if (timestamp.length > (unit === "s" ? 10 : 13)) return true
      let before = 0
      while (before < 3 && isDigit(body[body.length - 1 - before])) before++
      return (
        before > 0 && (!DIGITS[unit].test(timestamp) || (unit === "any" && timestamp.length + before === 13))
      )
    },
    "body",
    "time",
  )

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x30 && byte <= 0x39

const startsWithDigit =
  (next: string) =>
  ({ timestamp, id, body }: PayloadParts): boolean => {
    const first = next === "body" ? body[0] : next === "id" ? id.charCodeAt(0) : undefined
    return isDigit(first) && /^\d+$/.test(timestamp)
  }

/** A time with what is before and behind it, as a pattern: a part that has it could end there. */
function timeWithin(between: string, unit: TimeUnit, behind: string): RegExp {
  const digits = { s: "\\d{10}", ms: "\\d{13}", any: "\\d{10}(?:\\d{3})?", iso: "" }[unit]
  const dates = ["\\d{4}-\\d\\d-\\d\\dT\\d\\d:", "[A-Z][a-z]{2}, \\d\\d [A-Z]"]
  const forms = [
    ...(unit === "iso" ? [] : [`${digits}(?:${literally(behind)}|$)`]),
    ...(unit === "iso" || unit === "any" ? dates : []),
  ]
  return new RegExp(`${literally(between)}(?:${forms.join("|")})`)
}

/** With its question mark: what the sender of a request may choose of its URL. */
const queryOf = (url: string): string => url.slice(baseOf(url).length)
const baseOf = (url: string): string => url.split("?", 1)[0]!

const QUESTION_MARK = 0x3f
/** What no URL and no id has, and JSON and XML begin with: RFC 3986, appendix A. */
const OUTSIDE = /[^!#-;=?-Z_a-z~]/
const isOutside = (byte: number): boolean => OUTSIDE.test(String.fromCharCode(byte))
