import { Overview } from "./overview.ts"
import { ReplayOverview, type ReplayRequest } from "../admin/api/shapes.ts"
import type { Connection } from "../brokers/define-connection.ts"
import { pause } from "../clock/clock.ts"
import type { TopicPlace } from "../config/declarations.ts"
import { HooklineError } from "../errors.ts"
import { describeReplayed, printRefused } from "./replay-display.ts"
import { unavailable, type RunningService } from "./running-service.ts"
import { say } from "./say.ts"
import type { TopicRange } from "./topic-range.ts"
import type { WaitingNotes } from "./waiting.ts"

const ASK_EVERY_MS = 250

/** What flags ask for. */
export interface Asked {
  readonly from: TopicRange
  readonly partition?: number
  readonly where?: readonly string[]
  readonly rate?: number
  readonly timestamps: "keep" | "new"
  readonly onRefusal: "stop" | "skip"
  readonly json?: true
}

/** A replay to a log that another process has open, which is a running Hookline with the same file. */
export interface ReplayElsewhere {
  readonly service: RunningService
  readonly to: TopicPlace
  readonly connection: Connection
  readonly notes: WaitingNotes
  readonly signal: AbortSignal
}

/** Whether the service has the log, and its API knows all that the flags ask for. */
export async function canReplay(
  flags: Asked,
  { service, to, connection }: ReplayElsewhere,
): Promise<boolean> {
  if (flags.timestamps === "new" || (flags.where?.length ?? 0) > 1) return false
  const { address } = connection.kind.describe(connection.values)
  const overview = await service.get("/api/overview", Overview)
  return overview?.connections.some((it) => it.id === to.connection && it.address === address) === true
}

/**
 * Has the service replay, and waits for the end; an interrupt cancels it, and so does a refused record where that is to stop
 * it, though later ones may have been replayed by then. The exit status is 1 where records were refused or missed.
 *
 * @throws HooklineError `unavailable` where it does not begin, or fails
 */
export async function replayByService(
  flags: Asked,
  { service, to, notes, signal }: ReplayElsewhere,
): Promise<void> {
  const { connection, topic, range } = flags.from
  const { fromOffset: from_offset, untilOffset: until_offset, sinceMs: since, untilMs: until } = range
  const from = { connection, topic, partition: flags.partition, where: flags.where?.[0] }
  const request = {
    from: { ...from, from_offset, until_offset, since, until },
    to: { connection: to.connection, topic: to.topic },
    rate: flags.rate,
  } as ReplayRequest
  const begun = await service.ask("/api/replays", ReplayOverview, "POST", request)
  if (begun.value === undefined) throw unavailable(begun.detail)
  say(`connection ${to.connection} is open in a running Hookline, which does the replay`)
  let state: ReplayOverview = begun.value
  const path = `/api/replays/${encodeURIComponent(state.id)}`
  while (state.ended_at === null) {
    const stops = signal.aborted || (flags.onRefusal === "stop" && state.failed > 0)
    if (stops) await service.ask(`${path}/cancel`, ReplayOverview, "POST")
    else await pause(ASK_EVERY_MS, signal)
    const next = await service.get(path, ReplayOverview)
    if (next === undefined) throw unavailable("the service no longer has the replay: it was restarted")
    state = next
    if (state.ended_at === null) notes.note(state.error ?? undefined)
  }
  if (flags.json === true) console.log(JSON.stringify(state))
  else {
    printRefused(state.failures.map(({ error: reason, ...it }) => ({ ...it, reason })))
    console.log(`${describeReplayed(state)}${state.state === "done" ? "" : `; the replay is ${state.state}`}`)
  }
  if (state.state === "failed") throw new HooklineError("unavailable", state.error ?? "the replay failed")
  process.exitCode = state.failed + state.missed > 0 ? 1 : 0
}
