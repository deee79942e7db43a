import type { Broker } from "./brokers/broker.ts"
import { holdPipeline, type Built, type Surroundings } from "./build.ts"
import type { Marks } from "./dedupe/marks.ts"
import type { Route } from "./http/route.ts"
import type { Steps } from "./slices.ts"

/** The pipelines of a plan, by id, and what they have in common. */
export interface HeldPipelines {
  readonly built: ReadonlyMap<string, Built>
  /** In the order of the plan. */
  readonly routes: readonly Route[]
  /** The topics that they name, by broker. */
  readonly topics: ReadonlyMap<Broker, ReadonlySet<string>>
  /** Their Deduplicators' stores, by the stores' names. */
  readonly stores: ReadonlyMap<string, Marks>
}

/**
 * Makes the pipelines of a plan, or keeps them as they are.
 *
 * @throws HooklineError what a component finds wrong
 */
export function* holdPipelines(surroundings: Surroundings): Steps<HeldPipelines> {
  const built = new Map<string, Built>()
  const routes: Route[] = []
  const topics = new Map<Broker, Set<string>>()
  const stores = new Map<string, Marks>()
  for (const pipeline of surroundings.plan.pipelines) {
    const one = holdPipeline(pipeline, surroundings)
    built.set(pipeline.id, one)
    routes.push(one.route)
    for (const [name, marks] of one.stores) stores.set(name, marks)
    for (const [broker, names] of one.topics) {
      const all = topics.get(broker) ?? new Set()
      for (const name of names) all.add(name)
      topics.set(broker, all)
    }
    yield
  }
  return { built, routes, topics, stores }
}
