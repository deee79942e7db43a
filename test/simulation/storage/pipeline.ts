import { Trial } from "./trial.ts"
import { brokerSink } from "../../../src/components/broker-sink.ts"
import { parseDedupeKey } from "../../../src/components/dedupe-key.ts"
import { deduplicator } from "../../../src/components/deduplicator.ts"
import type { Broker } from "../../../src/brokers/broker.ts"
import type { DedupeKeys } from "../../../src/dedupe/dedupe-keys.ts"
import type { Location } from "../../../src/dedupe/location.ts"
import { dedupeKeysSpec } from "../../../src/dedupe/open-store.ts"
import { composePipeline, type Handler } from "../../../src/pipeline/compose.ts"
import type { Processor } from "../../../src/pipeline/event.ts"
import type { KeyJournal, Record } from "../../../src/pipeline/record.ts"
import type { Logger } from "../../../src/telemetry/log.ts"
import { componentContext } from "../../support/component-context.ts"
import { eventOf } from "../../support/event.ts"
import type { Outcome } from "../simulation.ts"
import type { SimulatedProcess } from "../simulated-process.ts"
import { simulatedLog } from "./log.ts"
import { Publications, type Publication } from "./publications.ts"
import { TOPICS, type StorageScenario } from "./scenario.ts"
import { readKeys } from "./stored-records.ts"
import type { Publish, Subject } from "./trial.ts"
import { Deadlines } from "../../../src/clock/deadlines.ts"

const TOPIC = TOPICS[0]!
const PIPELINE = "payments"
const ID = "json:/id"

interface Service {
  readonly broker: Broker
  readonly keys: DedupeKeys
  readonly handler: Handler
}

/** Where a pipeline's events go, and where its Deduplicator has its keys. */
export interface Destination extends Pick<Subject<Service>, "remote" | "heal"> {
  readonly keys: "with the log" | "file" | "memory"
  /** Opens the broker in a new process. */
  open(folder: string, log: Logger): Broker & { readonly keyJournal?: KeyJournal }
  /** All that is stored, in order, with what a power cut leaves in a folder. */
  stored(folder: string): readonly Pick<Record, "topic" | "value">[]
  /** As Subject. */
  checkHealed?(broker: Broker): void
}

/**
 * Senders send events to a pipeline with a Deduplicator, each until it is answered 200, those of a key one after the other;
 * some are sent twice.
 */
export class PipelineTrial {
  readonly trial: Trial<Service>
  readonly #destination: Destination
  readonly #publications: Publications
  readonly #timeoutMs: number
  /** Keys that could not be stored: the one exception. */
  readonly #unmarked = new Set<string>()
  readonly #acknowledgedBy = new Map<number, SimulatedProcess>()
  readonly #keys = new Map<number, string>()
  /** The end of each key's last event. */
  readonly #queues = new Map<number, Promise<void>>()

