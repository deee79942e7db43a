import { useState } from "preact/hooks"
import { get, mayAct, post } from "../../api-client.ts"
import type { CaptureDetail, SendResult } from "../../api.ts"
import { bytesOfBase64, shownTextOf } from "../../base64.ts"
import { copy } from "../../clipboard.ts"
import { DetailTabs } from "../../components/detail-tabs.tsx"
import { JsonView } from "../../components/json/json-view.tsx"
import { ErrorNote, Skeleton } from "../../components/loading.tsx"
import { HeaderTable, SendAnswer } from "../../components/send-answer.tsx"
import { Bytes, RecordLink, Time } from "../../components/values.tsx"
import { curlOf } from "../../curl.ts"
import { onReplica, sentence } from "../../format.ts"
import { useShortcuts } from "../../keyboard.ts"
import { useAction, useLoad } from "../../request-hooks.ts"
import { Explanation } from "./explanation.tsx"

interface PanelProps {
  readonly id: string
  close(): void
}

/** One captured request: why it was refused, how it came, and what it gets now. */
export function CaptureDetailPanel({ id, close }: PanelProps) {
  const { value, error, reload } = useLoad(
    (signal) => get<CaptureDetail>(`captures/${encodeURIComponent(id)}`, {}, signal),
    [id],
  )
  if (error !== undefined) return <ErrorNote error={error} retry={reload} />
  if (value === undefined) return <Skeleton rows={8} />
  return <Opened capture={value} close={close} />
}

const TABS = ["Explanation", "JSON", "Raw", "Headers"] as const

function Opened({ capture, close }: { capture: CaptureDetail; close: () => void }) {
  const { summary, headers, detail, record, is_masked } = capture
  const [tab, chooseTab] = useState<(typeof TABS)[number]>("Explanation")
  const resend = useAction(() => post<SendResult>(`captures/${encodeURIComponent(summary.id)}/resend`))
  const copyCurl = (): void => void copy(curlOfCapture(capture), "curl")
  useShortcuts("The request", [
    { keys: "r", label: "Send it again now", run: resend.run },
    { keys: "c", label: "Copy as curl", run: copyCurl },
  ])
  return (
    <>
      <div class="detail-head">
        <div class="detail-title">
          <h2>
            <span class={`status status-${summary.outcome}`}>{summary.status}</span> {sentence(summary.words)}
          </h2>
          <button type="button" class="quiet icon" aria-label="Close the request" onClick={close}>
            ✕
          </button>
        </div>
        {detail !== null && detail !== summary.words && <p>{sentence(detail)}</p>}
        <p class="facts">
          <span>
            {summary.method} {summary.path}
          </span>
          {summary.pipeline !== null && <span>{summary.pipeline}</span>}
          <Time ms={summary.at} withDate />
          {summary.bytes !== null && <Bytes value={summary.bytes} />}
          <span>
            from {summary.remote_address}
            {onReplica(summary.replica)}
          </span>
          {record !== null && <RecordLink record={record} />}
        </p>
      </div>
      <div class="detail-foot">
        <button type="button" class="primary" disabled={resend.isBusy || !mayAct.value} onClick={resend.run}>
          Send it again now <kbd>r</kbd>
        </button>
        <button type="button" onClick={copyCurl}>
          Copy as curl <kbd>c</kbd>
        </button>
      </div>
      <div class="resend" role="status">
        {resend.result !== undefined && <SendAnswer result={resend.result} />}
      </div>
      {resend.error !== undefined && <ErrorNote error={resend.error} />}
      <DetailTabs label="Request" names={TABS} chosen={tab} choose={(it) => chooseTab(it)}>
        {tab === "Explanation" ? (
          <Explanation capture={capture} version={resend.count} />
        ) : (
          <>
            {is_masked && <p class="masked muted">Secrets and signatures are masked.</p>}
            {tab === "Headers" ? (
              <div class="payload">
                <HeaderTable headers={headers} />
              </div>
            ) : (
              <Body capture={capture} asJson={tab === "JSON"} />
            )}
          </>
        )}
      </DetailTabs>
    </>
  )
}

function Body({ capture, asJson }: { capture: CaptureDetail; asJson: boolean }) {
  const { summary, body_base64, is_truncated } = capture
  if (body_base64 === null)
    return (
      <p class="payload muted">
        {!is_truncated
          ? "It was refused before its body was read."
          : summary.status === 503
            ? "Bodies are not kept while they wait for the broker; with capture = all they are."
            : "The body was too large to be kept."}
      </p>
    )
  const text = shownTextOf(bytesOfBase64(body_base64))
  if (text === "") return <p class="payload muted">The body is empty.</p>
  return asJson ? <JsonView text={text} /> : <pre class="payload">{text}</pre>
}

const curlOfCapture = ({ summary, url, headers, body_base64 }: CaptureDetail): string =>
  curlOf({
    method: summary.method,
    url,
    headers,
    body: body_base64 === null ? null : bytesOfBase64(body_base64),
  })
