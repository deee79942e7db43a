import { useState } from "preact/hooks"
import { mayAct, post } from "../../api-client.ts"
import type { Acknowledgement, ServiceProblem } from "../../api.ts"
import { ErrorNote } from "../../components/loading.tsx"
import { Age, State } from "../../components/values.tsx"
import { formatDateTime, onReplica } from "../../format.ts"
import { useAction } from "../../request-hooks.ts"
import { hrefOf } from "../../router.ts"

/** More than these, and the rest is shown on request, so that the pipelines stay in sight. */
const MOST_LISTED = 4

/** The problems that are there, then those that have been over for a few minutes; nothing where there is none. */
export function ProblemList({ problems }: { problems: readonly ServiceProblem[] }) {
  const [isWhole, showAll] = useState(false)
  if (problems.length === 0) return null
  const listed = isWhole ? problems : problems.slice(0, MOST_LISTED)
  return (
    <ul class="problems" aria-label="Needs action" aria-live="polite">
      {listed.map((it) => (
        <Problem key={it.id} problem={it} />
      ))}
      {listed.length < problems.length && (
        <li>
          <button type="button" class="quiet" onClick={() => showAll(true)}>
            {problems.length - listed.length} more
          </button>
        </li>
      )}
    </ul>
  )
}

function Problem({ problem }: { problem: ServiceProblem }) {
  const { severity, cause, next_step: nextStep, since, until, replica } = problem
  const { acknowledged, muted } = problem
  const isKnown = acknowledged !== null || muted !== null
  const isThere = until === null
  return (
    <li class={isThere && !isKnown ? undefined : "known"}>
      <State level={isThere && !isKnown ? severity : "idle"}>
        {cause}
        {onReplica(replica)}
        {isThere && (
          <span class="muted next-step">
            {muted !== null
              ? `muted ${byWords(muted)}`
              : acknowledged !== null
                ? `acknowledged ${byWords(acknowledged)}`
                : nextStep}
          </span>
        )}
      </State>
      <span class="problem-side muted">
        {isThere ? (
          <>
            for <Age ms={since} />
          </>
        ) : (
          <>
            ended <Age ms={until} /> ago
          </>
        )}
        <Evidence problem={problem} />
        {isThere && mayAct.value && <Acknowledge id={problem.id} isKnown={isKnown} />}
      </span>
    </li>
  )
}

/** Kinds whose requests are captured. */
const REFUSED: readonly string[] = ["signatures_refused", "events_failing", "requests_refused"]

/** A link to what shows the cause of a problem. */
function Evidence({ problem: { kind, pipeline } }: { problem: ServiceProblem }) {
  if (pipeline === null) return null
  return REFUSED.includes(kind) ? (
    <a href={hrefOf("refused", [], { pipeline })}>Look at them</a>
  ) : (
    <a href={hrefOf("overview", [pipeline])}>Open {pipeline}</a>
  )
}

const byWords = ({ by, until }: Acknowledgement): string =>
  `by ${by}${until === null ? "" : ` until ${formatDateTime(until).slice(0, -4)}`}`

const NAME = "hookline-name"

/** Asks who acknowledges a problem, or mutes it. */
function Acknowledge({ id, isKnown }: { id: string; isKnown: boolean }) {
  const [isOpen, open] = useState(false)
  const [by, setBy] = useState(localStorage.getItem(NAME) ?? "")
  const { isBusy, error, run } = useAction(async (action: "acknowledge" | "mute" | "unmute") => {
    if (action !== "unmute") localStorage.setItem(NAME, by)
    await post(`problems/${encodeURIComponent(id)}/${action}`, { by })
    open(false)
  })
  if (error !== undefined) return <ErrorNote error={error} />
  if (isKnown)
    return (
      <button type="button" class="quiet" disabled={isBusy} onClick={() => run("unmute")}>
        Take back
      </button>
    )
  if (!isOpen)
    return (
      <button type="button" class="quiet" onClick={() => open(true)}>
        Acknowledge
      </button>
    )
  return (
    <form
      class="acknowledge"
      onSubmit={(event) => {
        event.preventDefault()
        run("acknowledge")
      }}
    >
      <input
        aria-label="Your name"
        placeholder="Your name"
        required
        autoFocus
        maxLength={200}
        value={by}
        onInput={({ currentTarget: { value } }) => setBy(value)}
        onKeyDown={(event) => event.key === "Escape" && open(false)}
      />
      <button type="submit" disabled={isBusy}>
        Acknowledge
      </button>
      <button type="button" disabled={isBusy || by === ""} onClick={() => run("mute")}>
        Mute
      </button>
    </form>
  )
}
