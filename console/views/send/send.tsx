import { useEffect, useState } from "preact/hooks"
import type { PipelineOverview, ProviderSetup, Sample, SendRequest, SendResult } from "../../api.ts"
import { useAction } from "../../action.ts"
import { get, post } from "../../api-client.ts"
import { useCommands } from "../../commands.ts"
import { ErrorNote } from "../../components/error-note.tsx"
import { Keys } from "../../components/keys.tsx"
import { SendAnswer } from "../../components/send-answer.tsx"
import { Skeleton } from "../../components/skeleton.tsx"
import { State } from "../../components/state.tsx"
import { useShortcuts } from "../../keyboard.ts"
import { useLoad } from "../../load.ts"
import { hrefOf, navigate, route } from "../../router.ts"
import { overview } from "../../store/live.ts"
import { senderAddress } from "../first-run/sender-address.ts"
import { indented, isJsonType, jsonProblem } from "./json-check.ts"

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
    (signal) => get<Sample>(`samples/${encodeURIComponent(id)}`, { provider }, signal),
    [id, provider],
  )
  const providers = useLoad((signal) => get<ProviderSetup[]>("providers", {}, signal), [])
  return (
    <>
      <div class="toolbar">
        <select
          aria-label="Pipeline"
          value={id}
          onChange={(event) => navigate(hrefOf("send", [event.currentTarget.value]), { replace: true })}
        >
          {pipelines.map(({ id }) => (
            <option key={id}>{id}</option>
          ))}
        </select>
        <select
          aria-label="Sample"
          value={provider}
          onChange={(event) => setProvider(event.currentTarget.value)}
        >
          <option value="">
            {pipeline.provider === null ? "Plain JSON" : `Sample of ${pipeline.provider}`}
          </option>
          {providers.value
            ?.filter((it) => it.provider !== pipeline.provider)
            .map((it) => (
              <option key={it.provider} value={it.provider}>
                Sample of {it.title}
              </option>
            ))}
        </select>
        <button type="button" disabled={isLoading} onClick={reload}>
          New sample
        </button>
        {value !== undefined && (
          <span class="muted grow send-url">
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
  readonly sample: Sample
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
  const { isBusy, result, error, run } = useAction((request: SendRequest) =>
    post<SendResult>("send", request),
  )
  const sendIt = (): void =>
    run({
      pipeline: sample.pipeline,
      body,
      content_type: contentType,
      signed: sample.signed && isSigned,
      ...(provider !== "" && { provider }),
    })
  useShortcuts("Send", [{ keys: "mod+enter", label: "Send", run: sendIt }])
  useCommands(
    () => [{ kind: "Send", title: `Send to ${sample.pipeline}`, run: sendIt }],
    [sample, body, contentType, isSigned],
  )
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
        {sample.signed ? (
          <label class="choice">
            <input
              type="checkbox"
              checked={isSigned}
              onChange={(event) => setSigned(event.currentTarget.checked)}
            />
            Sign it with the pipeline's secret
          </label>
        ) : (
          <p class="muted">
            {sample.problem === null
              ? "Not signed: the pipeline verifies nobody."
              : `Not signed, so that it is refused: ${sample.problem}.`}
          </p>
        )}
        <div class="send-actions">
          <button type="button" class="primary" disabled={isBusy} onClick={sendIt}>
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
      <section class="send-response" aria-label="Answer">
        <div role="status">
          {result === undefined ? (
            error === undefined && (
              <p class="muted">
                {isBusy
                  ? "Waiting for the answer"
                  : "The answer, and the event that it becomes, appear here."}
              </p>
            )
          ) : (
            <SendAnswer result={result} />
          )}
        </div>
        {error !== undefined && <ErrorNote error={error} />}
      </section>
    </div>
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
