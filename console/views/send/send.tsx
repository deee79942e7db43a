import { useEffect, useState } from "preact/hooks"
import { get, mayAct, post } from "../../api-client.ts"
import type { PipelineOverview, ProviderSetup, SampleRequest, SendRequest, SendResult } from "../../api.ts"
import { indented, isJsonType, jsonProblem } from "../../components/json/parse.ts"
import { ErrorNote, Skeleton } from "../../components/loading.tsx"
import { Select } from "../../components/select.tsx"
import { SendAnswer } from "../../components/send-answer.tsx"
import { Keys, State } from "../../components/values.tsx"
import { useShortcuts } from "../../keyboard.ts"
import { overview } from "../../live.ts"
import { useAction, type Action, useLoad } from "../../request-hooks.ts"
import { hrefOf, navigate, route } from "../../router.ts"
import { senderAddress } from "../first-run/setup.ts"

/** Sends a sample of its provider to a pipeline: `#/send/<pipeline>`. */
export function Send() {
  const it = overview.value
  if (it === undefined) return <Skeleton rows={8} />
  const [asked] = route.value.path
  const pipeline = it.pipelines.find(({ id }) => id === asked) ?? it.pipelines[0]
  if (pipeline === undefined) return <p class="payload muted">No pipeline is configured.</p>
  return <Composer key={pipeline.id} pipeline={pipeline} pipelines={it.pipelines} />
}

interface ComposerProps {
  readonly pipeline: PipelineOverview
  readonly pipelines: readonly PipelineOverview[]
}

function Composer({ pipeline, pipelines }: ComposerProps) {
  const { id } = pipeline
  /** Whose sample; empty: the pipeline's provider's. */
  const [provider, setProvider] = useState("")
  const { value, error, isLoading, reload } = useLoad(
    (signal) => get<SampleRequest>(`samples/${encodeURIComponent(id)}`, { provider }, signal),
    [id, provider],
  )
  const providers = useLoad((signal) => get<ProviderSetup[]>("providers", {}, signal), [])
  const others = (providers.value ?? []).filter((it) => it.provider !== pipeline.provider)
  const samples = [
    ["", pipeline.provider === null ? "Plain JSON" : `Sample of ${pipeline.provider}`],
    ...others.map((it) => [it.provider, `Sample of ${it.title}`] as const),
  ] as const
  return (
    <>
      <div class="toolbar">
        <Select
          label="Pipeline"
          value={id}
          options={pipelines.map(({ id }) => [id, id])}
          choose={(it) => navigate(hrefOf("send", [it]), { replace: true })}
        />
        <Select label="Sample" value={provider} options={samples} choose={setProvider} />
        <button type="button" disabled={isLoading} onClick={reload}>
          New sample
        </button>
        {value !== undefined && (
          <span class="muted grow clipped">
            {value.method} {value.url && senderAddress(value.url, location.hostname)}
          </span>
        )}
      </div>
      {error !== undefined && <ErrorNote error={error} retry={reload} />}
      {value !== undefined ? (
        <Form sample={value} provider={provider} />
      ) : (
        error === undefined && <Skeleton rows={8} />
      )}
    </>
  )
}

/** JSON is looked at when typing pauses: a large body holds up no key. */
const CHECK_AFTER_MS = 150

interface FormProps {
  readonly sample: SampleRequest
  /** Empty: the pipeline's. */
  readonly provider: string
}

function Form({ sample, provider }: FormProps) {
  const [isSigned, setSigned] = useState(true)
  const [body, setBody] = useState("")
  const [contentType, setContentType] = useState("")
  useEffect(() => {
    setBody(indented(sample.body))
    setContentType(sample.content_type)
  }, [sample])
  const isJson = isJsonType(contentType)
  const problem = useChecked(body, isJson)
  const sending: Sending = useAction((request) => post<SendResult>("send", request))
  const sendIt = (): void =>
    sending.run({
      pipeline: sample.pipeline,
      body,
      content_type: contentType,
      signed: sample.signed && isSigned,
      ...(provider !== "" && { provider }),
    })
  useShortcuts("Send", [{ keys: "mod+enter", label: "Send", run: sendIt }])
  return (
    <div class="columns">
      <section class="send-request" aria-label="Request">
        <label>
          Content-Type
          <input value={contentType} onInput={(event) => setContentType(event.currentTarget.value)} />
        </label>
        <label class="send-body">
          Body
          <textarea
            spellcheck={false}
            autocapitalize="off"
            value={body}
            onInput={(event) => setBody(event.currentTarget.value)}
          />
        </label>
        <Signing sample={sample} isSigned={isSigned} sign={setSigned} />
        <div class="actions">
          <button type="button" class="primary" disabled={sending.isBusy || !mayAct.value} onClick={sendIt}>
            Send <Keys keys="mod+enter" />
          </button>
          <span role="status">
            {isJson &&
              (problem === undefined ? (
                <State level="good">JSON</State>
              ) : (
                <State level="warning">{problem}; it is sent as it is</State>
              ))}
          </span>
        </div>
      </section>
      <Answer {...sending} />
    </div>
  )
}

interface SigningProps {
  readonly sample: SampleRequest
  readonly isSigned: boolean
  sign(isSigned: boolean): void
}

function Signing({ sample: { signed, problem }, isSigned, sign }: SigningProps) {
  return signed ? (
    <label class="choice">
      <input type="checkbox" checked={isSigned} onChange={(event) => sign(event.currentTarget.checked)} />
      Sign it with the pipeline's secret
    </label>
  ) : (
    <p class="muted">
      {problem === null
        ? "Not signed: the pipeline verifies nobody."
        : `Not signed, so that it is refused: ${problem}.`}
    </p>
  )
}

type Sending = Action<SendResult, [SendRequest]>

function Answer({ isBusy, result, error }: Sending) {
  return (
    <section class="send-response" aria-label="Answer">
      <div role="status">
        {result !== undefined && <SendAnswer result={result} />}
        {result === undefined && error === undefined && (
          <p class="muted">
            {isBusy ? "Waiting for the answer" : "The answer, and the event that it becomes, appear here."}
          </p>
        )}
      </div>
      {error !== undefined && <ErrorNote error={error} />}
    </section>
  )
}

function useChecked(body: string, isJson: boolean): string | undefined {
  const [problem, setProblem] = useState<string>()
  useEffect(() => {
    if (!isJson) return
    const timer = setTimeout(() => setProblem(jsonProblem(body)), CHECK_AFTER_MS)
    return () => clearTimeout(timer)
  }, [body, isJson])
  return problem
}
