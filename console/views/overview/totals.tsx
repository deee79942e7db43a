import type { ComponentChildren } from "preact"
import { useMemo } from "preact/hooks"
import type { Totals } from "../../api.ts"
import { Age, Duration, StateIcon } from "../../components/values.tsx"
import { formatCount, formatRate, formatShare } from "../../format.ts"
import { hrefOf } from "../../router.ts"
import { Curve } from "../../components/curve.tsx"
import { refusedShare } from "./rows.ts"

/** From these on a figure is marked. */
const REFUSED_SHARE = 0.01
const DISK_SHARE = 0.8

/** The service as a whole: its figures of the last minute, and what came in the last 15. */
export function TotalsBand({ totals }: { totals: Totals }) {
  const { events_per_second: accepted, unsent, disk_used: disk } = totals
  const refused = refusedShare(totals)
  return (
    <section class="totals" aria-label="The whole service">
      <dl class="figures">
        <Figure name="accepted">{formatRate(accepted)}/s</Figure>
        <Figure name="refused" isMarked={refused >= REFUSED_SHARE}>
          {formatShare(refused)}
        </Figure>
        <Figure name="p99">
          <Duration ms={totals.p99_ms} />
        </Figure>
        <Figure
          name="unsent"
          href={hrefOf("replay")}
          note={
            totals.oldest_unsent_at !== null && (
              <>
                , oldest for <Age ms={totals.oldest_unsent_at} />
              </>
            )
          }
          isMarked={unsent > 0}
        >
          {formatCount(unsent)}
        </Figure>
        {disk !== null && (
          <Figure name="of disk" isMarked={disk >= DISK_SHARE}>
            {formatShare(disk)}
          </Figure>
        )}
      </dl>
      <Chart {...totals} />
    </section>
  )
}

interface FigureProps {
  readonly name: string
  readonly href?: string
  /** Follows the name. */
  readonly note?: ComponentChildren
  readonly isMarked?: boolean
  readonly children: ComponentChildren
}

const Figure = ({ name, href, note, isMarked = false, children }: FigureProps) => (
  <div class="figure">
    <dt class="muted">
      {href === undefined ? name : <a href={href}>{name}</a>}
      {note}
    </dt>
    <dd class="number">
      {isMarked && <StateIcon level="warning" />}
      {children}
    </dd>
  </div>
)

function Chart({ accepted, dropped, refused, step_ms: stepMs, steps_end: end }: Totals) {
  // new only when a step has ended, by more than clocks jitter: drawing costs more than the rest of the view
  const endS = Math.round(end / 1000)
  const times = useMemo(
    () => accepted.map((_, at) => endS * 1000 - (accepted.length - 1 - at) * stepMs),
    [endS],
  )
  return (
    <Curve
      title={`Events, last ${Math.round((accepted.length * stepMs) / 60_000)} min`}
      kind="stack"
      times={times}
      series={[
        { label: "accepted", values: accepted },
        { label: "dropped", values: dropped },
        { label: "refused", values: refused },
      ]}
      format={(value) => `${formatRate(value)}/s`}
    />
  )
}
