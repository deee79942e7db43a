import type { OptionSet, Values } from "../config/options.ts"
import type { Checking, Section } from "../config/section.ts"
import type { Broker } from "../brokers/broker.ts"
import type { Marks } from "../dedupe/marks.ts"
import type { Wanted } from "../holdings.ts"
import type { Event, Outcome, Processor, Publisher } from "../event.ts"
import type { Route } from "../http/route.ts"
import type { Logger } from "../telemetry/log.ts"
import type { PipelineMetrics } from "../telemetry/metrics.ts"
import type { Coverage } from "../verify/family.ts"
import type { Peers } from "../dedupe/shared-ids.ts"

/** What a component gets beside its options when its pipeline is built. */
export interface ComponentContext {
  /** Id of the pipeline. */
  readonly pipeline: string
  readonly log: Logger
  readonly metrics: PipelineMetrics
  /**
   * Opens what has to outlive a reload, such as what was seen lately or a file that one alone can have open. Each time
   * that the component is created anew for its pipeline it gets the same instance, as long as it asks by the same name
   * for equal `wants`. What it does not ask for any more is closed when the events on their way have ended. To be called
   * in `create`.
   */
  readonly keep: <T>(wanted: Omit<Wanted<T>, "fits">) => T
  /** The connection registered under an id, or the only one. To be called in `create`. */
  readonly connection: (id: string | undefined) => {
    readonly broker: Broker
    readonly deliveryTimeoutMs: number
  }
  /** How long the pipeline's events may take from the arrival of their bodies to the acknowledgement. */
  readonly deliveryTimeoutMs: number
  /** The keys that the store of a text of this form knows, see dedupe/location.ts; `ca` as there. */
  readonly marks: (store: string, ca?: string) => Marks
  /**
   * The store that survives this process, for who remembers something of events by the way: that of the pipeline's
   * Deduplicator, unless it is in memory. undefined: there is none.
   */
  readonly sharedMarks: () => Marks | undefined
  /** Whether the pipeline publishes to an embedded log, in whose folder the store `embedded` lies. */
  readonly hasLogFolder: boolean
  /** How many processes share the load, each with a component of its own. */
  readonly workers: number
  /** The same component in the other processes; undefined: there are none. */
  readonly peers?: Peers | undefined
}

/** What each kind of component makes. */
export interface Made {
  /** Says where the webhooks come in; `handle` is the rest of the pipeline. */
  source: (handle: (event: Event) => Promise<Outcome>) => Route
  processor: Processor
  sink: Publisher
}

export type ComponentKind = keyof Made

/** A component as it was declared. Called with options (those of the file have less say), it can be put in a pipeline. */
export interface Component<
  K extends ComponentKind = ComponentKind,
  O extends OptionSet = OptionSet,
> extends Section<O> {
  (given?: Partial<Values<O>>): Configured<K>
  readonly kind: K
  /** Whether, with these options, it lets requests of verified senders alone pass; absent: it judges no senders. */
  readonly verifies?: ((values: Partial<Values<O>>) => boolean) | undefined
  /** What its signatures prove with these options, which are right; undefined: it judges no signatures. */
  readonly proves?: ((values: Values<O>) => Proof) | undefined
  /** The store that it keeps keys in, with these options, where others of its pipeline may keep theirs too. */
  readonly store?: ((values: Values<O>) => Store) | undefined
  /** What of it is kept by one process, so that several can't run it with these options; undefined: nothing. */
  readonly alone?: ((values: Partial<Values<O>>) => Alone | undefined) | undefined
  readonly create: (values: Values<O>, context: ComponentContext) => Made[K]
}

/** What is known of who sent an event, and when, behind a component. */
export interface Proof {
  /** Who sends, as the configuration names it. */
  readonly sender: string
  readonly covers: Coverage
  /** Whether a signed time is compared with the clock. */
  readonly checksTime: boolean
}

/** A store of keys, see dedupe/location.ts. */
export interface Store {
  readonly store: string
  /** CAs in PEM; undefined: the public ones. */
  readonly ca: string | undefined
}

/** Why several processes can't run a component. */
export interface Alone {
  /** The key that says so. */
  readonly key: string
  /** What to do about it. */
  readonly advice: string
}

/** A component and the options that code gives it. */
export interface Configured<K extends ComponentKind = ComponentKind> {
  readonly component: Component<K>
  readonly given: { readonly [key: string]: unknown }
}

/**
 * Declares a component: its options are its parser, its types, its pages in the reference.
 *
 * @param declared `name` is the name in `[pipeline:<id>:<name>]`; `create` is called once for each pipeline, before it
 *   runs, with all options resolved; `check` tells of keys that do not fit each other; `verifies` says whether, with
 *   these options, requests of verified senders alone pass; `proves`, what is known of them then; `store`, where it keeps keys; `alone`, what one process alone
 *   can keep
 */
export function defineComponent<K extends ComponentKind, O extends OptionSet>(declared: {
  kind: K
  name: string
  aliases?: readonly string[]
  summary: string
  options: O
  check?: (checking: Checking<O>) => void
  verifies?: (values: Partial<Values<O>>) => boolean
  proves?: (values: Values<O>) => Proof
  store?: (values: Values<O>) => Store
  alone?: (values: Partial<Values<O>>) => Alone | undefined
  create: (values: Values<O>, context: ComponentContext) => Made[K]
}): Component<K, O> {
  const component = (given: Partial<Values<O>> = {}): Configured<K> => ({
    component: made as Component<K>,
    given,
  })
  const made = Object.assign(component, {
    kind: declared.kind,
    title: declared.name,
    aliases: declared.aliases ?? [],
    summary: declared.summary,
    options: declared.options,
    check: declared.check,
    verifies: declared.verifies,
    proves: declared.proves,
    store: declared.store,
    alone: declared.alone,
    create: declared.create,
  }) as unknown as Component<K, O>
  return made
}
