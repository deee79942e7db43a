import type { Plan } from "./plan/plan.ts"

/** What a reload changed, by name and never by value. */
export interface Changes {
  readonly connections: ChangedNames
  readonly pipelines: ChangedNames
  /** Keys of `[service]`, `[admin]` and `[traces]`. */
  readonly service: readonly string[]
  readonly admin: readonly string[]
  readonly traces: readonly string[]
}

interface ChangedNames {
  readonly added: readonly string[]
  readonly changed: readonly string[]
  readonly removed: readonly string[]
}

/** The active instances by name: another instance is a change. @internal */
export interface Snapshot {
  readonly plan: Plan
  readonly connections: ReadonlyMap<string, { readonly instance: unknown }>
  readonly pipelines: ReadonlyMap<string, unknown>
}

/** @internal */
export function changesOf(before: Snapshot, now: Snapshot): Changes {
  const isSameConnection = (id: string): boolean =>
    before.connections.get(id)?.instance === now.connections.get(id)?.instance &&
    Bun.deepEquals(before.plan.connections.get(id)?.values, now.plan.connections.get(id)?.values)
  const isSamePipeline = (id: string): boolean => before.pipelines.get(id) === now.pipelines.get(id)
  return {
    connections: compare(before.connections, now.connections, isSameConnection),
    pipelines: compare(before.pipelines, now.pipelines, isSamePipeline),
    service: changedKeys(before.plan.service, now.plan.service),
    admin: changedKeys(before.plan.admin, now.plan.admin),
    traces: changedKeys(before.plan.traces, now.plan.traces),
  }
}

/** The changes as fields of a log line; empty when there are none. */
export function describeChanges({ connections, pipelines, ...sections }: Changes): object {
  const { service, admin, traces } = sections
  const kinds = {
    connections,
    pipelines,
    service: { changed: service },
    admin: { changed: admin },
    traces: { changed: traces },
  }
  const fields = Object.entries(kinds).flatMap(([kind, names]) =>
    Object.entries(names).flatMap(([what, ids]) => (ids.length === 0 ? [] : [[`${kind}_${what}`, ids]])),
  )
  return Object.fromEntries(fields)
}

type ById = ReadonlyMap<string, unknown>

const compare = (before: ById, now: ById, isSame: (id: string) => boolean): ChangedNames => ({
  added: [...now.keys()].filter((id) => !before.has(id)),
  changed: [...now.keys()].filter((id) => before.has(id) && !isSame(id)),
  removed: [...before.keys()].filter((id) => !now.has(id)),
})

const changedKeys = <T extends object>(before: T, now: T): string[] =>
  Object.keys({ ...before, ...now }).filter(
    (key) => !Bun.deepEquals(before[key as keyof T], now[key as keyof T]),
  )
