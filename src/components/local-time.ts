/**
 * Local time as RFC 3339 writes it, with milliseconds and numeric offset: `2026-11-20T14:03:07.123+01:00`. The time zone is
 * the process's, `TZ`.
 */
export function toLocalTime(ms: number): string {
  const date = new Date(ms)
  // Zones before 1972 had offsets with seconds, which the form can't say; JavaScript gives whole minutes.
  const offset = -date.getTimezoneOffset()
  const shifted = new Date(ms + offset * 60_000).toISOString().slice(0, -1)
  const minutes = Math.abs(offset)
  return `${shifted}${offset < 0 ? "-" : "+"}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`
}

function two(number: number): string {
  return String(number).padStart(2, "0")
}
