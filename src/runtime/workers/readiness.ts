import type { Readyz } from "../../admin/probes.ts"
import type { Readiness } from "../../admin/service.ts"
import { NOT_ACCEPTING, readinessState, type Health } from "../readiness.ts"
import type { WorkerStatus } from "./restarting-worker.ts"

/**
 * Ready while at least one worker takes events and none stalls (a stalled one still gets new connections). Partly ready
 * when a listening worker can't take events, or not for every pipeline and topic. Lists every worker's problems.
 */
export function readinessOfWorkers(workers: readonly WorkerStatus[], isDraining: boolean): Readiness {
  const isReady =
    workers.some(({ readyz }) => ["ready", "partly ready"].includes(readyz?.status ?? "")) &&
    workers.every(({ stalledMs }) => stalledMs === undefined)
  const areWhole = workers.every((it) => it.process !== "up" || it.readyz?.status === "ready")
  return {
    state: readinessState(isDraining, isReady, areWhole),
    pipelines: joined(workers, ({ pipelines }) => pipelines),
    connections: joined(workers, ({ connections }) => connections),
    impaired: impairedIn(workers),
    stores: joined(workers, (it) => it.deduplicator_stores),
    spools: [],
    workers: workers.map((it) => [String(it.worker), problemOf(it)] as const),
  }
}

const STATES = { starting: "starting", waiting: "ended, to be restarted", ended: "ended" } as const

function problemOf({ process, stalledMs, readyz }: WorkerStatus): string | undefined {
  if (process !== "up") return STATES[process]
  if (stalledMs !== undefined) return `stalled: has not answered for ${(stalledMs / 1000).toFixed(1)} s`
  if (readyz === undefined) return "does not answer"
  return readyz.listeners === undefined ? undefined : NOT_ACCEPTING
}

/** Topic problems of any worker, by connection. */
function impairedIn(
  workers: readonly WorkerStatus[],
): (readonly [id: string, problems: readonly string[]])[] {
  const all = workers.flatMap(({ readyz }) => Object.entries(readyz?.impaired ?? {}))
  return [...Map.groupBy(all, ([id]) => id)].map(([id, each]) => [
    id,
    [...new Set(each.flatMap(([, problems]) => problems))],
  ])
}

/** Each thing's problem: one common to all workers, or those of single workers with their numbers. */
function joined(
  workers: readonly WorkerStatus[],
  of: (readyz: Readyz) => { readonly [name: string]: string } | undefined,
): readonly Health[] {
  const known = workers.filter(({ readyz }) => readyz !== undefined)
  const all = known.flatMap(({ worker, readyz }) =>
    Object.entries(of(readyz!) ?? {}).map(([name, text]) => {
      return { worker, name, problem: text === "ready" ? undefined : text }
    }),
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
