import { readFileSync, statSync } from "node:fs"
import { resolve } from "node:path"

/** Local time (`TZ`) as in RFC 3339, with milliseconds and numeric offset: `2026-11-20T14:03:07.123+01:00`. */
export function toLocalTime(ms: number): string {
  const date = new Date(ms)
  // RFC 3339 has whole minutes, as JavaScript gives; offsets before 1972 could have seconds
  const offset = -date.getTimezoneOffset()
  const shifted = new Date(ms + offset * 60_000).toISOString().slice(0, -1)
  const minutes = Math.abs(offset)
  return `${shifted}${offset < 0 ? "-" : "+"}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`
}

function two(number: number): string {
  return String(number).padStart(2, "0")
}

/**
 * Warns of a `TZ` that Bun does not know, for which local time is UTC: anything but a name of the IANA time zone database.
 * What means UTC is none.
 */
export function checkTimeZone(warn: (text: string) => void): void {
  const { TZ = "" } = process.env
  // the C library ignores a colon, as Bun does
  const name = TZ.replace(/^:/, "")
  if (name === "") return
  // its first use takes 5 MB
  const zone = new Intl.DateTimeFormat().resolvedOptions().timeZone
  if (zone !== "UTC" || meansUtc(name)) return
  warn(
    `the environment variable TZ is ${JSON.stringify(TZ)}, which is no known name of the IANA time zone database: received_at is in ${zone}; set TZ to a name such as America/New_York, or to UTC`,
  )
}

/** Whether the name is an alias of UTC, POSIX's form of it, or a file with its rule, as of `TZ=:/etc/localtime`. */
function meansUtc(name: string): boolean {
  if (POSIX_UTC.test(name)) return true
  try {
    const format = new Intl.DateTimeFormat("en", { timeZone: name, timeZoneName: "longOffset" })
    return format.formatToParts().some(({ type, value }) => type === "timeZoneName" && value === "GMT+00:00")
  } catch {
    return hasRuleOfUtc(resolve("/usr/share/zoneinfo", name))
  }
}

/** A time zone's file ends with its rule in POSIX's form: RFC 9636. */
function hasRuleOfUtc(file: string): boolean {
  try {
    return (
      statSync(file).isFile() && POSIX_UTC.test(readFileSync(file, "latin1").trimEnd().split("\n").at(-1)!)
    )
  } catch {
    // the C library takes UTC for what it can't read, too, though hardly meant
    return false
  }
}

const POSIX_UTC = /^(?:[A-Za-z]{3,}|<[^>]+>)[+-]?0+(?::0+)*$/
