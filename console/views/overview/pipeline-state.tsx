import type { PipelineOverview } from "../../api.ts"
import { StateIcon } from "../../components/values.tsx"
import { formatDateTime } from "../../format.ts"
import { now } from "../../live.ts"
import { hrefOf } from "../../router.ts"

const LEVELS = {
  down: "error",
  refusing: "warning",
  silent: "silent",
  receiving: "good",
  idle: "idle",
} as const

/** Comes before a pipeline's name; its words say the same. */
export const PipelineIcon = ({ state }: Pick<PipelineOverview, "state">) => (
  <StateIcon level={LEVELS[state.name]} />
)

/** What a pipeline does, with the cause where it should not be so. */
export function PipelineState({ pipeline }: { pipeline: PipelineOverview }) {
  const { id, state } = pipeline
  const text = textOf(pipeline)
  if (state.name !== "refusing") return <span title={text}>{text}</span>
  return (
    <a href={hrefOf("refused", [], { pipeline: id })} title={text}>
      {text}
    </a>
  )
}

function textOf({ state: { name, words, since }, last_event_at: last }: PipelineOverview): string {
  if (name === "idle" && last === null) return "no event yet"
  const begun = since === null ? name : `${name} since ${clockOf(since)}`
  return words === null ? begun : `${begun}: ${words}`
}

/** `14:03`; of another day with its date. */
function clockOf(ms: number): string {
  const [date, time = ""] = formatDateTime(ms).split(" ")
  const isToday = formatDateTime(now.peek()).startsWith(`${date} `)
  return `${isToday ? "" : `${date} `}${time.slice(0, 5)}`
}
