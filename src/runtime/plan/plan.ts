import type { Component } from "../../components/define-component.ts"
import { ADMIN, removedFromService, SERVICE, TRACES } from "../../config/sections.ts"
import {
  CONNECTION_OPTIONS,
  resolveConnection,
  type ResolvedConnection,
} from "../../brokers/resolve-connection.ts"
import { Problems } from "../../config/file/problems.ts"
import { checkDefaults, resolveSection, soundValues, type Found } from "../../config/options/resolve.ts"
import type { FileSection } from "../../config/file/configuration-file.ts"
import { FORWARD } from "../../config/sections/forward.ts"
import { inSteps, type Steps } from "../../clock/slices.ts"
import { answering } from "../../process/regular-file.ts"
import { resolvePipelines, sectionsByComponent, type ResolvedPipeline } from "./resolve-pipelines.ts"
import { unchangedPipelines } from "./unchanged.ts"
import {
  checkConnections,
  checkDeadLetters,
  checkDetail,
  checkFiles,
  checkAudit,
  checkBodySizes,
  checkReusedPorts,
  warnOfHostHeader,
  warnOfOpen,
} from "./cross-checks.ts"
import { addressesOf, checkAddresses, lookedUp } from "./addresses.ts"
import { resolveProviders } from "./providers.ts"
import type { ResolvedDraft } from "./resolved-draft.ts"
import { checkReplicas, warnOfReplicas } from "./replica-checks.ts"
import { warnOfReplay } from "./replay-checks.ts"
import { checkForwards } from "./forwards.ts"
import { checkSections, plannedExtensions, resolveNamed, resolveSections } from "./sections.ts"
import { checkRouting } from "./routing-checks.ts"
import { checkSenders, withSenderDefaults } from "./sender-defaults.ts"
import { checkInPipelines } from "./check-in-pipelines.ts"
import type { Draft, Plan } from "./draft.ts"
import { plannedConnection, plannedPipeline } from "./planned-parts.ts"

export type { Draft, Plan, Planned, PlannedForward, PlannedHandler, PlannedPipeline } from "./draft.ts"

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

type Check = (resolved: ResolvedDraft) => Steps<void>

/** In the order of their problems. */
const CHECKS: readonly Check[] = [
  checkConnections,
  checkFiles,
  checkDetail,
  checkInPipelines,
  checkDeadLetters,
  checkAudit,
  checkAddresses,
  checkBodySizes,
  checkReusedPorts,
  checkReplicas,
  checkRouting,
  checkSections,
  checkForwards,
]

/** Their warnings keep nothing from running: they are found for `check` alone. */
const WARNINGS: readonly Check[] = [warnOfOpen, warnOfHostHeader, warnOfReplay, checkSenders, warnOfReplicas]

/** Those that compare pipelines with each other: they get those that were not read again, too. */
const OF_ALL: readonly Check[] = [
  checkDetail,
  checkDeadLetters,
  checkAudit,
  checkAddresses,
  checkReplicas,
  checkRouting,
  checkSections,
  checkForwards,
]

/** Resolves a draft: code before the file before the defaults. Opens nothing. */
export function* resolveDraft(draft: Draft): Steps<ResolvedDraft> {
  const resolved = yield* resolveParts(draft, new Map())
  for (const warn of WARNINGS) yield* warn(resolved)
  return resolved
}

function* resolveParts(given: Draft, unchanged: ReadonlyMap<string, ResolvedPipeline>): Steps<ResolvedDraft> {
  const inputs = new Set<string>()
  const draft = { ...given, reads: (file: string) => void inputs.add(file) }
  const { configuration, registry } = draft
  const baseDir = configuration?.baseDir ?? draft.cwd
  const problems = new Problems(configuration?.file, configuration)
  const defined = yield* resolveProviders(configuration, problems, draft.reads)
  const around = { baseDir, defined, reads: draft.reads }
  const alone = (address: "admin" | "traces" | "service"): Found => ({
    ...around,
    address,
    section: configuration?.[address],
    inCode: draft[address],
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
    around,
    delivers: (configuration?.forwards.size ?? 0) + (draft.handlers?.length ?? 0) > 0,
    fileDefaults: resolveDefaults(draft, defined, problems),
    problems,
    unchanged,
  })
  const sections = resolveSections(configuration, around, problems)
  const forwards = resolveNamed("forward", FORWARD, configuration?.forwards, around, problems)
  const admin = resolveSection(ADMIN, alone("admin"), problems)
  const traces = resolveSection(TRACES, alone("traces"), problems)
  const service = resolveSection(SERVICE, alone("service"), problems, removedFromService)
  yield* answering(inputs)
  for (const file of inputs) given.reads?.(file)

  const resolved = {
    connections,
    pipelines: yield* inSteps(pipelines, (it) =>
      it.planned === undefined ? withSenderDefaults(it, { connections, service }) : it,
    ),
    draft: given,
    sections,
    forwards,
    admin,
    traces,
    service,
    baseDir,
    configuration,
    registry,
    problems,
  }
  const changed = { ...resolved, pipelines: resolved.pipelines.filter((it) => it.planned === undefined) }
  for (const check of CHECKS) yield* check(OF_ALL.includes(check) ? resolved : changed)
  return resolved
}

/** The plan of a resolved draft. @throws HooklineError `config` with every problem, a line each */
export function* planOf(resolved: ResolvedDraft): Steps<Plan> {
  const { connections, pipelines, forwards, problems } = resolved
  const { admin, traces, service, baseDir, draft } = resolved
  problems.throwIfAny()
  // without problems all values are set; where they were given is left behind
  const addresses = yield* addressesOf(resolved)
  yield* lookedUp(addresses.map(({ host }) => host))
  const plannedPipelines = yield* inSteps(pipelines, plannedPipeline)
  return {
    connections: new Map(Array.from(connections, ([id, it]) => [id, plannedConnection(it)])),
    pipelines: plannedPipelines,
    extensions: plannedExtensions(resolved, plannedPipelines),
    forwards: Array.from(forwards, ([id, it]) => ({ id, values: soundValues(it)! })),
    handlers: draft.handlers ?? [],
    ports: new Set(addresses.map(({ port }) => port)),
    baseDir,
    draft,
    admin: soundValues(admin)!,
    traces: soundValues(traces)!,
    service: soundValues(service)!,
  }
}

/**
 * Resolves a draft to a plan.
 *
 * @param before a plan; if the draft is valid, pipelines that have not changed since are not read again
 * @throws HooklineError `config` with every problem, a line each
 */
export function* makePlan(draft: Draft, before?: Plan): Steps<Plan> {
  const unchanged = yield* unchangedPipelines(draft, before)
  const resolved = yield* resolveParts(draft, unchanged)
  // the place of a problem is known only where everything was read
  const isUnplaced = resolved.problems.hasAny && unchanged.size > 0
  return yield* planOf(isUnplaced ? yield* resolveParts(draft, new Map()) : resolved)
}
