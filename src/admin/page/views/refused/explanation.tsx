import type { CaptureExplanation } from "../../../api/shapes.ts"
import { get } from "../../api-client.ts"
import { CodeBlock } from "../../components/code-block.tsx"
import { ErrorNote } from "../../components/error-note.tsx"
import { Skeleton } from "../../components/skeleton.tsx"
import { State } from "../../components/state.tsx"
import { useLoad } from "../../load.ts"

/** What `hookline verify` says of a captured request, with the pipeline's settings as they are now. */
export function Explanation({ id, version }: { id: string; version: number }) {
  const { value, error, reload } = useLoad(
    (signal) => get<CaptureExplanation>(`captures/${encodeURIComponent(id)}/explanation`, {}, signal),
    [id, version],
  )
  if (error !== undefined) return <ErrorNote error={error} retry={reload} />
  if (value === undefined) return <Skeleton rows={6} label="Explaining" />
  return <Report explanation={value} />
}

type Step = CaptureExplanation["steps"][number]

/** The failing steps first, else in their order. */
export const failingFirst = (steps: readonly Step[]): readonly Step[] => [
  ...steps.filter(({ state }) => state === "failed"),
  ...steps.filter(({ state }) => state !== "failed"),
]

function Report({ explanation }: { explanation: CaptureExplanation }) {
  const { is_verified, result, mistakes, configuration, note, steps, provider } = explanation
  const certain = mistakes.filter((it) => it.is_certain)
  const possible = mistakes.filter((it) => !it.is_certain)
  return (
    <div class="explanation">
      {(is_verified || steps.length === 0) && (
        <p>{is_verified ? <State level="good">{result}</State> : result}</p>
      )}
      {certain.map(({ problem, remedy }) => (
        <div key={problem} class="mistake">
          <h3>The mistake</h3>
          <p>{problem}</p>
          <p class="muted">{remedy}</p>
        </div>
      ))}
      {configuration !== null && (
        <section>
          <h3>The fix</h3>
          <CodeBlock text={configuration} what="configuration" />
          <p class="muted">Put it into the configuration file and reload, then send the request again.</p>
        </section>
      )}
      {possible.length > 0 && (
        <section>
          <h3>{certain.length > 0 ? "Else" : "Likely causes"}</h3>
          <ul class="causes">
            {possible.map(({ problem, remedy }) => (
              <li key={problem}>
                {problem} <span class="muted">{remedy}</span>
              </li>
            ))}
          </ul>
        </section>
      )}
      {steps.length > 0 && (
        <section>
          <h3>Step by step{provider !== null && `, as ${provider} signs`}</h3>
          {failingFirst(steps).map((it) => (
            <StepLines key={it.name} step={it} />
          ))}
        </section>
      )}
      {note !== null && <p class="muted">{note}</p>}
    </div>
  )
}

const LEVELS = { passed: "good", failed: "error" } as const

function StepLines({ step: { name, state, lines } }: { step: Step }) {
  const title = (
    <>
      <strong>{name}</strong>{" "}
      {state === "not reached" ? (
        <span class="muted">{state}</span>
      ) : (
        <State level={LEVELS[state]}>{state}</State>
      )}
    </>
  )
  if (lines.length === 0) return <p class="step">{title}</p>
  return (
    <details class="step" open={state === "failed"}>
      <summary>{title}</summary>
      <pre>{lines.join("\n")}</pre>
    </details>
  )
}
