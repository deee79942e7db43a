/** Times of a topic's records, by what the picker says. */
export const RANGES = [
  { id: "", label: "Any time", ms: undefined },
  { id: "15m", label: "Last 15 min", ms: 900_000 },
  { id: "1h", label: "Last hour", ms: 3_600_000 },
  { id: "24h", label: "Last 24 h", ms: 86_400_000 },
  { id: "7d", label: "Last 7 days", ms: 604_800_000 },
  { id: "custom", label: "From … until …", ms: undefined },
] as const

/** Milliseconds since 1970; undefined: no limit. */
export interface Bounds {
  readonly since: number | undefined
  readonly until: number | undefined
}

/** The bounds in a link: `range=15m`, or `range=custom&since=…&until=…`. */
export function boundsOf(
  { range, since, until }: { readonly [name: string]: string | undefined },
  nowMs: number,
): Bounds {
  if (range === "custom") return { since: toTime(since), until: toTime(until) }
  const ms = RANGES.find(({ id }) => id === range)?.ms
  return { since: ms === undefined ? undefined : nowMs - ms, until: undefined }
}

function toTime(text: string | undefined): number | undefined {
  const ms = Number(text ?? "")
  return text !== undefined && text !== "" && Number.isFinite(ms) ? ms : undefined
}
