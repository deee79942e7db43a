import { effect } from "@preact/signals"
import { useEffect, useRef, useState } from "preact/hooks"
import { get, mayAct, post } from "../../api-client.ts"
import type { ReplayOverview } from "../../api.ts"
import { ErrorNote, Skeleton } from "../../components/loading.tsx"
import { RecordLink, State, Time } from "../../components/values.tsx"
import { formatCount, formatCounted, formatDateTime, formatDuration, onReplica } from "../../format.ts"
import { changedReplay, onReconnected } from "../../live.ts"
import { useAction, useLoad } from "../../request-hooks.ts"
import { hrefOf } from "../../router.ts"
import { newestOf, progressOf, wordOf, type Word } from "./progress.ts"
import { ReplayForm } from "./replay-form.tsx"
import { describeFrom, describeTo } from "./replay-request.ts"

/** Copies a range of a topic to another one or to a URL, and shows how far it is. A link's query fills the form. */
export function Replay() {
  const [started, setStarted] = useState<ReplayOverview>()
  return (
    <div class="columns">
      <section aria-label="New replay">
        <ReplayForm started={setStarted} />
      </section>
      <section aria-label="Replays">
        <ReplayJobs started={started} />
      </section>
    </div>
  )
}

/** All replays since the start of the service, the newest first, as they continue; `started`: the one that gets the focus. */
function ReplayJobs({ started }: { started: ReplayOverview | undefined }) {
  const { value, error, reload } = useLoad((signal) => get<ReplayOverview[]>("replays", {}, signal), [])
  const [changed, setChanged] = useState<ReadonlyMap<string, ReplayOverview>>(new Map())
  useEffect(() => {
    const known = changedReplay.peek()
    return effect(() => {
      const job = changedReplay.value
      if (job !== undefined && job !== known) setChanged((all) => new Map(all).set(job.id, job))
    })
  }, [])
  useEffect(() => {
    // what the live stream said of it since is newer
    if (started !== undefined)
      setChanged((all) => (all.has(started.id) ? all : new Map(all).set(started.id, started)))
  }, [started])
  useEffect(
    () =>
      onReconnected(() => {
        setChanged(new Map())
        reload()
      }),
    [reload],
  )
  if (error !== undefined) return <ErrorNote error={error} retry={reload} />
  if (value === undefined) return <Skeleton rows={4} />
  const jobs = newestOf(value, changed)
  if (jobs.length === 0)
    return (
      <p class="payload muted">
        A replay copies records in order, with their keys and headers, to another topic, or posts them to a
        URL. It continues when this page is closed.
      </p>
    )
  return (
    <ul class="replays" aria-label="Replays, newest first">
      {jobs.map((it) => (
        <li key={it.id}>
          <Job job={it} isStarted={it.id === started?.id} />
        </li>
      ))}
    </ul>
  )
}

const LEVELS: { readonly [word in Word]: "good" | "warning" | "error" } = {
  running: "good",
  waiting: "warning",
  paused: "warning",
  done: "good",
  "done, with failures": "warning",
  failed: "error",
  cancelled: "warning",
}

function Job({ job, isStarted }: { job: ReplayOverview; isStarted: boolean }) {
  const { request, replica, state, started_at, ended_at, share, failed, error, failures } = job
  const word = wordOf(job)
  const article = useRef<HTMLElement>(null)
  useEffect(() => {
    if (isStarted) article.current?.focus()
  }, [isStarted])
  const title = `${request.from.connection}/${request.from.topic} → ${describeTo(request.to)}${onReplica(replica)}`
  const range = describeFrom(request.from, formatDateTime).split(", ").slice(1).join(", ")
  return (
    <article ref={article} tabIndex={-1} class="replay" aria-label={title}>
      <div class="replay-title">
        <h3>{title}</h3>
        <span role="status">
          <State level={LEVELS[word]}>{word}</State>
        </span>
      </div>
      <progress aria-label={`Progress of ${title}`} max={1} value={share} />
      <p class="facts">
        {progressOf(job).map((it) => (
          <span key={it}>{it}</span>
        ))}
        <span>
          started <Time ms={started_at} />
        </span>
        {ended_at !== null && <span>took {formatDuration(ended_at - started_at)}</span>}
      </p>
      {range !== "" && <p class="muted">{range}</p>}
      {error !== null && (
        <p class={state === "failed" ? "replay-error" : "muted"}>
          {state === "failed" ? error : `${error}; retrying until it is paused or cancelled`}
        </p>
      )}
      <Actions job={job} />
      {failures.length > 0 && (
        <details>
          <summary>
            {failed > failures.length
              ? `The last ${failures.length} of ${formatCount(failed)} failures`
              : formatCounted(failed, "failure")}
          </summary>
          <ul class="failures">
            {failures.map(({ partition, offset, error }) => (
              <li key={`${partition} ${offset}`}>
                <RecordLink record={{ ...request.from, partition, offset }} /> {error}
              </li>
            ))}
          </ul>
        </details>
      )}
    </article>
  )
}

function Actions({ job: { id, state, request } }: { job: ReplayOverview }) {
  const { error, run } = useAction((action: "pause" | "resume" | "cancel") =>
    post(`replays/${encodeURIComponent(id)}/${action}`),
  )
  const { to } = request
  const isLive = state === "running" || state === "paused"
  const disabled = !mayAct.value
  return (
    <>
      <div class="actions">
        {state === "running" && (
          <button type="button" disabled={disabled} onClick={() => run("pause")}>
            Pause
          </button>
        )}
        {state === "paused" && (
          <button type="button" disabled={disabled} onClick={() => run("resume")}>
            Resume
          </button>
        )}
        {isLive && (
          <button type="button" disabled={disabled} onClick={() => run("cancel")}>
            Cancel
          </button>
        )}
        {!("url" in to) && <a href={hrefOf("events", [to.connection, to.topic])}>See {to.topic}</a>}
      </div>
      {error !== undefined && <ErrorNote error={error} />}
    </>
  )
}
