import { get, mayAct, post } from "../../api-client.ts"
import type { ConsumerGroups, ForwardOverview, GroupOverview } from "../../api.ts"
import { ErrorNote } from "../../components/loading.tsx"
import { Table } from "../../components/table.tsx"
import { State } from "../../components/values.tsx"
import { formatCount, formatCounted, formatRate } from "../../format.ts"
import { now, overview } from "../../live.ts"
import { useAction, useLoad } from "../../request-hooks.ts"
import { Replay } from "../replay/replay.tsx"

/** What is sent on from the logs: by forwards of the configuration, and by replays. */
export function Deliveries() {
  const forwards = overview.value?.forwards ?? []
  return (
    <>
      {forwards.length > 0 && <Forwards forwards={forwards} />}
      <Groups />
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

/** How often groups are asked for. */
const AGAIN_MS = 5000

/** Consumer groups of the topics, those that are behind first. */
function Groups() {
  const time = Math.floor(now.value / AGAIN_MS)
  const { value, error, reload } = useLoad((signal) => get<ConsumerGroups>("groups", {}, signal), [time])
  if (value === undefined) return error === undefined ? null : <ErrorNote error={error} retry={reload} />
  const { groups, left_out: leftOut, problems } = value
  return (
    <>
      {problems.map(({ connection, problem }) => (
        <p key={connection}>
          <State level="warning">
            The groups of {connection} can’t be listed: {problem}
          </State>
        </p>
      ))}
      {groups.length > 0 && (
        <Table
          caption="Consumer groups"
          columns={["Group", "Topic", "Lag", "Members", "State", "Positions"]}
          rows={groups.map((it) => [
            it.group,
            `${it.connection}/${it.topic}`,
            formatCount(it.lag),
            it.members === null ? "–" : formatCount(it.members),
            <State
              key="state"
              level={it.lag > 0 && it.members === 0 ? "warning" : it.members === 0 ? "idle" : "good"}
            >
              {it.state}
            </State>,
            positionsOf(it),
          ])}
        />
      )}
      {leftOut > 0 && (
        <p class="muted">{formatCounted(leftOut, "more row")} of consumer groups are not shown.</p>
      )}
    </>
  )
}

const MOST_POSITIONS = 4

/** `0: 1,204 of 1,310`, those that are the furthest behind first. */
function positionsOf({ positions }: GroupOverview): string {
  const shown = positions.toSorted((a, b) => b.end - b.next - (a.end - a.next)).slice(0, MOST_POSITIONS)
  const texts = shown.map(
    ({ partition, next, end }) => `${partition}: ${formatCount(next)} of ${formatCount(end)}`,
  )
  return [...texts, ...(positions.length > MOST_POSITIONS ? ["…"] : [])].join(", ")
}

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
