import type { Readiness } from "../admin/server.ts"
import type { ConnectionState } from "../connection-states.ts"
import { NOT_ACCEPTING, type State } from "../running.ts"
import type { WorkerStatus } from "./fleet.ts"

type Problem = readonly [name: string, problem: string | undefined]

/**
 * Whether events can be taken by all processes together: by the brokers in the supervisor, by at least one worker, and
 * while none stalls, since new connections go on being given to it. Where one that listens can't take them, or some topic
 * can't be published to, they are partly ready. What any of them has a problem with is told.
 */
export function readinessOf({
  workers,
  hosted,
  spools,
  isDraining,
}: {
  readonly workers: readonly WorkerStatus[]
  /** Of the connections that are open in the supervisor. */
  readonly hosted: readonly ConnectionState[]
  readonly spools: Readiness["spools"]
  readonly isDraining: boolean
}): Readiness {
  const hostedIds = new Set(hosted.map(({ id }) => id))
  const problems = hosted.map(({ id, problem }): Problem => [id, problem])
  const own = joined(workers, ({ connections }) => connections).filter(([id]) => !hostedIds.has(id))
  const isStalled = workers.some(({ stalledMs }) => stalledMs !== undefined)
  const isReady = isSound(problems) && !isStalled && workers.some((it) => takesEvents(it, hostedIds))
  const impaired = [
    ...hosted.map(({ id, impaired: topics = [] }) => [id, topics.map(({ problem }) => problem)] as const),
    ...impairedIn(workers).filter(([id]) => !hostedIds.has(id)),
  ]
  const isWhole =
    impaired.every(([, told]) => told.length === 0) &&
    workers.every((it) => it.slot !== "up" || takesEvents(it, hostedIds))
  const state = !isReady ? "not ready" : isWhole ? "ready" : "partly ready"
  return {
    state: isDraining ? "draining" : state,
    connections: [...problems, ...own],
    impaired,
    stores: joined(workers, ({ stores }) => stores),
    spools,
    workers: workers.map((it) => [String(it.worker), problemOf(it)] as const),
  }
}

const isSound = (problems: readonly Problem[]): boolean =>
  problems.every(([, problem]) => problem === undefined)

function takesEvents({ state }: WorkerStatus, hostedIds: ReadonlySet<string>): boolean {
  if (state === undefined) return false
  const { connections, stores, isAccepting } = state
  return isAccepting && isSound(connections.filter(([id]) => !hostedIds.has(id))) && isSound(stores)
}

const STATES = { starting: "starting", waiting: "ended, to be started again", ended: "ended" } as const

function problemOf({ slot, stalledMs, state }: WorkerStatus): string | undefined {
  if (slot !== "up") return STATES[slot]
  if (stalledMs !== undefined) return `stalled: has not answered for ${(stalledMs / 1000).toFixed(1)} s`
  if (state === undefined) return "does not answer"
  return state.isAccepting ? undefined : NOT_ACCEPTING
}

/** What workers say of topics, by connection. */
function impairedIn(
  workers: readonly WorkerStatus[],
): (readonly [id: string, problems: readonly string[]])[] {
  const told = workers.flatMap(({ state }) => state?.impaired ?? [])
  return [...Map.groupBy(told, ([id]) => id)].map(([id, all]) => {
    const problems = all.flatMap(([, topics]) => topics.map(({ problem }) => problem))
    return [id, [...new Set(problems)]]
  })
}

/** What workers say of each thing: in the words of all of them, or with the numbers of those that say it. */
function joined(
  workers: readonly WorkerStatus[],
  of: (state: State) => readonly Problem[],
): readonly Problem[] {
  const told = workers.flatMap(({ worker, state }) =>
    state === undefined ? [] : of(state).map(([name, problem]) => ({ worker, name, problem })),
  )
  return [...Map.groupBy(told, ({ name }) => name)].map(([name, all]) => {
    const problems = new Set(all.map(({ problem }) => problem))
    if (problems.size === 1) return [name, all[0]!.problem]
    const texts = all.flatMap(({ worker, problem }) =>
      problem === undefined ? [] : [`worker ${worker}: ${problem}`],
    )
    return [name, texts.join("; ")]
  })
}
