import { mayAct, post } from "../../api-client.ts"
import type { ForwardOverview } from "../../api.ts"
import { ErrorNote } from "../../components/loading.tsx"
import { Table } from "../../components/table.tsx"
import { State } from "../../components/values.tsx"
import { formatCount, formatRate } from "../../format.ts"
import { overview } from "../../live.ts"
import { useAction } from "../../request-hooks.ts"
import { Replay } from "../replay/replay.tsx"

/** What is sent on from the logs: by forwards of the configuration, and by replays. */
export function Deliveries() {
  const forwards = overview.value?.forwards ?? []
  return (
    <>
      {forwards.length > 0 && <Forwards forwards={forwards} />}
      <Replay />
    </>
  )
}

const Forwards = ({ forwards }: { forwards: readonly ForwardOverview[] }) => (
  <Table
    caption="Forwards"
    columns={["Forward", "From", "To", "Waiting", "Rate", "Delivered", "Refused", "State", ""]}
    rows={forwards.map((it) => [
      it.id,
      it.from,
      it.url,
      it.lag === null ? "–" : formatCount(it.lag),
      `${formatRate(it.per_second)}/s`,
      formatCount(it.delivered),
      formatCount(it.refused),
      <State key={it.id} level={it.problem !== null || it.paused ? "warning" : "good"}>
        {it.problem ?? (it.paused ? "paused" : "running")}
      </State>,
      <PauseButton key={it.id} id={it.id} paused={it.paused} />,
    ])}
  />
)

function PauseButton({ id, paused }: { id: string; paused: boolean }) {
  const action = paused ? "resume" : "pause"
  const { isBusy, error, run } = useAction(() => post(`forwards/${encodeURIComponent(id)}/${action}`))
  return (
    <>
      <button
        type="button"
        aria-label={`${paused ? "Resume" : "Pause"} ${id}`}
        disabled={isBusy || !mayAct.value}
        onClick={run}
      >
        {paused ? "Resume" : "Pause"}
      </button>
      {error !== undefined && <ErrorNote error={error} />}
    </>
  )
}
