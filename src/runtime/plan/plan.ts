import type { Connection } from "../../brokers/define-connection.ts"
import type { Component, ComponentKind } from "../../components/define-component.ts"
import { ADMIN } from "../../config/sections/admin.ts"
import {
  CONNECTION_OPTIONS,
  resolveConnection,
  type ResolvedConnection,
} from "../../brokers/resolve-connection.ts"
import type { OptionSet, Values } from "../../config/options/option.ts"
import { Problems } from "../../config/file/problems.ts"
import {
  checkDefaults,
  resolveSection,
  type Found,
  type OptionsFromCode,
} from "../../config/options/resolve.ts"
import type { ConfigurationFile, FileSection } from "../../config/file/configuration-file.ts"
import { TRACES } from "../../config/sections/traces.ts"
import type { RECONCILE } from "../../config/sections/reconcile.ts"
import { SERVICE } from "../../config/sections/service.ts"
import type { Processor } from "../../pipeline/event.ts"
import type { Steps } from "../../clock/slices.ts"
import type { ConnectionSpec } from "../connection-spec.ts"
import type { Pipeline } from "../pipeline.ts"
import { resolvePipelines, sectionsByComponent, type ResolvedPart } from "./resolve-pipelines.ts"
import {
  checkConnections,
  checkDeadLetters,
  checkDetail,
  checkFiles,
  checkBodySizes,
  checkWorkers,
  warnOfOpen,
} from "./cross-checks.ts"
import { addressesOf, checkAddresses } from "./addresses.ts"
import { resolveProviders } from "./providers.ts"
import type { ResolvedDraft } from "./resolved-draft.ts"
import { checkReplay } from "./replay-checks.ts"
import { checkReconciles, resolveReconciles } from "./reconciles.ts"
import { checkRouting } from "./routing-checks.ts"
import { checkSenders, withSenderDefaults } from "./sender-defaults.ts"
import { checkInPipelines, senderOf } from "./sender.ts"

/** The input of `makePlan`, unchecked. */
export interface Draft {
  /** undefined: no file. */
  readonly configuration?: ConfigurationFile | undefined
  /** Connections registered in code, by id. */
  readonly connections?: ReadonlyMap<string, ConnectionSpec> | undefined
  /** Pipelines composed in code; the file's sections of their ids give defaults to their components. */
  readonly pipelines?: readonly Pipeline[] | undefined
  readonly admin?: OptionsFromCode | undefined
  readonly traces?: OptionsFromCode | undefined
  readonly service?: OptionsFromCode | undefined
  /** Every component that a file can name, in pipeline order. */
  readonly registry: readonly Component[]
  /** Absolute base of relative paths where no file gives one. */
  readonly cwd: string
  /** Called with the absolute path of each file that an option names. */
  readonly reads?: ((file: string) => void) | undefined
}

/** A valid configuration, resolved. */
export interface Plan {
  readonly connections: ReadonlyMap<string, Connection>
  readonly pipelines: readonly PlannedPipeline[]
  readonly reconciles: readonly PlannedReconcile[]
  /** That it listens on. */
  readonly ports: ReadonlySet<number>
  /** Absolute base of relative paths. */
  readonly baseDir: string
  /** The file, from which other processes make the same plan; undefined: no file. */
  readonly configuration: ConfigurationFile | undefined
  readonly admin: Values<(typeof ADMIN)["options"]>
  readonly traces: Values<(typeof TRACES)["options"]>
  readonly service: Values<(typeof SERVICE)["options"]>
}

export interface PlannedPipeline {
  readonly id: string
  readonly source: Planned<"source">
  readonly processors: readonly (Planned<"processor"> | Processor)[]
  readonly sink: Planned<"sink">
}

/** A `[reconcile:<id>]` section, and the preset of its pipeline's sender. */
export interface PlannedReconcile {
  readonly id: string
  readonly values: Values<(typeof RECONCILE)["options"]>
  readonly pipeline: PlannedPipeline
  readonly provider: string
}

/** @param pipelines of a valid configuration, with the section's */
export function plannedReconcile(
  id: string,
  values: PlannedReconcile["values"],
  pipelines: readonly PlannedPipeline[],
): PlannedReconcile {
  const pipeline = pipelines.find((it) => it.id === values.pipeline)!
  return { id, values, pipeline, provider: senderOf(pipeline.processors)!.name }
}

/** A component and all its options. */
export interface Planned<K extends ComponentKind = ComponentKind> {
  readonly component: Component<K>
  readonly values: Values<OptionSet>
}

/** The ids of a draft's connections; of the file's only those with the key, where one is named. */
export function connectionIds({ configuration, connections }: Draft, key?: string): readonly string[] {
  const defaults = configuration?.defaults.get(CONNECTION)
  const inFile = [...(configuration?.connections ?? [])].filter(
    ([, { texts }]) => key === undefined || texts.has(key) || defaults?.texts.has(key) === true,
  )
  return [...new Set([...(connections?.keys() ?? []), ...inFile.map(([id]) => id)])]
}

