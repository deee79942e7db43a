import { useState } from "preact/hooks"
import { get, post } from "../../api-client.ts"
import type { CaptureExplanation, ProviderSetup, VerifyRequest } from "../../api.ts"
import { ErrorNote } from "../../components/loading.tsx"
import { Select } from "../../components/select.tsx"
import { Keys } from "../../components/values.tsx"
import { useShortcuts } from "../../keyboard.ts"
import { overview } from "../../live.ts"
import { useAction, useLoad, type Action } from "../../request-hooks.ts"
import { route } from "../../router.ts"
import { Explanation } from "../refused/explanation.tsx"

/** Explains a pasted request, as `hookline verify -` does: `#/verify/<pipeline>`. */
export function Verify() {
  const pipelines = overview.value?.pipelines ?? []
  const [text, setText] = useState("")
  const [chosen, choose] = useState(route.value.path[0])
  const [provider, setProvider] = useState("")
  const [secret, setSecret] = useState("")
  const pipeline = chosen ?? pipelines[0]?.id ?? ""
  const asking = useAction((request: VerifyRequest) => post<CaptureExplanation>("verify", request))
  const explain = (): void =>
    asking.run(
      pipeline !== ""
        ? { text, pipeline }
        : { text, ...(provider !== "" && { provider }), ...(secret !== "" && { secret }) },
    )
  useShortcuts("Verify", [{ keys: "mod+enter", label: "Explain it", run: explain }])
  return (
    <div class="columns">
      <section class="send-request" aria-label="Request">
        <label>
          With the secret and settings of
          <Select
            value={pipeline}
            options={[
              ...pipelines.map(({ id }) => [id, id] as const),
              ["", "no pipeline: a sender and its secret"],
            ]}
            choose={choose}
          />
        </label>
        {pipeline === "" && <SenderAndSecret {...{ provider, setProvider, secret, setSecret }} />}
        <label class="send-body">
          A failing webhook: a curl command, a raw HTTP request, its headers, an empty line and the body, or
          the JSON of a log
          <textarea
            spellcheck={false}
            autocapitalize="off"
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
        <div class="actions">
          <button
            type="button"
            class="primary"
            disabled={asking.isBusy || text.trim() === ""}
            onClick={explain}
          >
            Explain it <Keys keys="mod+enter" />
          </button>
          <span class="muted">Nothing of it is kept or logged.</span>
        </div>
      </section>
      <Explained {...asking} />
    </div>
  )
}

type Asking = Action<CaptureExplanation, [VerifyRequest]>

const Explained = ({ result, error }: Asking) => (
  <section class="send-response" aria-label="Explanation">
    <div role="status">
      {result !== undefined && <Explanation explanation={result} />}
      {result === undefined && error === undefined && (
        <p class="muted">Why it is verified or refused, step by step, and the likely mistake appear here.</p>
      )}
    </div>
    {error !== undefined && <ErrorNote error={error} />}
  </section>
)

interface SenderAndSecretProps {
  /** Empty: the one whose headers the request has. */
  readonly provider: string
  setProvider(provider: string): void
  readonly secret: string
  setSecret(secret: string): void
}

function SenderAndSecret({ provider, setProvider, secret, setSecret }: SenderAndSecretProps) {
  const providers = useLoad((signal) => get<ProviderSetup[]>("providers", {}, signal), [])
  return (
    <>
      <label>
        Sender
        <Select
          value={provider}
          options={[
            ["", "the one whose headers the request has"],
            ...(providers.value ?? []).map((it) => [it.provider, it.title] as const),
          ]}
          choose={setProvider}
        />
      </label>
      <label>
        Secret
        <input
          type="password"
          autocomplete="off"
          value={secret}
          onInput={(event) => setSecret(event.currentTarget.value)}
        />
      </label>
    </>
  )
}
