import { get } from "../../api-client.ts"
import type { CaptureDetail, CaptureExplanation } from "../../api.ts"
import { ErrorNote, Skeleton } from "../../components/loading.tsx"
import { CodeBlock, State } from "../../components/values.tsx"
import { overview } from "../../live.ts"
import { useLoad } from "../../request-hooks.ts"
import { adviceOn } from "./advice.ts"

/** What `hookline verify` says of a captured request, with the pipeline's settings as they are now. */
export function Explanation({ capture, version }: { capture: CaptureDetail; version: number }) {
  const { id } = capture.summary
  const { value, error, reload } = useLoad(
    (signal) => get<CaptureExplanation>(`captures/${encodeURIComponent(id)}/explanation`, {}, signal),
    [id, version],
  )
  if (error !== undefined) return <ErrorNote error={error} retry={reload} />
  if (value === undefined) return <Skeleton rows={6} label="Explaining" />
  return (
    <div class="explanation">
      <ToDo capture={capture} />
      <Report explanation={value} />
    </div>
  )
}

/** What to do about a request that was refused for another reason than its signature. */
function ToDo({ capture }: { capture: CaptureDetail }) {
  const advice = adviceOn(capture, overview.value?.pipelines ?? [])
  if (advice === undefined) return null
  return (
    <section>
      <p>{advice.text}</p>
      {advice.configuration !== undefined && <CodeBlock text={advice.configuration} what="configuration" />}
    </section>
  )
}

type Step = CaptureExplanation["steps"][number]

function Report({ explanation }: { explanation: CaptureExplanation }) {
  const { is_verified, result, sender, mistakes, configuration, note, warnings, steps, provider } =
    explanation
  const certain = mistakes.filter((it) => it.is_certain)
  const possible = mistakes.filter((it) => !it.is_certain)
  const failed = steps.filter(({ state }) => state === "failed")
  const others = steps.filter(({ state }) => state !== "failed")
  return (
    <>
      {failed.length === 0 && (
        <p class={is_verified ? undefined : "muted"}>
          {is_verified ? <State level="good">{result}</State> : result}
        </p>
      )}
      <Steps title="What failed" steps={failed} />
      {sender !== null && <p class="muted">{sender}</p>}
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
          <h3>{certain.length > 0 ? "Otherwise" : "Likely causes"}</h3>
          <ul class="causes">
            {possible.map(({ problem, remedy }) => (
              <li key={problem}>
                {problem} <span class="muted">{remedy}</span>
              </li>
            ))}
          </ul>
        </section>
      )}
      {warnings.map((it) => (
        <p key={it}>
          <State level="warning">{it}</State>
        </p>
      ))}
      <Steps
        title={`${failed.length > 0 ? "The other steps" : "Step by step"}${provider === null ? "" : `, as ${provider} signs`}`}
        steps={others}
      />
      {note !== null && <p class="muted">{note}</p>}
    </>
  )
}

function Steps({ title, steps }: { title: string; steps: readonly Step[] }) {
  if (steps.length === 0) return null
  return (
    <section>
      <h3>{title}</h3>
      {steps.map((it) => (
        <StepLines key={it.name} step={it} />
      ))}
    </section>
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
