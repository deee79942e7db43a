import { extensions } from "../extensions/registry.ts"
import type { Plan } from "./plan/plan.ts"
import type { ActivePlan } from "./reload.ts"
import type { SectionPlural } from "./typed-options.ts"

/** What a reload changed, by name and never by value. */
export interface Changes extends ChangedSections {
  readonly connections: ChangedNames
  readonly pipelines: ChangedNames
  readonly forwards: ChangedNames
  /** Keys of `[service]`, `[admin]` and `[traces]`. */
  readonly service: readonly string[]
  readonly admin: readonly string[]
  readonly traces: readonly string[]
}

/** Sections of extensions. */
type ChangedSections = { readonly [plural in SectionPlural]: ChangedNames }

interface ChangedNames {
  readonly added: readonly string[]
  readonly changed: readonly string[]
  readonly removed: readonly string[]
}

/** The active instances by name: another instance is a change. @internal */
export type Snapshot = Pick<ActivePlan, "plan" | "connections" | "pipelines">

/** @internal */
export function changesOf(before: Snapshot, now: Snapshot): Changes {
  const isSameConnection = (id: string): boolean =>
    before.connections.get(id)?.instance === now.connections.get(id)?.instance &&
    Bun.deepEquals(before.plan.connections.get(id)?.values, now.plan.connections.get(id)?.values)
  const isSamePipeline = (id: string): boolean => before.pipelines.get(id) === now.pipelines.get(id)
  return {
    connections: compare(before.connections, now.connections, isSameConnection),
    pipelines: compare(before.pipelines, now.pipelines, isSamePipeline),
    forwards: compare(byId(before.plan.forwards), byId(now.plan.forwards)),
    ...changedSections(before.plan, now.plan),
    service: changedKeys(before.plan.service, now.plan.service),
    admin: changedKeys(before.plan.admin, now.plan.admin),
    traces: changedKeys(before.plan.traces, now.plan.traces),
  }
}

const changedSections = (before: Plan, now: Plan): ChangedSections => {
  const sectionsIn = ({ extensions: planned }: Plan, name: string): ById => byId(planned.get(name)!.sections)
  return Object.fromEntries(
    extensions.flatMap(({ name, sections }) =>
      sections === undefined
        ? []
        : [[sections.plural, compare(sectionsIn(before, name), sectionsIn(now, name))]],
    ),
  ) as ChangedSections
}

/** The changes as fields of a log line; empty when there are none. */
export function describeChanges(changes: Changes): object {
  const fields = Object.entries<ChangedNames | readonly string[]>({ ...changes }).flatMap(([kind, names]) =>
    Object.entries("added" in names ? names : { changed: names }).flatMap(([what, ids]) =>
      ids.length === 0 ? [] : [[`${kind}_${what}`, ids]],
    ),
  )
  return Object.fromEntries(fields)
}

type ById = ReadonlyMap<string, unknown>

const byId = (sections: readonly { readonly id: string; readonly values: unknown }[]): ById =>
  new Map(sections.map(({ id, values }) => [id, values]))

/** By default an entry is the same where its value is. */
const compare = (
  before: ById,
  now: ById,
  isSame = (id: string): boolean => Bun.deepEquals(before.get(id), now.get(id)),
): ChangedNames => ({
  added: [...now.keys()].filter((id) => !before.has(id)),
  changed: [...now.keys()].filter((id) => before.has(id) && !isSame(id)),
  removed: [...before.keys()].filter((id) => !now.has(id)),
})

const changedKeys = <T extends object>(before: T, now: T): string[] =>
  Object.keys({ ...before, ...now }).filter(
    (key) => !Bun.deepEquals(before[key as keyof T], now[key as keyof T]),
  )
