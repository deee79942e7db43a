import type { PipelineOverview } from "../../api.ts"
import { hrefOf } from "../../router.ts"
import { PipelineRow } from "./pipeline-row.tsx"
import type { Sort, SortKey } from "./rows.ts"

/** More rows than these are set closer, so that forty fit on a screen. */
const MOST_WIDE = 16

const COLUMNS: readonly {
  readonly title: string
  readonly class: string
  readonly key?: SortKey
  readonly hint?: string
}[] = [
  { title: "Pipeline", class: "col-name", key: "name" },
  { title: "State", class: "col-state", key: "state", hint: "Problems first" },
  { title: "Provider", class: "col-provider" },
  { title: "Path", class: "col-path" },
  { title: "Last 15 min", class: "col-line" },
  { title: "Events", class: "number col-rate", key: "events", hint: "Accepted events a second, last minute" },
  { title: "Refused", class: "number col-rate", key: "refused", hint: "Share of the requests, last minute" },
  {
    title: "p50",
    class: "number col-latency col-p50",
    key: "p50",
    hint: "To the acknowledgement, last minute",
  },
  {
    title: "p99",
    class: "number col-latency col-p99",
    key: "p99",
    hint: "To the acknowledgement, last minute",
  },
  { title: "Last event", class: "number col-last", key: "last" },
]

interface PipelineTableProps {
  readonly rows: readonly PipelineOverview[]
  readonly minutes: number
  readonly sort: Sort
  readonly opened: string | undefined
  readonly cursor: string | undefined
  readonly query: { readonly [name: string]: string | undefined }
  sortBy(key: SortKey): void
  open(id: string): void
}

export function PipelineTable(props: PipelineTableProps) {
  const { rows, minutes, sort, opened, cursor, query } = props
  return (
    <table class={`pipelines ${rows.length > MOST_WIDE ? "pipelines-dense" : ""}`}>
      <thead>
        <tr>
          {COLUMNS.map(({ title, key, hint, class: name }) => (
            <th key={title} scope="col" class={name} title={hint} aria-sort={orderOf(sort, key)}>
              {key === undefined ? (
                title
              ) : (
                <button type="button" onClick={() => props.sortBy(key)}>
                  {title}
                  <span class="sort-mark" aria-hidden="true">
                    {sort.key === key && (sort.isDescending ? "↓" : "↑")}
                  </span>
                </button>
              )}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((pipeline) => (
          <PipelineRow
            key={pipeline.id}
            pipeline={pipeline}
            minutes={minutes}
            href={hrefOf("overview", [pipeline.id], query)}
            isOpen={pipeline.id === opened}
            isCursor={pipeline.id === cursor}
            open={() => props.open(pipeline.id)}
          />
        ))}
      </tbody>
    </table>
  )
}

function orderOf(sort: Sort, key: SortKey | undefined): "ascending" | "descending" | undefined {
  if (key === undefined || sort.key !== key) return undefined
  return sort.isDescending ? "descending" : "ascending"
}
