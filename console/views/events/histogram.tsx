import { useMemo } from "preact/hooks"
import { get } from "../../api-client.ts"
import type { RecordCounts } from "../../api.ts"
import { Curve } from "../../components/curve.tsx"
import { formatCounted, formatDuration } from "../../format.ts"
import { now } from "../../live.ts"
import { useLoad } from "../../request-hooks.ts"
import type { EventsPlace, Source } from "./place.ts"
import { boundsOf } from "./range.ts"

/** How often a range that ends now is counted again. */
const AGAIN_MS = 15_000

interface HistogramProps {
  readonly source: Source
  readonly range: EventsPlace["range"]
  readonly isFiltered: boolean
  select(range: EventsPlace["range"]): void
}

/** When a topic's events came; a drag shows those of a shorter time. */
export function Histogram({ source, range, isFiltered, select }: HistogramProps) {
  const isOpen = boundsOf(range, 0).until === undefined
  const time = isOpen ? Math.floor(now.value / AGAIN_MS) : 0
  const { value } = useLoad(
    (signal) => get<RecordCounts>("records/counts", { ...source, ...boundsOf(range, now.peek()) }, signal),
    [time],
  )
  const stepMs = value === undefined ? 0 : (value.until - value.since) / value.counts.length
  const times = useMemo(() => value?.counts.map((_, n) => value.since + (n + 1) * stepMs), [value])
  if (value?.counts.length === 0) return null
  return (
    <Curve
      title={`By time${isFiltered ? ", of all events" : ""}; drag to choose`}
      kind="bars"
      times={times ?? []}
      series={[{ label: stepMs === 0 ? "" : `in ${formatDuration(stepMs)}`, values: value?.counts ?? [] }]}
      format={(it) => formatCounted(it, "event")}
      select={(from, until) =>
        select({ range: "custom", since: `${Math.floor(from)}`, until: `${Math.ceil(until)}` })
      }
    />
  )
}
