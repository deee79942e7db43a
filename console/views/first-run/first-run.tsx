import type { ComponentChildren } from "preact"
import { useState } from "preact/hooks"
import { get, mayAct, post } from "../../api-client.ts"
import type { PipelineOverview, ProviderSetup, SampleRequest, SendResult } from "../../api.ts"
import { DetailTabs } from "../../components/detail-tabs.tsx"
import { ErrorNote, Skeleton } from "../../components/loading.tsx"
import { Select } from "../../components/select.tsx"
import { SendAnswer } from "../../components/send-answer.tsx"
import { CodeBlock, recordHref } from "../../components/values.tsx"
import { curlOf } from "../../curl.ts"
import { formatCounted } from "../../format.ts"
import { overview } from "../../live.ts"
import { useAction, useLoad } from "../../request-hooks.ts"
import { hrefOf, navigate, route } from "../../router.ts"
import { toast } from "../../toasts.ts"
import { isLocal, linesFor, senderAddress, tunnelsTo } from "./setup.ts"

/** What to do until the first event comes: in place of an empty list. */
export function FirstRun() {
  const it = overview.value
  return (
    <Guide title="Waiting for the first event">
      <p class="muted" role="status">
        {it === undefined || it.refused === 0 ? (
          "It is shown here as soon as it comes."
        ) : (
          <>
            {formatCounted(it.refused, "request")} came and {it.refused === 1 ? "was" : "were"} refused:{" "}
            <a href={hrefOf("refused")}>see why</a>.
          </>
        )}
      </p>
    </Guide>
  )
}

/** The same at any time, for another sender: `#/connect/<pipeline>` */
export function Connect() {
  return (
    <Guide title="Connect a sender">
      <p class="muted">
        Each pipeline has an address for one sender. For another sender, add a pipeline to the configuration
        file and reload it.
      </p>
    </Guide>
  )
}

function Guide({ title, children }: { title: string; children: ComponentChildren }) {
  const [named] = route.value.view === "connect" ? route.value.path : []
  const [chosen = named, choose] = useState<string>()
  const it = overview.value
  if (it === undefined) return <Skeleton rows={8} />
  const reachable = it.pipelines.filter(({ url }) => url !== "")
  const pipeline = reachable.find(({ id }) => id === chosen) ?? reachable[0]
  return (
    <div class="first-run">
      <header>
        <h2>{title}</h2>
        {children}
        {reachable.length > 1 && (
          <label>
            Pipeline{" "}
            <Select value={pipeline?.id} options={reachable.map(({ id }) => [id, id])} choose={choose} />
          </label>
        )}
      </header>
      {pipeline === undefined ? (
        <p>No pipeline has an address of its own: requests come through the program that Hookline runs in.</p>
      ) : (
        <Steps key={pipeline.id} pipeline={pipeline} />
      )}
    </div>
  )
}

function Steps({ pipeline }: { pipeline: PipelineOverview }) {
  const address = senderAddress(pipeline.url, location.hostname)
  return (
    <ol class="steps">
      <li>
        <h3>Try it with a sample</h3>
        <SendSample pipeline={pipeline} address={address} />
      </li>
      <li>
        <h3>Paste this address at the provider</h3>
        <CodeBlock text={address} what="address" />
        {isLocal(address) && (
          <p class="muted">The internet does not reach this address; a tunnel, below, makes it public.</p>
        )}
      </li>
      <li>
        <h3>Let only the provider in</h3>
        <Configuration pipeline={pipeline} />
      </li>
      <li>
        <h3>Reach this machine from outside</h3>
        <Tunnels url={pipeline.url} isStripe={pipeline.provider === "stripe"} />
      </li>
    </ol>
  )
}

