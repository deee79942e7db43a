import type { Ref } from "preact"
import { useRef, useState } from "preact/hooks"
import type { Overview as OverviewAnswer, PipelineOverview } from "../../api.ts"
import { Skeleton } from "../../components/loading.tsx"
import { Split } from "../../components/split.tsx"
import { Table } from "../../components/table.tsx"
import { formatCounted } from "../../format.ts"
import { useShortcuts } from "../../keyboard.ts"
import { overview } from "../../live.ts"
import { hrefOf, navigate, route } from "../../router.ts"
import { FirstRun } from "../first-run/first-run.tsx"
import { useIsFirstRun } from "../first-run/is-first-run.ts"
import { EXTENSIONS } from "./extensions.ts"
import { PipelineDetail } from "./pipeline-detail.tsx"
import { PipelineTable } from "./pipeline-table.tsx"
import { ProblemList } from "./problem-list.tsx"
import { TotalsBand } from "./totals.tsx"
import { nextSort, parseSort, rowsOf } from "./rows.ts"

/** `#/overview/<pipeline>?q=<search>&sort=-p99` */
export function OverviewView() {
  const it = overview.value
  const isFirstRun = useIsFirstRun()
  if (it === undefined || isFirstRun === undefined) return <Skeleton rows={12} />
  return (
    <>
      <ProblemList problems={it.problems} />
      {isFirstRun || <TotalsBand totals={it.totals} />}
      {isFirstRun ? <FirstRun /> : <Pipelines it={it} />}
      {EXTENSIONS.map((View, at) => (
        <View key={at} overview={it} />
      ))}
      {it.replicas.length > 0 && <Replicas replicas={it.replicas} />}
    </>
  )
}

function Pipelines({ it }: { it: OverviewAnswer }) {
  const {
    path: [opened],
    query: { q = "", sort: sortText },
  } = route.value
  const search = useRef<HTMLInputElement>(null)
  const [cursor, setCursor] = useState<string>()
  const sort = parseSort(sortText)
  const rows = rowsOf(it.pipelines, q, sort)
  const query = { q, sort: sortText }

  const open = (id?: string): void => navigate(hrefOf("overview", id === undefined ? [] : [id], query))
  const change = (changed: { readonly q?: string; readonly sort?: string | undefined }): void =>
    navigate(hrefOf("overview", opened === undefined ? [] : [opened], { ...query, ...changed }), {
      replace: true,
    })
  const move = (by: number): void => {
    const next = rowAfter(rows, cursor ?? opened, by)
    if (next === undefined) return
    setCursor(next)
    document.querySelector(`tr[data-id="${CSS.escape(next)}"]`)?.scrollIntoView({ block: "nearest" })
    if (opened !== undefined) navigate(hrefOf("overview", [next], query), { replace: true })
  }
  useShortcuts("Overview", [
    { keys: "j", label: "Next pipeline", run: () => move(1) },
    { keys: "k", label: "Previous pipeline", run: () => move(-1) },
    { keys: "Enter", label: "Open it", run: () => cursor !== undefined && open(cursor) },
    { keys: "Escape", label: "Close it", run: () => opened !== undefined && open() },
    { keys: "/", label: "Search", run: () => search.current?.focus() },
  ])

  return (
    <>
      <Search
        typed={q}
        input={search}
        search={(typed) => change({ q: typed })}
        found={`${q === "" ? "" : `${rows.length} of `}${formatCounted(it.pipelines.length, "pipeline")}`}
      />
      <Split
        list={
          <>
            <PipelineTable
              rows={rows}
              minutes={minutesOf(it)}
              sort={sort}
              opened={opened}
              cursor={cursor}
              query={query}
              sortBy={(key) => change({ sort: nextSort(sort, key) })}
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

/** The pipeline that is `by` rows after another one, within the list. */
function rowAfter(rows: readonly PipelineOverview[], id: string | undefined, by: number): string | undefined {
  const at = rows.findIndex((it) => it.id === id)
  return rows[Math.min(Math.max(at + by, 0), rows.length - 1)]?.id
}

/** How much time the sparklines show. */
const minutesOf = ({ pipelines, sparkline_step_ms: stepMs }: OverviewAnswer): number =>
  Math.round(((pipelines[0]?.sparkline.length ?? 0) * stepMs) / 60_000)

interface SearchProps {
  readonly typed: string
  readonly input: Ref<HTMLInputElement>
  /** How many rows there are, in words. */
  readonly found: string
  search(typed: string): void
}

const Search = ({ typed, input, found, search }: SearchProps) => (
  <div class="toolbar">
    <input
      ref={input}
      class="overview-search"
      type="search"
      aria-label="Search pipelines"
      placeholder="Search pipelines"
      value={typed}
      onInput={({ currentTarget: { value } }) => search(value)}
      onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}
    />
    <span class="muted" role="status">
      {found}
    </span>
  </div>
)

/** The other replicas of the service. */
const Replicas = ({ replicas }: { replicas: OverviewAnswer["replicas"] }) => (
  <Table
    caption="Other replicas"
    columns={["Replica", "Host", "State"]}
    rows={replicas.map(({ replica, host, state, problem }) => [
      replica,
      host ?? "-",
      problem ?? state ?? "-",
    ])}
  />
)
