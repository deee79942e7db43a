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

/** A time as milliseconds since 1970: `1h` ago, or ISO 8601, local unless it has a zone. */
export function parseTimeFlag(text: string): number {
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
      "Expected a duration such as 90s, 1h or 7d, or a time such as 2026-11-22T14:00.",
    )
  }
}
