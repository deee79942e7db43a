import type { Plan } from "./plan.ts"

/** What a reload changed, by name and never by value. */
export interface Changes {
  readonly connections: Named
  readonly pipelines: Named
  /** Keys of `[service]` and `[admin]`. */
  readonly service: readonly string[]
  readonly admin: readonly string[]
}

interface Named {
  readonly added: readonly string[]
  readonly changed: readonly string[]
  readonly removed: readonly string[]
}

/** What runs, by name, so that another instance tells of a change. */
export interface Snapshot {
  readonly plan: Plan
  readonly connections: ReadonlyMap<string, { readonly instance: unknown }>
  readonly pipelines: ReadonlyMap<string, unknown>
}

/** Compares what runs now with what ran before. */
export function changesOf(before: Snapshot, now: Snapshot): Changes {
  const hasOtherValues = (id: string): boolean =>
    !Bun.deepEquals(before.plan.connections.get(id)?.values, now.plan.connections.get(id)?.values)
  return {
    connections: compare(instancesOf(before), instancesOf(now), hasOtherValues),
    pipelines: compare(before.pipelines, now.pipelines, () => false),
    service: changedKeys(before.plan.service, now.plan.service),
    admin: changedKeys(before.plan.admin, now.plan.admin),
  }
}

/** The changes as fields of a log line; empty when there are none. */
export function describeChanges({ connections, pipelines, service, admin }: Changes): object {
  const fields = [
    ...Object.entries(connections).map(([what, ids]) => [`connections_${what}`, ids] as const),
    ...Object.entries(pipelines).map(([what, ids]) => [`pipelines_${what}`, ids] as const),
    ["service_changed", service] as const,
    ["admin_changed", admin] as const,
  ]
  return Object.fromEntries(fields.filter(([, names]) => (names as readonly string[]).length > 0))
}

const instancesOf = ({ connections }: Snapshot): ReadonlyMap<string, unknown> =>
  new Map([...connections].map(([id, { instance }]) => [id, instance]))

function compare(
  before: ReadonlyMap<string, unknown>,
  now: ReadonlyMap<string, unknown>,
  isChanged: (id: string) => boolean,
): Named {
  return {
    added: [...now.keys()].filter((id) => !before.has(id)),
    changed: [...now.keys()].filter(
      (id) => before.has(id) && (before.get(id) !== now.get(id) || isChanged(id)),
    ),
    removed: [...before.keys()].filter((id) => !now.has(id)),
  }
}

function changedKeys(before: object, now: object): string[] {
  const [ofBefore, ofNow] = [before, now] as { readonly [key: string]: unknown }[]
  const keys = new Set([...Object.keys(before), ...Object.keys(now)])
  return [...keys].filter((key) => !Bun.deepEquals(ofBefore![key], ofNow![key]))
}
