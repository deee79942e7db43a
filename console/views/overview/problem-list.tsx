import { useState } from "preact/hooks"
import type { ServiceProblem } from "../../api.ts"
import { Age, State } from "../../components/values.tsx"
import { onReplica } from "../../format.ts"
import { hrefOf } from "../../router.ts"

/** More than these, and the rest is shown on request, so that the pipelines stay in sight. */
const MOST_LISTED = 4

/** What needs someone's action, then what has until a few minutes ago; nothing where nothing does. */
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
  const { severity, cause, next_step: nextStep, since, until, pipeline, replica } = problem
  return (
    <li class={until === null ? undefined : "over"}>
      <State level={until === null ? severity : "idle"}>
        {cause}
        {onReplica(replica)}
        {until === null && <span class="muted next-step">{nextStep}</span>}
      </State>
      <span class="problem-age muted">
        {until === null ? (
          <>
            for <Age ms={since} />
          </>
        ) : (
          <>
            ended <Age ms={until} /> ago
          </>
        )}
        {pipeline !== null && <a href={hrefOf("refused", [], { pipeline })}>Look at them</a>}
      </span>
    </li>
  )
}