function SendSample({ pipeline, address }: { pipeline: PipelineOverview; address: string }) {
  const sample = useLoad(
    (signal) => get<SampleRequest>(`samples/${encodeURIComponent(pipeline.id)}`, {}, signal),
    [pipeline.id],
  )
  const { isBusy, result, error, run } = useAction(async ({ body, content_type }: SampleRequest) => {
    const answer = await post<SendResult>("send", { pipeline: pipeline.id, body, content_type })
    // on Connect it is one of many
    if (answer.record !== null && route.value.view !== "connect") {
      toast(`Published to ${answer.record.topic}`)
      navigate(recordHref(answer.record))
    }
    return answer
  })
  if (sample.error !== undefined) return <ErrorNote error={sample.error} retry={sample.reload} />
  if (sample.value === undefined) return <Skeleton rows={2} />
  const { value } = sample
  const curl = curlOf({
    method: "POST",
    url: address,
    headers: [{ name: "Content-Type", value: "application/json" }],
    body: new TextEncoder().encode('{"type":"example","id":1}'),
  })
  return (
    <>
      <p class="actions">
        <button
          type="button"
          class="primary"
          disabled={isBusy || value.problem !== null || !mayAct.value}
          onClick={() => run(value)}
        >
          Send a sample
        </button>
        <span class="muted">
          {value.problem ??
            (value.provider === null
              ? "and see the event that it becomes"
              : `of ${value.provider}${value.signed ? ", signed with the pipeline's secret" : ""}`)}
        </span>
        <a href={hrefOf("send", [pipeline.id])}>Edit it first</a>
      </p>
      {error !== undefined && <ErrorNote error={error} />}
      {result !== undefined && <SendAnswer result={result} />}
      <p class="muted">
        {pipeline.is_verified
          ? "Or from a terminal; it is not signed, so it is refused, and Refused explains why:"
          : "Or from a terminal:"}
      </p>
      <CodeBlock text={curl} what="command" />
    </>
  )
}

function Configuration({ pipeline }: { pipeline: PipelineOverview }) {
  const providers = useLoad((signal) => get<ProviderSetup[]>("providers", {}, signal), [])
  const [chosen, choose] = useState(pipeline.provider ?? "stripe")
  if (providers.error !== undefined) return <ErrorNote error={providers.error} retry={providers.reload} />
  if (providers.value === undefined) return <Skeleton rows={3} />
  const setup = providers.value.find(({ provider }) => provider === chosen) ?? providers.value[0]
  if (setup === undefined) return null
  return (
    <>
      <p class="actions">
        <label>
          Provider{" "}
          <Select
            value={setup.provider}
            options={providers.value.map(({ provider, title }) => [provider, title])}
            choose={choose}
          />
        </label>
        {setup.docs !== null && (
          <a href={setup.docs} target="_blank" rel="noreferrer">
            Its documentation
          </a>
        )}
      </p>
      {setup.setup !== null && (
        <p>
          At {setup.title}: {setup.setup}.
        </p>
      )}
      <CodeBlock text={linesFor(pipeline.id, setup)} what="configuration" />
      {setup.note !== null && <p class="muted">{setup.note}</p>}
      <p class="muted">
        {pipeline.provider === setup.provider ? (
          `${pipeline.id} has it already.`
        ) : (
          <>
            Put it into the configuration file. A variable has to be set when Hookline starts: restart it.
            With a secret in a file, <code>{"${file:…}"}</code>, a reload is enough: SIGHUP, or by itself
            under <code>hookline run --watch</code>.
          </>
        )}
      </p>
    </>
  )
}

function Tunnels({ url, isStripe }: { url: string; isStripe: boolean }) {
  const tunnels = tunnelsTo(url)
  const names = tunnels.map(({ name }) => name)
  const [chosen, choose] = useState(isStripe ? names[0]! : names[1]!)
  const tunnel = tunnels.find(({ name }) => name === chosen)!
  return (
    <DetailTabs label="Tunnels" names={names} chosen={chosen} choose={choose}>
      <CodeBlock text={tunnel.command} what="command" />
      <p class="muted">{tunnel.next}</p>
    </DetailTabs>
  )
}
