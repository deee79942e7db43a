import { useEffect, useState } from "preact/hooks"
import { get } from "../../api-client.ts"
import type { PipelineDetail as Detail } from "../../api.ts"
import { copy } from "../../clipboard.ts"
import { ErrorNote, Skeleton } from "../../components/loading.tsx"
import { formatCount, formatDuration, formatRate } from "../../format.ts"
import { useLoad } from "../../request-hooks.ts"
import { hrefOf } from "../../router.ts"
import { Curve } from "../../components/curve.tsx"
import { PipelineIcon, PipelineState } from "./pipeline-state.tsx"

/** What a pipeline did in the last 15 minutes; asked for again with each step of its series. */
export function PipelineDetail({ id, close }: { id: string; close: () => void }) {
  const [steps, setSteps] = useState(0)
  const { value, error, reload } = useLoad<Detail>(
    (signal) => get(`pipelines/${encodeURIComponent(id)}`, {}, signal),
    [id, steps],
  )
  const stepMs = value?.step_ms ?? 5000
  useEffect(() => {
    const timer = setInterval(() => document.hidden || setSteps((it) => it + 1), stepMs)
    return () => clearInterval(timer)
  }, [stepMs])
  return (
    <>
      <header class="detail-head">
        <div class="detail-title">
          <h2>{id}</h2>
          <button type="button" class="quiet icon" aria-label="Close" title="Close (Esc)" onClick={close}>
            ✕
          </button>
        </div>
        {value !== undefined && (
          <p>
            <PipelineIcon state={value.pipeline.state} /> <PipelineState pipeline={value.pipeline} />
          </p>
        )}
        {value !== undefined && <Facts {...value.pipeline} />}
        {typeof value?.sender === "string" && (
          <p class="muted">
            {value.pipeline.provider} {value.sender}
          </p>
        )}
      </header>
      {error !== undefined && <ErrorNote error={error} retry={reload} />}
      {value === undefined ? error === undefined && <Skeleton rows={9} /> : <Curves detail={value} />}
    </>
  )
}

function Facts({ id, provider, is_verified, url, connection, topic }: Detail["pipeline"]) {
  return (
    <>
      <p class="pipeline-url">
        <code>{url}</code>
        <button type="button" class="quiet" onClick={() => void copy(url)}>
          Copy
        </button>
      </p>
      <div class="facts">
        <span>{provider ?? (is_verified ? "own scheme" : "not verified")}</span>
        <span>
          to{" "}
          <a href={hrefOf("events", [connection, topic])}>
            {connection}/{topic}
          </a>
        </span>
        <a href={hrefOf("refused", [], { pipeline: id })}>Refused</a>
        <a href={hrefOf("send", [id])}>Send</a>
      </div>
    </>
  )
}

function Curves({ detail }: { detail: Detail }) {
  const { times, accepted, refused, p50_ms, p99_ms, pipeline } = detail
  const rate = (value: number): string => `${formatRate(value)}/s`
  return (
    <div class="curves">
      <Curve title="Events" times={times} series={[{ label: "accepted", values: accepted }]} format={rate} />
      <Curve
        title="Refused"
        times={times}
        series={refused.map(({ words, values }) => ({ label: words, values }))}
        format={rate}
        none="Nothing was refused in these 15 minutes."
      />
      <Curve
        title="To the acknowledgement"
        times={times}
        series={[
          { label: "p50", values: p50_ms },
          { label: "p99", values: p99_ms },
        ]}
        format={formatDuration}
        none="Nothing was acknowledged in these 15 minutes."
      />
      {pipeline.refusals.length > 0 && (
        <table class="plain">
          <caption>Refused in the last 5 minutes</caption>
          <tbody>
            {pipeline.refusals.map(({ reason, words, count }) => (
              <tr key={reason}>
                <td class="number">{formatCount(count)}</td>
                <td>{words}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </div>
  )
}
