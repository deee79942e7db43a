import { Trial } from "./trial.ts"
import { deduplicator } from "../../../src/components/deduplicator.ts"
import { parseDedupeKey } from "../../../src/components/dedupe-key.ts"
import { brokerSink } from "../../../src/components/broker-sink.ts"
import { openEmbedded, type EmbeddedBroker } from "../../../src/brokers/embedded/broker.ts"
import type { Broker } from "../../../src/brokers/broker.ts"
import type { DedupeKeys } from "../../../src/dedupe/dedupe-keys.ts"
import { dedupeKeysSpec } from "../../../src/dedupe/open-store.ts"
import { composePipeline, type Handler } from "../../../src/pipeline/compose.ts"
import type { Record } from "../../../src/pipeline/record.ts"
import type { Logger } from "../../../src/telemetry/log.ts"
import { componentContext } from "../../support/component-context.ts"
import { eventOf } from "../../support/event.ts"
import type { Outcome, Simulation } from "../simulation.ts"
import type { SimulatedProcess } from "../simulated-process.ts"
import { simulatedLog } from "./log.ts"
import { Publications, type Publication } from "./publications.ts"
import { ModelBroker, RemoteLog } from "./remote-log.ts"
import { scenarioOf, TOPICS, type StorageScenario } from "./scenario.ts"
import { readKeys, readLog } from "./stored-records.ts"

const TOPIC = TOPICS[0]!
const PIPELINE = "payments"
const ID = "json:/id"

interface Service {
  readonly broker: Broker
  readonly keys: DedupeKeys
  readonly handler: Handler
}

