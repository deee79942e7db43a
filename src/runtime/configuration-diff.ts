import type { ActivePlan } from "./reload.ts"

/** What a reload changed, by name and never by value. */
export interface Changes {
  readonly connections: ChangedNames
  readonly pipelines: ChangedNames
  readonly forwards: ChangedNames
  readonly reconciles: ChangedNames
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
export type Snapshot = Pick<ActivePlan, "plan" | "connections" | "pipelines">

/** @internal */
export function changesOf(before: Snapshot, now: Snapshot): Changes {
  return {
    connections: compare(connectionsOf(before), connectionsOf(now), isSameConnection),
    pipelines: compare(before.pipelines, now.pipelines, Object.is),
    forwards: compare(byId(before.plan.forwards), byId(now.plan.forwards)),
    reconciles: compare(byId(before.plan.reconciles), byId(now.plan.reconciles)),
    service: changedKeys(before.plan.service, now.plan.service),
    admin: changedKeys(before.plan.admin, now.plan.admin),
    traces: changedKeys(before.plan.traces, now.plan.traces),
  }
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

const connectionsOf = ({ plan, connections }: Snapshot): ById =>
  new Map([...connections].map(([id, { instance }]) => [id, [instance, plan.connections.get(id)?.values]]))

const isSameConnection: typeof Object.is = ([instance, values], [other, others]) =>
  instance === other && Bun.deepEquals(values, others)

const compare = (before: ById, now: ById, isSame: typeof Object.is = Bun.deepEquals): ChangedNames => ({
  added: [...now.keys()].filter((id) => !before.has(id)),
  changed: [...now.keys()].filter((id) => before.has(id) && !isSame(before.get(id), now.get(id))),
  removed: [...before.keys()].filter((id) => !now.has(id)),
})

const changedKeys = <T extends object>(before: T, now: T): string[] =>
  Object.keys({ ...before, ...now }).filter(
    (key) => !Bun.deepEquals(before[key as keyof T], now[key as keyof T]),
  )
