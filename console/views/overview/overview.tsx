import { useRef, useState } from "preact/hooks"
import type { Attention } from "../../api.ts"
import { Skeleton } from "../../components/skeleton.tsx"
import { Split } from "../../components/split.tsx"
import { State } from "../../components/state.tsx"
import { formatCounted } from "../../format.ts"
import { useShortcuts } from "../../keyboard.ts"
import { hrefOf, navigate, route } from "../../router.ts"
import { overview } from "../../store/live.ts"
import { FirstRun } from "../first-run/first-run.tsx"
import { useIsFirstRun } from "../first-run/is-first-run.ts"
import { PipelineDetail } from "./pipeline-detail.tsx"
import { PipelineTable } from "./pipeline-table.tsx"
import { nextSort, parseSort, rowsOf } from "./rows.ts"

/** `#/overview/<pipeline>?q=<search>&sort=-p99` */
export function OverviewView() {
  const {
    path: [opened],
    query: { q = "", sort: sortText },
  } = route.value
  const search = useRef<HTMLInputElement>(null)
  const [cursor, setCursor] = useState<string>()
  const it = overview.value
  const isFirstRun = useIsFirstRun()
  const sort = parseSort(sortText)
  const rows = rowsOf(it?.pipelines ?? [], q, sort)
  const query = { q, sort: sortText }

  const open = (id?: string): void => navigate(hrefOf("overview", id === undefined ? [] : [id], query))
  const move = (by: number): void => {
    const at = rows.findIndex(({ id }) => id === (cursor ?? opened))
    const next = rows[Math.min(Math.max(at + by, 0), rows.length - 1)]
    if (next === undefined) return
    setCursor(next.id)
    document.querySelector(`tr[data-id="${CSS.escape(next.id)}"]`)?.scrollIntoView({ block: "nearest" })
    if (opened !== undefined) navigate(hrefOf("overview", [next.id], query), { replace: true })
  }
  useShortcuts("Overview", [
    { keys: "j", label: "Next pipeline", run: () => move(1) },
    { keys: "k", label: "Previous pipeline", run: () => move(-1) },
    { keys: "Enter", label: "Open it", run: () => cursor !== undefined && open(cursor) },
    { keys: "Escape", label: "Close it", run: () => opened !== undefined && open() },
    { keys: "/", label: "Search", run: () => search.current?.focus() },
  ])

  if (it === undefined || isFirstRun === undefined) return <Skeleton rows={12} />
  if (isFirstRun)
    return (
      <>
        <AttentionList items={it.attention} />
        <FirstRun />
      </>
    )
  const minutes = Math.round(((it.pipelines[0]?.sparkline.length ?? 0) * it.sparkline_step_ms) / 60_000)
  return (
    <>
      <AttentionList items={it.attention} />
      <div class="toolbar">
        <input
          ref={search}
          class="overview-search"
          type="search"
          aria-label="Search pipelines"
          placeholder="Search pipelines"
          value={q}
          onInput={({ currentTarget: { value } }) =>
            navigate(hrefOf("overview", opened === undefined ? [] : [opened], { ...query, q: value }), {
              replace: true,
            })
          }
          onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}
        />
        <span class="muted" role="status">
          {q === ""
            ? formatCounted(rows.length, "pipeline")
            : `${rows.length} of ${formatCounted(it.pipelines.length, "pipeline")}`}
        </span>
      </div>
      <Split
        list={
          <>
            <PipelineTable
              rows={rows}
              minutes={minutes}
              sort={sort}
              opened={opened}
              cursor={cursor}
              query={query}
              sortBy={(key) =>
                navigate(
                  hrefOf("overview", opened === undefined ? [] : [opened], {
                    ...query,
                    sort: nextSort(sort, key),
                  }),
                  { replace: true },
                )
              }
              open={open}
            />
            {rows.length === 0 && (
              <p class="nothing muted">No pipeline has this in its name, provider, path or topic.</p>
            )}
          </>
        }
        detail={opened !== undefined && <PipelineDetail key={opened} id={opened} close={() => open()} />}
        detailLabel={`Pipeline ${opened}`}
      />
    </>
  )
}

/** Only what needs someone's action now; nothing where nothing does. */
function AttentionList({ items }: { items: readonly Attention[] }) {
  if (items.length === 0) return null
  return (
    <ul class="attention" aria-label="Needs action" aria-live="polite">
      {items.map(({ level, text, pipeline }) => (
        <li key={text.replaceAll(/\d+/g, "")}>
          <State level={level}>{text}</State>
          {pipeline !== null && <a href={hrefOf("refused", [], { pipeline })}>Look at them</a>}
        </li>
      ))}
    </ul>
  )
}
