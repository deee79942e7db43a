import type { Impairment } from "./brokers/broker.ts"
import type { OpenConnection } from "./open-connection.ts"
import type { Plan } from "./plan.ts"
import { sinkTopics } from "./plan/sink-topics.ts"

/** Whether a connection takes events. */
export interface ConnectionState {
  readonly id: string
  /** Why none of its pipelines can publish events; undefined: one can, as far as is known. */
  readonly problem: string | undefined
  /** Topics that can't be published to, or in part only; undefined: its broker never tells. */
  readonly impaired: readonly Impairment[] | undefined
}

/** How many topics are named where one problem is told of all. */
const NAMED = 3

/** Whether connections take events now, as far as is known. */
export function connectionStates(
  open: ReadonlyMap<string, Pick<OpenConnection, "broker">>,
  plan: Plan,
): ConnectionState[] {
  const topics = sinkTopics(plan)
  return [...open].map(([id, { broker }]) => {
    const ready = broker.ready()
    const impaired = broker.impaired?.()
    if (ready !== true) return { id, problem: ready, impaired: impaired && [] }
    return { id, problem: ofAll(topics.get(id) ?? [], impaired ?? []), impaired }
  })
}

/** Why no topic can be published to; undefined: one can. */
function ofAll(topics: readonly string[], impaired: readonly Impairment[]): string | undefined {
  const whole = new Map(impaired.filter(({ isWhole }) => isWhole).map((it) => [it.topic, it.problem]))
  if (topics.length === 0 || !topics.every((topic) => whole.has(topic))) return undefined
  const problems = [...new Set(topics)].map((topic) => whole.get(topic)!)
  const rest = problems.length - NAMED
  return problems.slice(0, NAMED).join("; ") + (rest > 0 ? `; and ${rest} more topics` : "")
}
