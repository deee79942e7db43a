import type { RecordSummary } from "../../api.ts"
import { formatBytes } from "../../format.ts"
import { Time } from "../../components/time.tsx"

interface RecordRowProps {
  readonly record: RecordSummary
  /** Its place in the list, from 1 on. */
  readonly position: number
  readonly href: string
  readonly isOpen: boolean
  readonly isCursor: boolean
  focused(): void
}

export function RecordRow({ record, position, href, isOpen, isCursor, focused }: RecordRowProps) {
  const { partition, offset, timestamp, type, event_id, key, preview, bytes } = record
  return (
    <li aria-setsize={-1} aria-posinset={position}>
      <a
        class={`record list-row ${isCursor ? "row-cursor" : ""}`}
        href={href}
        data-place={`${partition}:${offset}`}
        aria-current={isOpen ? "true" : undefined}
        onFocus={focused}
      >
        <Time ms={timestamp} />
        <span class="record-type">{type}</span>
        <span class="record-id">{event_id ?? key}</span>
        <span class="record-preview">{preview}</span>
        <span class="record-size number">{formatBytes(bytes)}</span>
        <span class="record-offset number">{partition === 0 ? offset : `${partition}:${offset}`}</span>
      </a>
    </li>
  )
}
