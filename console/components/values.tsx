import type { ComponentChildren } from "preact"
import type { CaptureDetail } from "../api.ts"
import { copy } from "../clipboard.ts"
import {
  formatBytes,
  formatCount,
  formatDuration,
  formatAge,
  formatDateTime,
  formatTime,
  formatUtc,
} from "../format.ts"
import { isMac } from "../keyboard.ts"
import { now } from "../live.ts"
import { hrefOf } from "../router.ts"

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

const ICONS = { good: "●", warning: "▲", error: "✕", silent: "◌", idle: "○" } as const

type Level = keyof typeof ICONS

export const StateIcon = ({ level }: { level: Level }) => (
  <span class={`state-icon state-${level}`} aria-hidden="true">
    {ICONS[level]}
  </span>
)

/** A state: an icon of its own shape and a word, since colour alone says nothing to some. */
export function State({ level, children }: { level: Level; children: ComponentChildren }) {
  return (
    <span class="state">
      <StateIcon level={level} />
      <span>{children}</span>
    </span>
  )
}

export type PublishedRecord = NonNullable<CaptureDetail["record"]>

export const recordHref = ({ connection, topic, partition, offset }: PublishedRecord): string =>
  hrefOf("events", [connection, topic, partition, offset])

/** A link to a record among the events. */
export function RecordLink({ record }: { record: PublishedRecord }) {
  return (
    <a class="record-link" href={recordHref(record)}>
      {record.topic} / {record.partition} @ {record.offset}
    </a>
  )
}

const NAMES: { readonly [key: string]: string } = { Escape: "Esc", enter: "↵", ArrowDown: "↓", ArrowUp: "↑" }

/** A shortcut as keycaps. */
export function Keys({ keys }: { keys: string }) {
  const caps = keys.split(" ").map((key) => {
    const [, modified] = /^mod\+(.+)$/.exec(key) ?? []
    if (modified !== undefined) return (isMac ? "⌘" : "Ctrl ") + (NAMES[modified] ?? modified.toUpperCase())
    return NAMES[key] ?? key
  })
  return (
    <span class="keys">
      {caps.map((cap) => (
        <kbd key={cap}>{cap}</kbd>
      ))}
    </span>
  )
}

/** A command or lines of configuration, to copy. `what` names them: `configuration`. */
export function CodeBlock({ text, what }: { text: string; what: string }) {
  return (
    <div class="code-block">
      <pre>{text}</pre>
      <button type="button" class="quiet" aria-label={`Copy ${what}`} onClick={() => void copy(text, what)}>
        Copy
      </button>
    </div>
  )
}
