import type { Readiness } from "../../admin/service.ts"
import { isWhole, NOT_ACCEPTING, readinessState, takesEvents, type Health, type State } from "../readiness.ts"
import type { WorkerStatus } from "./restarting-worker.ts"

/**
 * Ready while at least one worker takes events and none stalls (a stalled one still gets new connections). Partly ready
 * when a listening worker can't take events, or not for every pipeline and topic. Lists every worker's problems.
 */
export function readinessOfWorkers(workers: readonly WorkerStatus[], isDraining: boolean): Readiness {
  const isUp = ({ state }: WorkerStatus): boolean => state !== undefined && takesEvents(state)
  const isWholeUp = (it: WorkerStatus): boolean => isUp(it) && isWhole(it.state!)
  const isReady = workers.some(isUp) && workers.every(({ stalledMs }) => stalledMs === undefined)
  const areWhole = workers.every((it) => it.process !== "up" || isWholeUp(it))
  return {
    state: readinessState(isDraining, isReady, areWhole),
    pipelines: joined(workers, ({ pipelines }) => pipelines),
    connections: joined(workers, ({ connections }) => connections),
    impaired: impairedIn(workers),
    stores: joined(workers, ({ stores }) => stores),
    spools: [],
    workers: workers.map((it) => [String(it.worker), problemOf(it)] as const),
  }
}

const STATES = { starting: "starting", waiting: "ended, to be restarted", ended: "ended" } as const

function problemOf({ process, stalledMs, state }: WorkerStatus): string | undefined {
  if (process !== "up") return STATES[process]
  if (stalledMs !== undefined) return `stalled: has not answered for ${(stalledMs / 1000).toFixed(1)} s`
  if (state === undefined) return "does not answer"
  return state.isAccepting ? undefined : NOT_ACCEPTING
}

/** Topic problems of any worker, by connection. */
function impairedIn(
  workers: readonly WorkerStatus[],
): (readonly [id: string, problems: readonly string[]])[] {
  const all = workers.flatMap(({ state }) => state?.impaired ?? [])
  return [...Map.groupBy(all, ([id]) => id)].map(([id, each]) => {
    const problems = each.flatMap(([, topics]) => topics.map(({ problem }) => problem))
    return [id, [...new Set(problems)]]
  })
}

/** Each thing's problem: one common to all workers, or those of single workers with their numbers. */
function joined(
  workers: readonly WorkerStatus[],
  of: (state: State) => readonly Health[],
): readonly Health[] {
  const known = workers.filter(({ state }) => state !== undefined)
  const all = known.flatMap(({ worker, state }) =>
    of(state!).map(([name, problem]) => ({ worker, name, problem })),
  )
  return [...Map.groupBy(all, ({ name }) => name)].map(([name, each]) => {
    const problems = new Set(each.map(({ problem }) => problem))
    if (problems.size === 1 && each.length === known.length) return [name, each[0]!.problem]
    const texts = each.flatMap(({ worker, problem }) =>
      problem === undefined ? [] : [`worker ${worker}: ${problem}`],
    )
    return [name, texts.join("; ")]
  })
}
