import type { Component, ComponentKind } from "./components/component.ts"
import { ADMIN } from "./config/admin.ts"
import { resolveConnection, type Connection, type ResolvedConnection } from "./config/connection.ts"
import type { OptionSet, Values } from "./config/option.ts"
import { Problems } from "./config/problems.ts"
import { resolveSection, type Found, type Given } from "./config/resolve.ts"
import type { Seed, SeedSection } from "./config/seed.ts"
import { SERVICE } from "./config/service.ts"
import type { Processor } from "./event.ts"
import type { Steps } from "./slices.ts"
import { resolvePipelines, type ComposedPipeline } from "./plan/composition.ts"
import {
  checkConnections,
  checkDeadLetters,
  checkDirectories,
  checkListeners,
  checkWorkers,
} from "./plan/cross-checks.ts"
import { checkReplay } from "./plan/replay-checks.ts"

export type { ComposedPipeline }

/** What is to run, before it is known to be right. */
export interface Draft {
  /** What the configuration file says; undefined: there is none. */
  readonly seed?: Seed | undefined
  /** Options of the connections that code registers, by id. */
  readonly connections?: ReadonlyMap<string, Given> | undefined
  /** The pipelines that code composes. */
  readonly pipelines?: readonly ComposedPipeline[] | undefined
  readonly admin?: Partial<Values<(typeof ADMIN)["options"]>> | undefined
  readonly service?: Partial<Values<(typeof SERVICE)["options"]>> | undefined
  /** Every component that the file can name, in the order of an event's way. */
  readonly registry: readonly Component[]
  /** Absolute path that relative paths start from where there is no file. */
  readonly cwd: string
  /** Told of each file that an option names to be read, as an absolute path. */
  readonly reads?: ((file: string) => void) | undefined
}

/** What is to run. As far as the configuration tells, nothing in it is wrong. */
export interface Plan {
  readonly connections: ReadonlyMap<string, Connection>
  readonly pipelines: readonly PlannedPipeline[]
  /** Absolute path that relative paths start from. */
  readonly baseDir: string
  /** What may be wrong all the same, a line each, for people who look at the configuration. */
  readonly warnings: readonly string[]
  /** What the file said, for other processes that make the same plan of it; undefined: there is none. */
  readonly seed: Seed | undefined
  readonly admin: Values<(typeof ADMIN)["options"]>
  readonly service: Values<(typeof SERVICE)["options"]>
}

export interface PlannedPipeline {
  readonly id: string
  readonly source: Planned<"source">
  readonly processors: readonly (Planned<"processor"> | Processor)[]
  readonly sink: Planned<"sink">
}

/** A component and all its options. */
export interface Planned<K extends ComponentKind = ComponentKind> {
  readonly component: Component<K>
  readonly values: Values<OptionSet>
}

/**
 * Joins what code composes, what the file says and the defaults into what is to run.
 *
 * @throws HooklineError `config` with everything that is wrong, a line each
 */
export function* makePlan(draft: Draft): Steps<Plan> {
  const { seed } = draft
  const baseDir = seed?.baseDir ?? draft.cwd
  const problems = new Problems(seed?.file, seed?.problems)
  const find = (address: string, section: SeedSection | undefined, given: Given | undefined): Found => ({
    address,
    seed: section,
    given,
    baseDir,
    reads: draft.reads,
  })

  const connections = new Map<string, ResolvedConnection>()
  for (const id of new Set([...(draft.connections?.keys() ?? []), ...(seed?.connections.keys() ?? [])])) {
    const found = find(`connection:${id}`, seed?.connections.get(id), draft.connections?.get(id))
    connections.set(id, resolveConnection(found, problems))
    yield
  }
  const pipelines = yield* resolvePipelines(draft, find, problems)
  const admin = resolveSection(ADMIN, find("admin", seed?.admin, draft.admin), problems)
  const service = resolveSection(SERVICE, find("service", seed?.service, draft.service), problems)

  yield* checkConnections(pipelines, connections, seed?.lacksSections === true, problems)
  checkDirectories(connections, problems)
  yield* checkDeadLetters(pipelines, problems)
  yield* checkListeners(pipelines, admin, service, problems)
  yield* checkWorkers(pipelines, service, problems)
  checkReplay(pipelines, connections, service, problems)
  problems.throwIfAny()

  // There was no problem, so all values are there.
  const { warnings } = problems
  const sound = {
    baseDir,
    warnings,
    seed,
    pipelines,
    admin: admin.values,
    service: service.values,
  } as unknown as Omit<Plan, "connections">
  return { ...sound, connections: connections as ReadonlyMap<string, unknown> as Plan["connections"] }
}
