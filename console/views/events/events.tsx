import { useEffect, useMemo, useRef, useState } from "preact/hooks"
import { get } from "../../api-client.ts"
import type { TopicOverview } from "../../api.ts"
import { ErrorNote, Skeleton } from "../../components/loading.tsx"
import { Split } from "../../components/split.tsx"
import type { VirtualListHandle } from "../../components/virtual-list.tsx"
import { useShortcuts } from "../../keyboard.ts"
import { now, overview } from "../../live.ts"
import { useLoad } from "../../request-hooks.ts"
import { hrefOf, navigate, route } from "../../router.ts"
import { FirstRun } from "../first-run/first-run.tsx"
import { useIsFirstRun } from "../first-run/is-first-run.ts"
import { narrowed, parseCondition } from "./condition.ts"
import { Histogram } from "./histogram.tsx"
import { hrefOfPlace, placeOf, type EventsPlace, type Source } from "./place.ts"
import { boundsOf } from "./range.ts"
import { RecordDetailPanel } from "./record-detail.tsx"
import { RecordList, type Cursor } from "./record-list.tsx"
import { Toolbar } from "./toolbar.tsx"
import { TopicTail, type TailQuery } from "./topic-tail.ts"

/** The records of a topic: `#/events/<connection>/<topic>/<partition>/<offset>?where=<filter>&range=15m`. */
export function Events() {
  const place = placeOf(route.value)
  const topics = useLoad((signal) => get<TopicOverview[]>("topics", {}, signal), [])
  const isFirstRun = useIsFirstRun()
  const sources = sourcesOf(topics.value ?? [], place.source)
  const source = place.source ?? sources.find(({ topic }) => topic !== undefined)
  if (isFirstRun === true && place.source === undefined) return <FirstRun />
  if (topics.error !== undefined && source === undefined)
    return <ErrorNote error={topics.error} retry={topics.reload} />
  if (source === undefined) {
    if (topics.value === undefined || overview.value === undefined) return <Skeleton rows={12} />
    return <p class="nothing muted">No connection has a topic yet.</p>
  }
  const { filter, range } = place
  return (
    <TopicEvents
      key={JSON.stringify([source, filter, range])}
      place={{ ...place, source }}
      source={source}
      sources={sources}
    />
  )
}

/** Topics of pipelines first: they are listed before their first event. All of a connection are one more, where it has several. */
function sourcesOf(topics: readonly TopicOverview[], linked: Source | undefined): readonly Source[] {
  const all = [...(overview.value?.pipelines ?? []), ...topics, ...(linked === undefined ? [] : [linked])]
  const byConnection = Map.groupBy(all, ({ connection }) => connection)
  return [...byConnection].flatMap(([connection, of]) => {
    const names = new Set(of.map(({ topic }) => topic))
    if (names.size > 1) names.add(undefined)
    return [...names].map((topic) => ({ connection, topic }))
  })
}

/** A tail that is open while the component is shown. */
function useTail(query: () => TailQuery): { readonly tail: TopicTail; startAgain(): void } {
  const [tries, setTries] = useState(0)
  const tail = useMemo(() => new TopicTail(query()), [tries])
  useEffect(() => {
    tail.open()
    return () => tail.close()
  }, [tail])
  return { tail, startAgain: () => setTries((it) => it + 1) }
}

interface TopicEventsProps {
  readonly place: EventsPlace
  readonly source: Source
  readonly sources: readonly Source[]
}

/** One topic with one filter and range, as long as these stay the same. */
function TopicEvents({ place, source, sources }: TopicEventsProps) {
  const { record: opened, filter, range } = place
  const condition = parseCondition(filter)
  const where = "where" in condition ? condition.where : undefined
  const { tail, startAgain } = useTail(() => ({ ...source, where, ...boundsOf(range, now.peek()) }))
  const [cursor, setCursor] = useState<Cursor | undefined>(opened && { ...opened, isNew: false })
  const list = useRef<VirtualListHandle>(undefined)
  const filterInput = useRef<HTMLInputElement>(null)
  tail.kept = opened ?? cursor

  const go = (changed: Partial<EventsPlace>): void => navigate(hrefOfPlace({ ...place, ...changed }))
  const move = (by: number): void => {
    const at = cursor === undefined ? -1 : tail.placeOf(cursor)
    const next = Math.min(Math.max(at < 0 ? 0 : at + by, 0), tail.count - 1)
    const record = tail.row(next)
    if (record === undefined) return
    list.current?.reveal(next)
    setCursor({ ...record, isNew: true })
    if (opened !== undefined) navigate(hrefOfPlace({ ...place, record }), { replace: true })
  }
  const toggle = (): void => {
    if (!tail.isPaused.peek()) return tail.pause()
    tail.resume()
    list.current?.toTop()
  }
  const close = (): void => {
    if (opened !== undefined) setCursor({ ...opened, isNew: true })
    go({ record: undefined })
  }
  const filterBy = narrowing(filter, (it) => go({ filter: it }))
  useShortcuts("Events", [
    { keys: "j", label: "Next event", run: () => move(1) },
    { keys: "k", label: "Previous event", run: () => move(-1) },
    { keys: "Enter", label: "Open the event", run: () => cursor && go({ record: cursor }) },
    { keys: "Escape", label: "Close the event", run: () => opened !== undefined && close() },
    { keys: "/", label: "Filter", run: () => filterInput.current?.focus() },
    { keys: ".", label: "Pause, resume", run: toggle },
    { keys: "r", label: "Replay the range to …", run: () => navigate(replayHref(source, where, range)) },
  ])
  return (
    <>
      <Toolbar {...{ place, sources, tail, filterInput, go, toggle }} />
      <Split
        list={
          <RecordList
            tail={tail}
            opened={opened}
            cursor={cursor}
            hasFilter={where !== undefined}
            hrefTo={(record) => hrefOfPlace({ ...place, record })}
            moveTo={setCursor}
            handle={(it) => (list.current = it)}
            startAgain={startAgain}
            above={
              <Histogram
                {...{ source, range }}
                isFiltered={where !== undefined}
                select={(it) => go({ range: it })}
              />
            }
          />
        }
        detail={opened !== undefined && <RecordDetailPanel {...{ source, filterBy, close }} place={opened} />}
        detailLabel="Event"
      />
    </>
  )
}

/** What has the list filtered by a value of an event, too. */
const narrowing =
  (filter: string, apply: (filter: string) => void) =>
  (what: string, value: string): (() => void) | undefined => {
    const narrower = narrowed(filter, what, value)
    return narrower === undefined ? undefined : () => apply(narrower)
  }

/** The Replay view with what the list shows. */
function replayHref(source: Source, where: string | undefined, range: EventsPlace["range"]): string {
  const { since, until } = boundsOf(range, now.peek())
  return hrefOf("replay", [], { ...source, where, since: since?.toString(), until: until?.toString() })
}
