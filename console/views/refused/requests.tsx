import type { CaptureSummary } from "../../api.ts"
import { ErrorNote, Skeleton } from "../../components/loading.tsx"
import { Time } from "../../components/values.tsx"
import { onReplica, sentence } from "../../format.ts"
import { toast } from "../../toasts.ts"
import { useCaptures, type CaptureFilter } from "./captures.ts"

interface RequestsProps {
  readonly filter: CaptureFilter
  readonly opened: string | undefined
  hrefTo(id: string): string
}

/** The captured requests that pass a filter, the newest first. */
export function Requests({ filter, opened, hrefTo }: RequestsProps) {
  const { list, error, showOlder, reload } = useCaptures(filter)
  if (error !== undefined) return <ErrorNote error={error} retry={reload} />
  if (list === undefined) return <Skeleton rows={8} />
  if (list.length === 0) return <NoneKept />
  return (
    <>
      <ul class="captures" aria-label="Requests, newest first">
        {list.map((it) => (
          <li key={it.id}>
            <Row
              capture={it}
              isOpened={it.id === opened}
              href={hrefTo(it.id)}
              isGrouped={filter.reason !== ""}
            />
          </li>
        ))}
      </ul>
      {showOlder && (
        <p class="older">
          <button
            type="button"
            onClick={() => showOlder().catch((fault: Error) => toast(`No older ones: ${fault.message}`))}
          >
            Show older ones
          </button>
        </p>
      )}
    </>
  )
}

const NoneKept = () => (
  <p class="none-kept muted" role="status">
    None of these requests is kept: none came, or others took their place.
  </p>
)

interface RowProps {
  readonly capture: CaptureSummary
  readonly isOpened: boolean
  readonly href: string
  /** Whether its pipeline and reason stand above. */
  readonly isGrouped: boolean
}

function Row({ capture, isOpened, href, isGrouped }: RowProps) {
  const { status, words, detail, method, path, pipeline, at, outcome, replica, remote_address } = capture
  return (
    <a class="capture list-row" href={href} aria-current={isOpened ? "true" : undefined}>
      <span class={`status status-${outcome}`}>{status}</span>
      <span class="capture-words clipped">
        {sentence(detail ?? words)} <span class="muted">{`${method} ${path}${onReplica(replica)}`}</span>
      </span>
      <span class="capture-pipeline clipped muted">
        {isGrouped ? remote_address : (pipeline ?? "no pipeline")}
      </span>
      <Time ms={at} />
    </a>
  )
}
