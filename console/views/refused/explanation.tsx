import type { CaptureExplanation } from "../../api.ts"
import { CodeBlock, State } from "../../components/values.tsx"

/** What `hookline verify` says of a captured request, with the pipeline's settings as they are now. */
export function Explanation({ explanation }: { explanation: CaptureExplanation }) {
  return (
    <div class="explanation">
      <ToDo advice={explanation.advice} />
      <Report explanation={explanation} />
    </div>
  )
}

/** What to do about a request that was refused for another reason than its signature. */
function ToDo({ advice }: Pick<CaptureExplanation, "advice">) {
  if (advice === null) return null
  return (
    <section>
      <p>{advice.text}</p>
      {advice.excerpt !== null && (
        // it may have to be scrolled
        <pre class="excerpt" tabIndex={0} aria-label="Where the body is no JSON">
          {advice.excerpt}
        </pre>
      )}
      {advice.configuration !== null && <CodeBlock text={advice.configuration} what="configuration" />}
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
