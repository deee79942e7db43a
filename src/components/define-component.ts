import { type Message } from "../message.ts"
import type { SharedLimits } from "./webhook-source/shared-limits.ts"
import type { OptionSet, Values } from "../config/options/option-types.ts"
import type { Checking, OptionsArgument, Section } from "../config/declarations.ts"
import type { Broker } from "../brokers/broker.ts"
import type { ConnectionKindName } from "../brokers/registry.ts"
import type { DedupeKeys } from "../dedupe/dedupe-keys.ts"
import type { ResourceSpec } from "../pipeline/resource.ts"
import { HooklineError } from "../errors.ts"
import type { Handler } from "../pipeline/compose.ts"
import type { Processor, Publisher } from "../pipeline/event.ts"
import type { Route } from "../http/route.ts"
import type { Logger } from "../telemetry/log.ts"
import type { PipelineMetrics } from "../telemetry/metrics.ts"
import type { KnownSender } from "./known-sender.ts"
import type { Verification } from "../verify/verification.ts"

/** Passed to a component's `create` with its options. */
export interface ComponentContext {
  /** The pipeline's id. */
  readonly pipeline: string
  /** The locations of the events' id, type and time, by the pipeline's Verifier; undefined: it has none. */
  readonly sender: KnownSender | undefined
  /** @internal The path of the pipeline's source, which a `*` may end. */
  readonly sourcePath: string
  /** The pipeline's log. */
  readonly log: Logger
  /** @internal */
  readonly metrics: PipelineMetrics
  /**
   * Opens something that outlives reloads, such as a file that only one instance can open. As long as the component
   * acquires the same name with an equal `config` it gets the same instance; one no longer acquired is closed when the
   * events in flight have ended. Call it in `create`.
   */
  readonly acquire: <T>(spec: Omit<ResourceSpec<T>, "fits">) => T
  /** The connection of an id, or the only one. Call it in `create`. */
  readonly connection: (id: string | undefined) => {
    readonly broker: Omit<Broker, "prepare" | "close">
    /** Names topics that will be published to. */
    readonly prepare: Broker["prepare"]
    readonly kind: ConnectionKindName
    /** @internal As spans name it. */
    readonly messagingSystem: string
    readonly deliveryTimeoutMs: number
  }
  /**
   * @internal Names topics that the pipeline publishes to in addition to those of its sink: looked up, created and watched as
   * they are. In `create` or later.
   */
  readonly prepareTopics: (topics: readonly string[]) => void
  /** The time from the arrival of an event's body to its acknowledgement. */
  readonly deliveryTimeoutMs: number
  /** @internal The keys of a store, see dedupe/location.ts; `ca` as there. */
  readonly dedupeKeys: (store: string, ca?: string) => DedupeKeys
  /** @internal The store of the pipeline's Deduplicator, unless it is in memory, for other keys; undefined: none. */
  readonly sharedDedupeKeys: () => DedupeKeys | undefined
  /** @internal Whether the pipeline publishes to an embedded log, whose folder has the store `embedded`. */
  readonly hasLogFolder: boolean
  /** @internal Rate limits that all replicas share; undefined: each has its own. */
  readonly sharedLimits: SharedLimits | undefined
}

/** The running part that `create` returns. */
export interface Made {
  /** The source's route, for the composed rest of the pipeline. */
  source: (handler: Handler) => Route
  processor: Processor
  sink: Publisher
}

export type ComponentKind = keyof Made

/** A declared component. Called with options, which override the file's, it gives a pipeline's part. */
export interface Component<
  K extends ComponentKind = ComponentKind,
  O extends OptionSet = OptionSet,
