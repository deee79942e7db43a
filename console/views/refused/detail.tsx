import { useState } from "preact/hooks"
import { get, mayAct, post } from "../../api-client.ts"
import type { CaptureDetail, CaptureExplanation, SendResult } from "../../api.ts"
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
import { useAction, useLoad, type Loaded } from "../../request-hooks.ts"
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
  const { summary, headers, is_masked } = capture
  const { id } = summary
  const [tab, chooseTab] = useState<(typeof TABS)[number]>("Explanation")
  const resend = useAction(() => post<SendResult>(`captures/${encodeURIComponent(id)}/resend`))
  const explained = useLoad(
    (signal) => get<CaptureExplanation>(`captures/${encodeURIComponent(id)}/explanation`, {}, signal),
    [id, resend.count],
  )
  const fix = fixOf(explained.value)
  const cantResend = whyNotAgain(capture)
  const copyCurl = (): void => void copy(curlOfCapture(capture), "curl")
  const copyFix = (): void => void copy(fix!, "configuration")
  useShortcuts("The request", [
    ...(cantResend === undefined ? [{ keys: "r", label: "Send it again now", run: resend.run }] : []),
    ...(fix === undefined ? [] : [{ keys: "f", label: "Copy the fix", run: copyFix }]),
    { keys: "c", label: "Copy as curl", run: copyCurl },
  ])
  return (
    <>
      <Head capture={capture} close={close} />
      <div class="detail-foot">
        {fix !== undefined && (
          <button type="button" class="primary" onClick={copyFix}>
            Copy the lines for {sectionOf(fix)} <kbd>f</kbd>
          </button>
        )}
        {cantResend === undefined && (
          <button
            type="button"
            class={fix === undefined && isWorthRepeating(capture, explained.value) ? "primary" : undefined}
            disabled={resend.isBusy || !mayAct.value}
            onClick={resend.run}
          >
            Send it again now <kbd>r</kbd>
          </button>
        )}
        <button type="button" onClick={copyCurl}>
          Copy as curl <kbd>c</kbd>
        </button>
      </div>
      {cantResend !== undefined && <p class="cant-resend muted">{cantResend}</p>}
      <div class="resend" role="status">
        {resend.result !== undefined && <SendAnswer result={resend.result} />}
      </div>
      {resend.error !== undefined && <ErrorNote error={resend.error} />}
      <DetailTabs label="Request" names={TABS} chosen={tab} choose={(it) => chooseTab(it)}>
        {tab === "Explanation" ? (
          <Explained explained={explained} />
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

function Head({
  capture: { summary, detail, record },
  close,
}: {
  capture: CaptureDetail
  close: () => void
}) {
  return (
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
  )
}

/** Lines of the configuration that would mend it; undefined: none are known. */
function fixOf(explanation: CaptureExplanation | undefined): string | undefined {
  const lines = explanation?.advice?.configuration ?? explanation?.configuration ?? undefined
  // a secret is described in a comment, not spelled
  return lines?.split("\n").some((line) => /^[^[#]/.test(line)) === true ? lines : undefined
}

const sectionOf = (lines: string): string => /^\[.*\]$/m.exec(lines)![0]

function whyNotAgain({ summary, body_base64 }: CaptureDetail): string | undefined {
  if (summary.pipeline === null) return "It can't be sent again: no pipeline has its path."
  if (body_base64 !== null || summary.method !== "POST") return undefined
  return `It can't be sent again from here, since its body was not ${summary.bytes === null ? "read" : "kept"}: have its sender send it again.`
}

/** Whether the answer may be another one now, with the settings and the broker as they are. */
const isWorthRepeating = ({ summary }: CaptureDetail, explanation: CaptureExplanation | undefined): boolean =>
  [429, 500, 503].includes(summary.status) ||
  (explanation?.is_verified === true && summary.reason.startsWith("unverified_"))

function Explained({ explained: { value, error, reload } }: { explained: Loaded<CaptureExplanation> }) {
  if (error !== undefined) return <ErrorNote error={error} retry={reload} />
  if (value === undefined) return <Skeleton rows={6} label="Explaining" />
  return <Explanation explanation={value} />
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