  constructor(scenario: StorageScenario, destination: (trial: Trial<Service>) => Destination) {
    this.#timeoutMs = scenario.settings.timeoutMs
    this.trial = new Trial<Service>(scenario, () => ({
      recoveryMs: scenario.simulation === "service" ? CLUSTER_RECOVERY_MS : undefined,
      open: ({ disk: { folder } }) => this.#open(folder),
      ready: ({ broker, keys }) => (broker.ready() === true ? keys.store.ready() : broker.ready()),
      close: async ({ broker, keys }) => void (await Promise.all([broker.close(), keys.store.close()])),
      publish: (step) => this.#publish(step),
      tryOut: (succeeded, done) => {
        this.#attempt(this.#publications.add(TOPIC, -1, 10, this.#timeoutMs), (status) => {
          if (status === 200) succeeded()
          done()
        })
      },
      remote: (step) => this.#destination.remote?.(step),
      heal: () => this.#destination.heal?.(),
      check: (folder, when) => this.#check(folder, when),
      checkHealed: ({ broker }) => this.#destination.checkHealed?.(broker),
    }))
    this.#publications = new Publications(this.trial.world)
    this.#destination = destination(this.trial)
  }

  run(): Outcome {
    return this.trial.run()
  }

  #open(folder: string): Service {
    const log = simulatedLog(this.trial.world, folder)
    const { keys: where } = this.#destination
    const broker = this.#destination.open(folder, log)
    const location: Location =
      where === "memory"
        ? { kind: "memory", name: "memory" }
        : { kind: "embedded", directory: folder, name: folder }
    const keys = this.#watchKeys(dedupeKeysSpec(location, log).open())
    if (broker.keyJournal !== undefined && where === "with the log")
      keys.store.useJournal?.(broker.keyJournal)
    const parts = { broker: this.#watchBroker(broker), keys, log, deliveryTimeoutMs: this.#timeoutMs }
    return { broker, keys, handler: handlerOf(parts) }
  }

  #watchKeys(keys: DedupeKeys): DedupeKeys {
    watchKeys(keys, (key) => this.#unmarked.add(key))
    return keys
  }

  /** Once an event was answered 200, it is not published again. */
  #watchBroker(broker: Broker): Broker {
    const process = this.trial.world.current!
    return {
      publish: (record, deadlineMs) => {
        const one = this.#publications.of(record, "published")
        const before = one && this.#acknowledgedBy.get(one.id)
        const isKnown = before === process || (before !== undefined && this.#destination.keys !== "memory")
        if (isKnown && !this.#unmarked.has(this.#keyOf(one!.id)))
          this.trial.world.violate(`event ${one!.id} is published again although it was answered 200`)
        return broker.publish(record, deadlineMs)
      },
      prepare: (topics) => broker.prepare(topics),
      ready: () => broker.ready(),
      close: () => broker.close(),
    }
  }

  #publish({ key, bytes }: Publish): void {
    const { world, random } = this.trial
    const one = this.#publications.add(TOPIC, key, bytes, this.#timeoutMs)
    const again = random.below(2) === 0 ? random.below(random.pick([20, 600])) : undefined
    const send = (): Promise<void> => {
      if (again !== undefined) world.after(again, () => this.#send(one, () => {}))
      return new Promise((resolve) => this.#send(one, resolve))
    }
    if (key < 0) void send()
    else this.#queues.set(key, (this.#queues.get(key) ?? Promise.resolve()).then(send))
  }

  #send(one: Publication, done: () => void): void {
    const { world, random } = this.trial
    this.#attempt(one, (status) => {
      if (status === 200) return done()
      if (status !== undefined && status !== 503) world.violate(`event ${one.id} was answered ${status}`)
      world.after(20 + random.below(400), () => this.#send(one, done))
    })
  }

  /** One request. @param answered with its status; undefined: there was no answer */
  #attempt(one: Publication, answered: (status: number | undefined) => void): void {
    const { trial } = this
    const { world } = trial
    let status: number | undefined
    trial.call(
      async ({ handler }, process) => {
        const inTime = trial.expectBy(world.nowMs + this.#timeoutMs, `event ${one.id}`, process)
        const outcome = await handler.handle(eventOf(one.record.value, {}))
        inTime()
        status = outcome.kind === "rejected" ? outcome.status : 200
        world.tell("sender", `${one.id} ${outcome.kind} ${"reason" in outcome ? outcome.reason : ""}`)
        if (status !== 200) return
        one.receipt ??= { partition: -1, offset: -1 }
        this.#acknowledgedBy.set(one.id, process)
      },
      () => answered(status),
    )
  }

  #check(folder: string, when: string): void {
    const { world } = this.trial
    const { keys: where } = this.#destination
    const stored = this.#destination.stored(folder)
    const copies = new Map<number, number>()
    for (const record of stored) {
      const one = this.#publications.of(record, when)
      if (one !== undefined) copies.set(one.id, (copies.get(one.id) ?? 0) + 1)
    }
    this.#publications.checkOrder(stored, when)
    const known = where === "with the log" ? readKeys(folder) : undefined
    for (const { id, receipt } of this.#publications.all) {
      const count = copies.get(id) ?? 0
      if (receipt !== undefined && count === 0)
        world.violate(`${when}: event ${id} was answered 200 and is not stored`)
      if (known === undefined) continue
      if (count > 1) world.violate(`${when}: event ${id} is stored ${count} times`)
      if (known.has(this.#keyOf(id)) !== count > 0)
        world.violate(`${when}: of event ${id} and its key the log has one without the other`)
    }
  }

  #keyOf(id: number): string {
    const { value } = this.#publications.all[id]!.record
    return this.#keys.getOrInsertComputed(id, () => KEY_OF(eventOf(value))!)
  }
}

interface PipelineParts {
  readonly broker: Broker
  readonly keys: DedupeKeys
  readonly log: Logger
  readonly deliveryTimeoutMs: number
}

/** A pipeline with a Deduplicator, by the id of its events. @param first processors before it */
export function handlerOf(
  { broker, keys, log, deliveryTimeoutMs }: PipelineParts,
  first: readonly Processor[] = [],
): Handler {
  const context = componentContext({
    pipeline: PIPELINE,
    log,
    connection: () => ({
      broker,
      prepare: (topics) => broker.prepare(topics),
      kind: "embedded",
      messagingSystem: "hookline",
      deliveryTimeoutMs,
    }),
    deliveryTimeoutMs,
    dedupeKeys: () => keys,
  })
  const dedupe = { key: ID, window: 86_400_000, store: "embedded", store_ca: undefined }
  return composePipeline({
    pipeline: PIPELINE,
    processors: [...first, Object.assign(deduplicator.create(dedupe, context), { isBounded: true })],
    publish: Object.assign(brokerSink.create({ ...SINK, topic: TOPIC, key: "json:/k" }, context), {
      isBounded: true,
    }),
    deadlines: new Deadlines(5000),
    metrics: context.metrics,
    log: { isLevelEnabled: () => false, write() {} } as never,
    partsLog: log,
  })
}

/** @param lost called with a key that could not be stored */
export function watchKeys(keys: DedupeKeys, lost: (key: string) => void): void {
  const { end } = keys
  keys.end = (key, ...rest) => {
    const kept = end.call(keys, key, ...rest)
    void Promise.resolve(kept).then((isKept) => isKept || lost(key))
    return kept
  }
}

/** How long a producer may take to learn anew of its cluster: metadata that is stale is ignored for 5 s. */
const CLUSTER_RECOVERY_MS = 8000
export const KEY_OF = parseDedupeKey(ID, PIPELINE, undefined)!
/** The other options of the sink as they are by default. */
const SINK = { cloudevents: "off", trace_headers: "off", value_format: "json" } as Parameters<
  typeof brokerSink.create
>[0]
