import { Refused } from "../verifier.ts"

/** Seconds or milliseconds since 1970, RFC 3339, or any of them and a date of HTTP. */
export type TimeUnit = "s" | "ms" | "iso" | "any"

/** RFC 3339, section 5.6, also with an offset without a colon, as some senders write it. */
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)$/
/** RFC 9110, 5.6.7: IMF-fixdate */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/
const DIGITS = /^\d{1,15}$/
/** As seconds the year 5138, as milliseconds 1973: the units can't be confused. */
const SECONDS_END = 100_000_000_000

/** Parses a time to milliseconds since 1970; undefined if malformed. */
export function parseTime(text: string, unit: TimeUnit): number | undefined {
  if (DIGITS.test(text)) {
    if (unit === "iso") return undefined
    const number = Number(text)
    return unit === "s" || (unit === "any" && number < SECONDS_END) ? number * 1000 : number
  }
  if (unit === "any" && HTTP_DATE.test(text)) return Date.parse(text) || undefined
  if ((unit !== "iso" && unit !== "any") || !ISO.test(text)) return undefined
  const ms = Date.parse(text)
  return Number.isNaN(ms) || !isDate(text.slice(0, 10)) ? undefined : ms
}

/** Whether the day is in the month: Date.parse takes February 31 for March 3. */
const isDate = (date: string): boolean => new Date(date).getUTCDate() === Number(date.slice(8))

export function formatTime(ms: number, unit: TimeUnit): string {
  if (unit === "iso") return new Date(ms).toISOString()
  return String(unit === "ms" ? ms : Math.floor(ms / 1000))
}

/**
 * Refuses a signed time that is off by more than the tolerance, either way. Times in whole seconds are compared in whole
 * seconds, as providers' libraries do: 300.9 s old is within 300 s.
 *
 * @param toleranceMs 0: unchecked
 */
export function checkFreshness(timestampMs: number, nowMs: number, toleranceMs: number): Refused | undefined {
  if (toleranceMs === 0) return undefined
  const now = timestampMs % 1000 === 0 ? nowMs - (nowMs % 1000) : nowMs
  const ageMs = now - timestampMs
  if (ageMs > toleranceMs) return new Refused("stale", `timestamp ${inWords(ageMs)} old`)
  if (-ageMs > toleranceMs) return new Refused("future", `timestamp ${inWords(-ageMs)} ahead`)
  return undefined
}

const inWords = (ms: number): string => `${Math.round(ms / 1000)} s`