> extends Section<O> {
  (...given: OptionsArgument<O>): Configured<K>
  readonly kind: K
  /** Whether, with these options, only verified senders' requests pass; absent: never. */
  readonly verifies?: ((values: Partial<Values<O>>) => boolean) | undefined
  /** Describes how it verifies requests, with valid options, for explanations; absent: it verifies none. */
  readonly verification?: ((values: Values<O>) => Verification) | undefined
  /** Describes how it chooses the topics of events; absent: it does not choose them. */
  readonly routing?: ((values: Partial<Values<O>>) => Routing) | undefined
  /** Whose events it lets pass; undefined: its options are wrong. Absent: it does not restrict them. */
  readonly sender?: ((values: Partial<Values<O>>) => KnownSender | undefined) | undefined
  /** Rules that need the rest of the pipeline, in addition to `check`; run where all its options are valid. */
  readonly checkInPipeline?: ((checking: CheckingInPipeline<O>) => void) | undefined
  /** Names of the record headers that it adds to events, for `check`: `*`, all of the request. */
  readonly recordHeaders?:
    | ((values: Partial<Values<O>>, sender: KnownSender | undefined) => readonly string[])
    | undefined
  /** Whether it has records keep the body as received, with the headers that verify its signature; absent: no. */
  readonly keepsReceived?: ((values: Partial<Values<O>>) => boolean) | undefined
  /** The store of its keys, which other components of the pipeline may share. */
  readonly store?: ((values: Values<O>) => Store) | undefined
  /** Why replicas can't have it with these options: the key, what that leads to, and the remedy; undefined: they can. */
  readonly alone?:
    | ((values: Partial<Values<O>>) => { key: string; effect: string; advice: Message } | undefined)
    | undefined
  /** Defaults that its options give to other components of the pipeline, as a file would spell them, by component. */
  readonly implies?: ((values: Partial<Values<O>>) => Implied) | undefined
  /** Whether it is present without a section where another component implies options of its. */
  readonly isImplied?: boolean | undefined
  /** @internal */
  readonly create: (values: Values<O>, context: ComponentContext) => Made[K]
}

export type Implied = { readonly [component: string]: { readonly [key: string]: string } | undefined }

/** The options that `checkInPipeline` sees, and the pipeline around them. */
export interface CheckingInPipeline<O extends OptionSet> extends Checking<O> {
  readonly sender: KnownSender | undefined
}

/** The values of an event that decide its topic. */
export interface Routing {
  /** The key of the option that names the values, for messages. */
  readonly key: string
  /** Their locations: `header:Name`, `json:/pointer`. @throws WrongValue as `checkExtractions` reports */
  readonly places: (sender: KnownSender | undefined) => readonly string[]
  /** Whether an event may go to several topics. */
  readonly hasSeveral: boolean
  /** Whether headers, paths and queries that the Verifier's scheme does not sign may decide. */
  readonly allowsUnsigned: boolean
  /** The topics that events may go to, besides the sink's: names, or patterns as of `topics`. */
  readonly topics: readonly string[]
  /** Whether events may go to a topic, and the key that says so. */
  readonly mayChoose: (topic: string) => string | undefined
  /** The patterns of lines. */
  readonly patterns: readonly string[]
}

/** A store of keys, see dedupe/location.ts. */
export interface Store {
  readonly store: string
  /** PEM; undefined: the public CAs. */
  readonly ca: string | undefined
}

/** A component with options given in code. */
export interface Configured<K extends ComponentKind = ComponentKind> {
  readonly kind: K
  /** @internal */
  readonly component: Component<K>
  /** @internal In camel case. */
  readonly given: { readonly [key: string]: unknown }
}

/** The argument of `defineComponent`. */
type Declaration<K extends ComponentKind, O extends OptionSet> = Omit<
  Component<K, O>,
  "title" | "aliases" | "create"
> & {
  /** The name in `[pipeline:<id>:<name>]`. */
  readonly name: string
  readonly aliases?: readonly string[]
  /** Called once per pipeline, before it runs, with all options resolved. */
  readonly create: (values: Values<O>, context: ComponentContext) => Made[K]
}

/** Declares a component: its options give its parser, its types and its reference. */
export function defineComponent<K extends ComponentKind, O extends OptionSet>({
  name,
  aliases = [],
  ...declared
}: Declaration<K, O>): Component<K, O> {
  const ignored = Object.keys(declared.options).find((key) => declared.options[key]!.reload !== "reopen")
  if (ignored !== undefined)
    throw new HooklineError(
      "usage",
      `component ${name}, option ${ignored}: a reload recreates components with their pipeline; declare it without reload, and keep state by context.acquire`,
    )
  const component = (given: Configured["given"] = {}): Configured<K> => ({
    kind: declared.kind,
    component: made as unknown as Component<K>,
    given,
  })
  const made = Object.assign(component, { ...declared, title: name, aliases }) as unknown as Component<K, O>
  declaredComponents.add(made)
  return made
}

const declaredComponents = new WeakSet<object>()

/** Whether it is what `defineComponent` returned. */
export const isComponent = (it: unknown): it is Component =>
  typeof it === "function" && declaredComponents.has(it)
