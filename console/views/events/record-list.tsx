import type { ComponentChildren } from "preact"
import { useLayoutEffect, useRef } from "preact/hooks"
import type { RecordSummary } from "../../api.ts"
import { ErrorNote, Skeleton } from "../../components/loading.tsx"
import { Time } from "../../components/values.tsx"
import { isNarrow, VirtualList, type VirtualListHandle } from "../../components/virtual-list.tsx"
import { formatCount, formatCounted, formatBytes } from "../../format.ts"
import { isSame, type RecordPlace } from "./place.ts"
import type { TopicTail } from "./topic-tail.ts"

/** Pixels; where the window is narrow, rows are for fingers. */
const rowHeight = (): number => (isNarrow.value ? 44 : 32)

interface RecordListProps {
  readonly tail: TopicTail
  readonly opened: RecordPlace | undefined
  readonly cursor: Cursor | undefined
  readonly hasFilter: boolean
  hrefTo(record: RecordPlace): string
  moveTo(cursor: Cursor): void
  handle(handle: VirtualListHandle): void
  startAgain(): void
  /** Shown above the rows. */
  readonly above: ComponentChildren
}

/** The row that keys move. */
export interface Cursor extends RecordPlace {
  /** Whether the row is to get the focus once it exists. */
  readonly isNew: boolean
}

/** The records of a topic, the newest first. */
export function RecordList({ tail, opened, cursor, hasFilter, ...props }: RecordListProps) {
  void tail.version.value
  const list = useRef<HTMLDivElement>(null)
  const handle = useRef<VirtualListHandle>(undefined)
  useLayoutEffect(() => {
    if (cursor?.isNew !== true) return
    const row = list.current!.querySelector<HTMLElement>(
      `[data-place="${cursor.partition}:${cursor.offset}"]`,
    )
    row?.focus({ preventScroll: true })
  }, [cursor])
  const count = tail.count
  const error = tail.error.value
  const columns = `${tail.query.topic === undefined ? "has-topic" : ""} ${tail.has.type.value ? "has-type" : ""} ${tail.has.key.value ? "has-id" : ""}`
  return (
    <div class="record-list" ref={list}>
      <FreshNote tail={tail} show={() => handle.current?.toTop()} />
      {tail.leftOut.value > 0 && (
        <p class="record-note">
          These are the topics with the newest events; {formatCounted(tail.leftOut.value, "other topic")} can
          be chosen above.
        </p>
      )}
      {tail.skipped.value > 0 && (
        <p class="record-note">
          {formatCounted(tail.skipped.value, "event")} came faster than they are searched live.{" "}
          <button type="button" onClick={props.startAgain}>
            Show them
          </button>
        </p>
      )}
      {error !== undefined && <ErrorNote error={error} retry={() => tail.loadOlder()} />}
      {props.above}
      <Heads columns={columns} />
      <VirtualList
        label="Events, newest first"
        class={columns}
        count={count}
        removedRows={tail.removedRows}
        rowHeight={rowHeight()}
        handle={(it) => {
          handle.current = it
          props.handle(it)
        }}
        looked={(end, isAtTop) => {
          tail.visible = handle.current?.visible ?? 0
          tail.sees(end, isAtTop)
        }}
        row={(index) => {
          const record = tail.row(index)!
          const { slot, offset } = record
          return (
            <RecordRow
              key={`${slot}:${offset}`}
              record={record}
              position={index + 1}
              href={props.hrefTo(record)}
              isOpen={isSame(record, opened)}
              isCursor={cursor !== undefined && isSame(record, cursor)}
              focused={() => props.moveTo({ ...record, isNew: false })}
            />
          )
        }}
      >
        <End tail={tail} count={count} hasFilter={hasFilter} />
      </VirtualList>
    </div>
  )
}

/** Names of the columns; rows say enough to who hears them. */
const Heads = ({ columns }: { columns: string }) => (
  <div class={`record-heads ${columns}`} aria-hidden="true">
    <div class="record list-row">
      <span class="time">Time</span>
      <span class="record-topic">Topic</span>
      <span class="record-type">Type</span>
      <span class="record-id">Id or key</span>
      <span class="record-preview">Value</span>
      <span class="record-size">Size</span>
      <span class="record-offset">Offset</span>
    </div>
  </div>
)

/** Lies over the list: nothing moves. */
function FreshNote({ tail, show }: { tail: TopicTail; show: () => void }) {
  const fresh = tail.fresh.value
  if (fresh === 0) return null
  const resume = (): void => {
    tail.resume()
    show()
  }
  return (
    <button type="button" class="fresh" onClick={resume}>
      <span aria-hidden="true">↑</span> {formatCount(fresh)} newer
    </button>
  )
}

function End({ tail, count, hasFilter }: { tail: TopicTail; count: number; hasFilter: boolean }) {
  const searched = tail.searched.value
  if (tail.isLoading.value) return <Skeleton rows={count === 0 ? 10 : 3} />
  if (tail.error.value !== undefined) return null
  if (tail.hasOlder && searched > 0)
    return (
      <p class="record-end muted">
        None of {formatCounted(searched, "older event")} passes the filter.{" "}
        <button type="button" onClick={() => tail.loadOlder()}>
          Search on
        </button>
      </p>
    )
  if (tail.hasOlder) return null
  return (
    <p class="record-end muted">
      {count > 0
        ? "That is the oldest."
        : hasFilter
          ? "No event passes the filter. New ones that do are shown at once."
          : "No event yet. New ones are shown at once."}
    </p>
  )
}

interface RecordRowProps {
  readonly record: RecordSummary
  /** Its place in the list, from 1 on. */
  readonly position: number
  readonly href: string
  readonly isOpen: boolean
  readonly isCursor: boolean
  focused(): void
}

function RecordRow({ record, position, href, isOpen, isCursor, focused }: RecordRowProps) {
  const { topic, partition, offset, timestamp, type, event_id, key, preview, bytes } = record
  return (
    <li aria-setsize={-1} aria-posinset={position}>
      <a
        class={`record list-row ${isCursor ? "row-cursor" : ""}`}
        href={href}
        data-topic={topic}
        data-place={`${partition}:${offset}`}
        aria-current={isOpen ? "true" : undefined}
        onFocus={focused}
      >
        <Time ms={timestamp} />
        <span class="record-topic">{topic}</span>
        <span class="record-type">{type}</span>
        <span class="record-id">{event_id ?? key}</span>
        <span class="record-preview">{preview}</span>
        <span class="record-size number">{formatBytes(bytes)}</span>
        <span class="record-offset number">{partition === 0 ? offset : `${partition}:${offset}`}</span>
      </a>
    </li>
  )
}
