import { formatBytes, formatCount, formatDuration } from "../format.ts"

/** A size with its unit; the exact one on hover. */
export function Bytes({ value }: { value: number }) {
  return (
    <span class="number" title={`${formatCount(value)} bytes`}>
      {formatBytes(value)}
    </span>
  )
}

/** A duration with its unit; `–` where there is none. */
export function Duration({ ms }: { ms: number | null }) {
  return <span class="number">{ms === null ? "–" : formatDuration(ms)}</span>
}
