import type { PipelineOverview } from "../../api.ts"
import { Sparkline } from "../../components/sparkline.tsx"
import { Duration, Age } from "../../components/values.tsx"
import { formatCount, formatRate, formatShare } from "../../format.ts"
import { hrefOf } from "../../router.ts"
import { PipelineIcon, PipelineState } from "./pipeline-state.tsx"
import { pathOf, refusedShare } from "./rows.ts"

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
  const refused = refusedShare(pipeline)
  return (
    <tr
      class={isCursor ? "row-cursor" : ""}
      data-id={id}
      aria-selected={isOpen}
      onClick={(event) => !(event.target as Element).closest("a") && open()}
    >
      <th scope="row">
        <PipelineIcon state={pipeline.state} />
        <a href={href}>{id}</a>
        <div class="row-state">
          <PipelineState pipeline={pipeline} />
        </div>
      </th>
      <td class="col-state">
        <PipelineState pipeline={pipeline} />
      </td>
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
        {refused === 0 ? (
          <span class="muted">0 %</span>
        ) : (
          <a
            href={hrefOf("refused", [], { pipeline: id })}
            title={refusals.map(({ count, words }) => `${formatCount(count)} × ${words}`).join("\n")}
          >
            {formatShare(refused)}
          </a>
        )}
      </td>
      <td class="number col-p50">
        <Duration ms={pipeline.p50_ms} />
      </td>
      <td class="number col-p99">
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
