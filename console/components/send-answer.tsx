import type { SendResult } from "../api.ts"
import { formatDuration } from "../format.ts"
import { RecordLink, State } from "./values.tsx"

/** The answer that a sent request got, and the record that it became. */
export function SendAnswer({ result }: { result: SendResult }) {
  const { status, duration_ms, headers, body, error, record } = result
  const isFine = status >= 200 && status < 300
  return (
    <div class="send-answer">
      <p class="facts">
        <State level={isFine ? "good" : "error"}>
          <strong>{status === 0 ? "No answer" : `Answered ${status}`}</strong>
        </State>
        {status > 0 && <span>after {formatDuration(duration_ms)}</span>}
        {record !== null && (
          <span>
            published as <RecordLink record={record} />
          </span>
        )}
      </p>
      {error !== null && <p>{error}</p>}
      {isFine && record === null && (
        <p class="muted">No record: it is a duplicate, a handshake, or was dropped by a processor.</p>
      )}
      {body !== "" && <pre class="code-block">{body}</pre>}
      {headers.length > 0 && (
        <details>
          <summary>{headers.length} headers of the answer</summary>
          <HeaderTable headers={headers} />
        </details>
      )}
    </div>
  )
}

interface HeaderTableProps {
  readonly headers: SendResult["headers"]
  /** Has the events filtered by a header's value. */
  filterBy?(name: string, value: string): void
}

/** Headers, in the order in which they came. */
export function HeaderTable({ headers, filterBy }: HeaderTableProps) {
  return (
    <dl class="header-table">
      {headers.map(({ name, value }, n) => (
        <div key={n}>
          <dt>{name}</dt>
          <dd>
            {value}{" "}
            {filterBy !== undefined && (
              <button
                type="button"
                class="json-more"
                aria-label={`Filter by ${name}`}
                onClick={() => filterBy(name, value)}
              >
                Filter by it
              </button>
            )}
          </dd>
        </div>
      ))}
    </dl>
  )
}