/** Resolves one connection of a draft. */
export function resolveConnectionOf(draft: Draft, id: string, problems: Problems): ResolvedConnection {
  const { kind, given } = draft.connections?.get(id) ?? {}
  const address = `connection:${id}${kind === undefined ? "" : `:${kind}Connection`}`
  const section = draft.configuration?.connections.get(id)
  const found = {
    address,
    section,
    fileDefaults: draft.configuration?.defaults.get(CONNECTION),
    inCode: given,
    baseDir: draft.configuration?.baseDir ?? draft.cwd,
    reads: draft.reads,
  }
  return resolveConnection(found, problems, kind)
}

/** `[defaults:connection]` serves connections of each kind, with the keys that the kind has. */
const CONNECTION = "connection"

/** Checks the `[defaults:…]` sections. @returns those of components */
export function resolveDefaults(
  { configuration, pipelines = [], registry }: Draft,
  defined: Found["defined"],
  problems: Problems,
): ReadonlyMap<Component, FileSection> {
  if (configuration === undefined) return new Map()
  const named = new Map(configuration.defaults)
  const ofConnections = named.get(CONNECTION)
  named.delete(CONNECTION)
  if (ofConnections !== undefined) checkDefaults(ofConnections, CONNECTION_OPTIONS, problems)
  const used = pipelines.flatMap(({ source, processors, sink }) =>
    [source, ...processors, sink].flatMap((it) =>
      typeof it === "function" ? [] : (it.component as Component),
    ),
  )
  const all = [...new Set([...registry, ...used])]
  const { sections } = sectionsByComponent(named, all, problems)
  for (const [component, section] of sections) checkDefaults(section, component.options, problems, defined)
  return sections
}

/** In the order of their problems. */
const CHECKS: readonly ((resolved: ResolvedDraft) => Steps<void>)[] = [
  checkConnections,
  checkFiles,
  checkDetail,
  checkInPipelines,
  checkDeadLetters,
  checkAddresses,
  checkBodySizes,
  checkWorkers,
  checkRouting,
  warnOfOpen,
  checkReplay,
  checkSenders,
  checkReconciles,
]

/** Resolves a draft: code before the file before the defaults. Opens nothing. */
export function* resolveDraft(draft: Draft): Steps<ResolvedDraft> {
  const { configuration, registry } = draft
  const baseDir = configuration?.baseDir ?? draft.cwd
  const problems = new Problems(configuration?.file, configuration)
  const defined = resolveProviders(configuration, problems, draft.reads)
  const find = (address: string, section: FileSection | undefined, inCode?: OptionsFromCode): Found => ({
    address,
    section,
    inCode,
    baseDir,
    defined,
    reads: draft.reads,
  })

  const connections = new Map<string, ResolvedConnection>()
  for (const id of connectionIds(draft)) {
    connections.set(id, resolveConnectionOf(draft, id, problems))
    yield
  }
  const pipelines = yield* resolvePipelines({
    configuration,
    pipelines: draft.pipelines ?? [],
    registry,
    find,
    fileDefaults: resolveDefaults(draft, defined, problems),
    problems,
  })
  const reconciles = resolveReconciles(configuration, find, problems)
  const admin = resolveSection(ADMIN, find("admin", configuration?.admin, draft.admin), problems)
  const traces = resolveSection(TRACES, find("traces", configuration?.traces, draft.traces), problems)
  const service = resolveSection(SERVICE, find("service", configuration?.service, draft.service), problems)

  const resolved = {
    connections,
    pipelines: pipelines.map((it) => withSenderDefaults(it, { connections, service })),
    reconciles,
    admin,
    traces,
    service,
    baseDir,
    configuration,
    registry,
    problems,
  }
  for (const check of CHECKS) yield* check(resolved)
  return resolved
}

/** The plan of a resolved draft. @throws HooklineError `config` with every problem, a line each */
export function planOf(resolved: ResolvedDraft): Plan {
  const { connections, pipelines, reconciles, admin, traces, service, baseDir, configuration, problems } =
    resolved
  problems.throwIfAny()
  // without problems all values are set; where they were given is left behind
  const plannedPipelines = pipelines.map(({ id, source, processors, sink }) => ({
    id,
    source: planned(source!),
    processors: processors.map((it) => (typeof it === "function" ? it : planned(it))),
    sink: planned(sink!),
  })) as unknown as readonly PlannedPipeline[]
  const plan = {
    connections: new Map(Array.from(connections, ([id, { kind, values }]) => [id, { kind, values }])),
    pipelines: plannedPipelines,
    reconciles: Array.from(reconciles, ([id, { values }]) =>
      plannedReconcile(id, values as PlannedReconcile["values"], plannedPipelines),
    ),
    ports: new Set(addressesOf(resolved).map(({ port }) => port)),
    baseDir,
    configuration,
    admin: admin.values,
    traces: traces.values,
    service: service.values,
  }
  return plan as unknown as Plan
}

const planned = ({ component, values }: ResolvedPart) => ({ component, values })

/**
 * Resolves a draft to a plan.
 *
 * @throws HooklineError `config` with every problem, a line each
 */
export function* makePlan(draft: Draft): Steps<Plan> {
  return planOf(yield* resolveDraft(draft))
}
