/** Numbers, times, sizes and durations as the page writes them: grouped, with units. */

const integers = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 })
const tenths = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 })
const hundredths = new Intl.NumberFormat(undefined, { maximumFractionDigits: 2 })

export const formatCount = (value: number): string => integers.format(value)

/** `1 event`, `1,204 events` */
export const formatCounted = (value: number, one: string, many = `${one}s`): string =>
  `${formatCount(value)} ${value === 1 ? one : many}`

/** A rate a second: two digits of small ones, none of large ones. */
export const formatRate = (perSecond: number): string =>
  perSecond === 0 ? "0" : (perSecond < 1 ? hundredths : perSecond < 100 ? tenths : integers).format(perSecond)

/** `0.4 %`, `31 %`, `<0.1 %` */
export function formatShare(share: number): string {
  const percent = share * 100
  if (percent > 0 && percent < 0.1) return "<0.1 %"
  return `${(percent < 10 ? tenths : integers).format(percent)} %`
}

const SIZES = ["B", "KiB", "MiB", "GiB", "TiB"]

export function formatBytes(bytes: number): string {
  const step = bytes < 1024 ? 0 : Math.min(Math.floor(Math.log2(bytes) / 10), SIZES.length - 1)
  const value = bytes / 1024 ** step
  return `${(step === 0 || value >= 100 ? integers : tenths).format(value)} ${SIZES[step]}`
}

/** `850 µs`, `1.9 ms`, `12 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h` */
export function formatDuration(ms: number): string {
  if (ms < 1) return `${integers.format(ms * 1000)} µs`
  if (ms < 1000) return `${(ms < 100 ? tenths : integers).format(ms)} ms`
  if (ms < 60_000) return `${(ms < 10_000 ? tenths : integers).format(ms / 1000)} s`
  const [large, small, unit, smallUnit] =
    ms < 3_600_000
      ? ([ms / 60_000, ms / 1000, "min", "s"] as const)
      : ms < 86_400_000
        ? ([ms / 3_600_000, ms / 60_000, "h", "min"] as const)
        : ([ms / 86_400_000, ms / 3_600_000, "d", "h"] as const)
  const rest = Math.floor(small) % (unit === "d" ? 24 : 60)
  return `${integers.format(Math.floor(large))} ${unit}${rest === 0 ? "" : ` ${rest} ${smallUnit}`}`
}

/** The age in one unit, for columns: `now`, `8 s`, `3 min`, `2 h`, `5 d`. */
export function formatAge(ms: number): string {
  if (ms < 1000) return "now"
  if (ms < 60_000) return `${Math.floor(ms / 1000)} s`
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min`
  if (ms < 86_400_000) return `${Math.floor(ms / 3_600_000)} h`
  return `${integers.format(Math.floor(ms / 86_400_000))} d`
}

const pad = (value: number, digits = 2): string => String(value).padStart(digits, "0")

/** Local time of day with milliseconds: `14:03:07.123`. */
export function formatTime(ms: number): string {
  const at = new Date(ms)
  return `${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}.${pad(at.getMilliseconds(), 3)}`
}

/** Local date and time: `2026-11-20 14:03:07.123`. */
export function formatDateTime(ms: number): string {
  const at = new Date(ms)
  return `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())} ${formatTime(ms)}`
}

/** `2026-11-20T13:03:07.123Z` */
export const formatUtc = (ms: number): string =>
  Number.isFinite(ms) && Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString() : "no time"

/** Words that follow a colon elsewhere, as a heading or a row has them: `No secret or key matches`. */
export const sentence = (words: string): string =>
  words.slice(0, 1).toUpperCase() + words.slice(1).replace(/\.$/, "")

/** A time as `<input type="datetime-local">` has it: local, to the millisecond; empty: it is none. */
export function toLocalTime(ms = Number.NaN): string {
  if (!(Math.abs(ms) <= 8.64e15)) return ""
  const local = new Date(ms - new Date(ms).getTimezoneOffset() * 60_000)
  return local.toISOString().slice(0, -1)
}

/** NaN: the field is empty, or not filled in yet. */
export const fromLocalTime = (text: string): number => new Date(text).getTime()

/** Names the replica of a row, to follow the row's name; empty for the one that answers. */
export const onReplica = (replica: string | undefined): string =>
  replica === undefined ? "" : ` on ${replica}`
