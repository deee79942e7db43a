import { InvalidArgumentError } from "commander"
import { parseCondition, type Matches } from "../brokers/record-filter.ts"
import { duration, WrongValue } from "../config/options/option-types.ts"

/** Parsers of the values of flags, which throw InvalidArgumentError. */

export function parseCount(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new InvalidArgumentError("Expected a whole number from 1.")
}

export function parseLines(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new InvalidArgumentError("Expected a whole number from 0.")
}

export function parseRate(text: string): number {
  const rate = /^\d+(\.\d+)?$/.test(text) ? Number(text) : 0
  if (rate > 0) return rate
  throw new InvalidArgumentError("Expected a number above 0.")
}

/** Seconds as milliseconds. */
export function parseSeconds(text: string): number {
  return Math.ceil(parseRate(text) * 1000)
}

export function parseWhere(text: string): Matches {
  try {
    return parseCondition(text)
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message)
  }
}

/** An offset of every partition, or `partition:offset`. */
export interface OffsetFlag {
  readonly partition: number | undefined
  readonly offset: number
}

export function parseOffset(text: string, before: readonly OffsetFlag[] = []): OffsetFlag[] {
  const [, partition, offset] = /^(?:(\d{1,9}):)?(\d{1,15})$/.exec(text) ?? []
  if (offset === undefined) throw new InvalidArgumentError("Expected an offset, or partition:offset.")
  return [
    ...before,
    { partition: partition === undefined ? undefined : Number(partition), offset: Number(offset) },
  ]
}

const AGO = duration({ doc: "" })
const ISO = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$/i

const CLOCK = /^(?=.)(?:(today|yesterday)(?:[T ](?=\d)|$))?(?:([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?)?$/i

/**
 * A time as milliseconds since 1970: `1h` ago; `14:00`, the last time that it was; `yesterday`, when it began, or `yesterday
 * 14:00`; or ISO 8601. Local unless it has a zone, by the calendar: a day may have 23 or 25 hours.
 */
export function parseTimeFlag(text: string): number {
  const ofDay = clockTime(text)
  if (ofDay !== undefined) return ofDay
  // a date alone would be parsed as UTC
  const ms = ISO.test(text)
    ? Date.parse(text.includes("T") || text.includes("t") ? text : `${text}T00:00`)
    : undefined
  if (ms !== undefined && !Number.isNaN(ms)) return ms
  try {
    return Date.now() - AGO.fromCode(text as `${number}h`)
  } catch (error) {
    if (!(error instanceof WrongValue)) throw error
    throw new InvalidArgumentError(
      "Expected a duration such as 90s, 1h or 7d, or a time such as 14:00, yesterday or 2026-11-22T14:00.",
    )
  }
}

/** A duration as milliseconds: `90s`, `2h`. */
export function parseDuration(text: string): number {
  try {
    return AGO.fromCode(text as `${number}h`)
  } catch (error) {
    if (!(error instanceof WrongValue)) throw error
    throw new InvalidArgumentError("Expected a duration such as 90s, 2h or 3d.")
  }
}

/** undefined: it is no time of a day, nor such a day. */
function clockTime(text: string): number | undefined {
  const found = CLOCK.exec(text)
  if (found === null) return undefined
  const [, day, hours = "0", minutes = "0", seconds = "0"] = found
  const now = new Date()
  const at = (daysAgo: number): number =>
    new Date(
      now.getFullYear(),
      now.getMonth(),
      now.getDate() - daysAgo,
      Number(hours),
      Number(minutes),
      Number(seconds),
    ).getTime()
  if (day !== undefined) return at(day.toLowerCase() === "today" ? 0 : 1)
  return at(0) <= now.getTime() ? at(0) : at(1)
}