/** Senders send each event until it is answered 200, and some once more, to a pipeline with a Deduplicator. */
function run(scenario: StorageScenario): Outcome {
  const { keys: where, timeoutMs } = scenario.settings
  const trial = new Trial<Service>(scenario, ({ world }) => ({
    open({ disk: { folder } }) {
      const log = simulatedLog(world, folder)
      const process = world.current!
      const broker = where === "file" ? new ModelBroker(remote, () => () => {}) : openLog(folder, log)
      const location =
        where === "memory" ? ({ kind: "memory", pipeline: PIPELINE } as const) : ({ kind: "embedded", directory: folder } as const)
      const keys = watched(dedupeKeysSpec(location, log).open())
      if (where === "with the log") keys.useJournal((broker as EmbeddedBroker).keyJournal)
      return { broker, keys, handler: handlerOf(watchedBroker(broker, process), keys, log) }
    },
    ready: ({ broker, keys }) => (broker.ready() === true ? keys.ready() : broker.ready()),
    close: async ({ broker, keys }) => void (await Promise.all([broker.close(), keys.close()])),
    publish({ key, bytes }) {
      const one = publications.add(TOPIC, key, bytes, timeoutMs)
      send(one, () => {})
      if (random.below(4) === 0) world.after(random.below(300), () => send(one, () => {}))
    },
    tryOut: (succeeded, done) => attempt(publications.add(TOPIC, -1, 10, timeoutMs), (status) => {
      if (status === 200) succeeded()
      done()
    }),
    remote: ({ state, lostAnswers }) => remote.set(state, lostAnswers),
    heal: () => remote.set("up", 0),
    check(folder, when) {
      const stored = where === "file" ? remote.records : readLog(folder)
      const copies = new Map<number, number>()
      for (const record of stored) {
        const one = publications.of(record, when)
        if (one !== undefined) copies.set(one.id, (copies.get(one.id) ?? 0) + 1)
      }
      const known = where === "with the log" ? readKeys(folder) : undefined
      for (const { id, receipt } of publications.all) {
        const count = copies.get(id) ?? 0
        if (receipt !== undefined && count === 0)
          world.violate(`${when}: event ${id} was answered 200 and is not in the log`)
        if (known === undefined) continue
        if (count > 1) world.violate(`${when}: event ${id} is in the log ${count} times`)
        if (known.has(keyOf(id)) !== count > 0)
          world.violate(`${when}: event ${id} is ${count > 0 ? "" : "not "}in the log, and its key the other way round`)
      }
    },
  }))
  const { world, random } = trial
  const remote = new RemoteLog(world)
  const publications = new Publications(world)
  /** Keys that could not be stored: the one exception. */
  const unmarked = new Set<string>()
  const acknowledgedBy = new Map<number, SimulatedProcess>()

  const openLog = (directory: string, log: Logger): EmbeddedBroker =>
    openEmbedded({ directory }, { log, metrics: { batch() {} } })

  const watched = (keys: DedupeKeys): DedupeKeys => {
    const { end } = keys
    keys.end = (key, ...rest) => {
      const kept = end.call(keys, key, ...rest)
      void Promise.resolve(kept).then((isKept) => isKept || unmarked.add(key))
      return kept
    }
    return keys
  }

  /** Once an event was answered 200, it is not published again. */
  const watchedBroker = (broker: Broker, process: SimulatedProcess): Broker => ({
    publish(record: Record, deadlineMs) {
      const one = publications.of(record, "published")
      const before = one && acknowledgedBy.get(one.id)
      const isKnown = before === process || (before !== undefined && where !== "memory")
      if (isKnown && !unmarked.has(keyOf(one!.id)))
        world.violate(`event ${one!.id} is published again although it was answered 200`)
      return broker.publish(record, deadlineMs)
    },
    prepare: (topics) => broker.prepare(topics),
    ready: () => broker.ready(),
    close: () => broker.close(),
  })

  const handlerOf = (broker: Broker, keys: DedupeKeys, log: Logger): Handler => {
    const context = componentContext({
      pipeline: PIPELINE,
      log,
      connection: () => ({ broker, kind: "embedded", deliveryTimeoutMs: timeoutMs }),
      deliveryTimeoutMs: timeoutMs,
      dedupeKeys: () => keys,
    })
    return composePipeline({
      pipeline: PIPELINE,
      processors: [deduplicator.create({ key: ID, window: 86_400_000, store: "embedded", store_ca: undefined }, context)],
      publish: brokerSink.create({ ...SINK, topic: TOPIC, key: "json:/k" }, context),
      metrics: context.metrics,
      log: { isLevelEnabled: () => false, write() {} } as never,
    })
  }

  /** One request. @param answered with its status; undefined: there was no answer */
  const attempt = (one: Publication, answered: (status: number | undefined) => void): void => {
    let status: number | undefined
    trial.call(
      async ({ handler }, process) => {
        const inTime = trial.expectBy(world.nowMs + timeoutMs, `event ${one.id}`, process)
        const outcome = await handler.handle(eventOf(one.record.value, {}))
        inTime()
        status = outcome.kind === "rejected" ? outcome.status : 200
        world.tell("sender", `${one.id} ${outcome.kind} ${"reason" in outcome ? outcome.reason : ""}`)
        if (status !== 200) return
        one.receipt ??= { partition: -1, offset: -1 }
        acknowledgedBy.set(one.id, process)
      },
      () => answered(status),
    )
  }

  const send = (one: Publication, done: () => void): void =>
    attempt(one, (status) => {
      if (status === 200) return done()
      if (status !== undefined && status !== 503) world.violate(`event ${one.id} was answered ${status}`)
      world.after(20 + random.below(400), () => send(one, done))
    })

  const keyCache = new Map<number, string>()
  const keyOf = (id: number): string => keyCache.getOrInsertComputed(id, () => KEY_OF(eventOf(publications.all[id]!.record.value))!)
  return trial.run()
}

const KEY_OF = parseDedupeKey(ID, PIPELINE, undefined)!
/** The other options of the sink as they are by default. */
const SINK = { cloudevents: "off", trace_headers: "off", value_format: "json" } as Parameters<typeof brokerSink.create>[0]

export const dedupe: Simulation<StorageScenario> = {
  name: "dedupe",
  scenarioOf: (seed) => scenarioOf("dedupe", seed),
  run,
}
