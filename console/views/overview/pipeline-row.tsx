import type { PipelineOverview } from "../../api.ts"
import { Duration } from "../../components/quantity.tsx"
import { Age } from "../../components/time.tsx"
import { formatCount, formatRate } from "../../format.ts"
import { hrefOf } from "../../router.ts"
import { pathOf } from "./rows.ts"
import { Sparkline } from "./sparkline.tsx"

interface PipelineRowProps {
  readonly pipeline: PipelineOverview
  readonly minutes: number
  readonly href: string
  readonly isOpen: boolean
  readonly isCursor: boolean
  open(): void
}

export function PipelineRow({ pipeline, minutes, href, isOpen, isCursor, open }: PipelineRowProps) {
  const { id, provider, is_verified, url, refusals } = pipeline
  const [reason] = refusals
  return (
    <tr
      class={isCursor ? "row-cursor" : ""}
      data-id={id}
      aria-selected={isOpen}
      onClick={(event) => !(event.target as Element).closest("a") && open()}
    >
      <th scope="row">
        <a href={href}>{id}</a>
      </th>
      <td class="col-provider">
        {provider ?? <span class="muted">{is_verified ? "own scheme" : "not verified"}</span>}
      </td>
      <td class="col-path mono" title={url}>
        {pathOf(url)}
      </td>
      <td class="col-line">
        <Sparkline values={pipeline.sparkline} minutes={minutes} />
      </td>
      <td class="number">
        <Rate value={pipeline.events_per_second} />
      </td>
      <td class="number">
        <Rate value={pipeline.refused_per_second} />
      </td>
      <td class="col-reason">
        {reason !== undefined && (
          <a
            href={hrefOf("refused", [], { pipeline: id })}
            title={refusals.map(({ count, words }) => `${formatCount(count)} × ${words}`).join("\n")}
          >
            <span class="state-icon state-warning" aria-hidden="true">
              ▲
            </span>{" "}
            {formatCount(reason.count)} × {reason.words}
          </a>
        )}
      </td>
      <td class="number">
        <Duration ms={pipeline.p50_ms} />
      </td>
      <td class="number">
        <Duration ms={pipeline.p99_ms} />
      </td>
      <td class="number col-last">
        {pipeline.last_event_at === null ? (
          <span class="muted">none yet</span>
        ) : (
          <Age ms={pipeline.last_event_at} />
        )}
      </td>
    </tr>
  )
}

const Rate = ({ value }: { value: number }) => (
  <span class={value === 0 ? "muted" : ""}>{formatRate(value)}/s</span>
)
