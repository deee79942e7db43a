import { formatAge, formatDateTime, formatTime, formatUtc } from "../format.ts"
import { now } from "../store/clock.ts"

/** Local time with milliseconds; UTC and age on hover. */
export function Time({ ms, withDate = false }: { ms: number; withDate?: boolean }) {
  const describe = (element: HTMLTimeElement): void => {
    element.title = `${formatUtc(ms)}\n${formatAge(Math.max(0, now.peek() - ms))} ago`
  }
  return (
    <time dateTime={formatUtc(ms)} class="time" onMouseEnter={(event) => describe(event.currentTarget)}>
      {withDate ? formatDateTime(ms) : formatTime(ms)}
    </time>
  )
}

/** How long ago, kept current. */
export function Age({ ms }: { ms: number }) {
  return (
    <time dateTime={formatUtc(ms)} title={`${formatDateTime(ms)}\n${formatUtc(ms)}`}>
      {formatAge(Math.max(0, now.value - ms))}
    </time>
  )
}
