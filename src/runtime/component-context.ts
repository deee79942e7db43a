import type { Broker } from "../brokers/broker.ts"
import type { ConnectionKindName } from "../brokers/registry.ts"
import { storeOf } from "../components/processor-facts.ts"
import type { ComponentContext, ComponentKind, Made } from "../components/define-component.ts"
import { DEFAULT_DELIVERY_TIMEOUT_MS } from "../brokers/define-connection.ts"
import type { DedupeKeys } from "../dedupe/dedupe-keys.ts"
import { locate, type Location } from "../dedupe/location.ts"
import { HooklineError } from "../errors.ts"
import type { ResourceSpec } from "../pipeline/resource.ts"
import type { OpenConnection } from "./connections.ts"
import type { Planned, PlannedPipeline } from "./plan/plan.ts"

/** A pipeline's parts, where they are known. */
export type PartsOf = Pick<PlannedPipeline, "id" | "processors"> & {
  readonly [end in "source" | "sink"]: PlannedPipeline[end] | undefined
}

/** A connection as a pipeline has it. */
export type PreparableConnection = OpenConnection & Pick<Broker, "prepare">

export interface ContextDependencies extends Pick<
  ComponentContext,
  "log" | "metrics" | "sender" | "sharedLimits"
> {
  /** Absolute base of relative paths. */
  readonly baseDir: string
  /** undefined: the first. */
  readonly connection: (id: string | undefined) => PreparableConnection
  /** Called with topics that a component has prepared on its pipeline's connection, besides the sink's. */
  readonly addTopics: (names: readonly string[]) => void
  readonly acquire: <T>(spec: ResourceSpec<T>) => T
  readonly openKeys: (location: Location) => DedupeKeys
}

/** Gives a pipeline's components their contexts, one after another. */
export function contextsOf(
  pipeline: PartsOf,
  { baseDir, connection, addTopics, acquire, openKeys, ...given }: ContextDependencies,
): (title: string) => ComponentContext {
  const { id, source, sink } = pipeline
  const destination =
    sink !== undefined && "connection" in sink.component.options
      ? connection(sink.values["connection"] as string | undefined)
      : undefined
  const ownTimeoutMs = source?.values["delivery_timeout"] as number | undefined
  const deliveryTimeoutMs = ownTimeoutMs ?? destination?.deliveryTimeoutMs ?? DEFAULT_DELIVERY_TIMEOUT_MS
  const dedupeKeys = (store: string, ca?: string): DedupeKeys => {
    // a log in memory has no folder for the keys
    const text = store === "embedded" && destination?.kind.isInMemory === true ? "memory" : store
    return openKeys(locate(text, { pipeline: id, logDirectory: destination?.logDirectory, baseDir }, ca))
  }
  const ofAll: Omit<ComponentContext, "acquire"> = {
    ...given,
    pipeline: id,
    sourcePath: String(source?.values["path"] ?? ""),
    connection: (asked) => {
      const { kind, ...open } = connection(asked)
      const timeoutMs = ownTimeoutMs ?? open.deliveryTimeoutMs
      return {
        ...open,
        deliveryTimeoutMs: timeoutMs,
        kind: kind.name as ConnectionKindName,
        messagingSystem: kind.messagingSystem,
      }
    },
    prepareTopics(names) {
      destination?.prepare(names)
      addTopics(names)
    },
    deliveryTimeoutMs,
    dedupeKeys,
    sharedDedupeKeys: () => {
      const shared = storeOf(pipeline.processors)
      return shared === undefined || shared.store === "memory"
        ? undefined
        : dedupeKeys(shared.store, shared.ca)
    },
    hasLogFolder: destination?.logDirectory !== undefined,
  }
  const seen = new Map<string, number>()
  return (title) => {
    const nth = (seen.get(title) ?? 0) + 1
    seen.set(title, nth)
    return {
      ...ofAll,
      acquire: (spec) => acquire({ ...spec, name: `pipeline ${id}/${title} ${nth}/${spec.name}` }),
    }
  }
}

/** Creates a component. @throws HooklineError also for what its `create` throws otherwise */
export function createComponent<K extends ComponentKind>(
  { component, values }: Planned<K>,
  context: ComponentContext,
): Made[K] {
  try {
    return component.create(values, context)
  } catch (cause) {
    if (cause instanceof HooklineError) throw cause
    const why = cause instanceof Error ? cause.message : String(cause)
    const text = `component ${component.title} of pipeline ${context.pipeline} could not be created: ${why}`
    throw new HooklineError("internal", text, { cause })
  }
}
