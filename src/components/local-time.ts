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
