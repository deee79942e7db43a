import type { Random } from "../../support/random.ts"
import type { World } from "../world.ts"
import { ModelBroker } from "./broker.ts"
import { Controller, type TopicState } from "./controller.ts"
import type { Server } from "./network.ts"
import type { Entry } from "./replica-log.ts"
import type { Release } from "./releases.ts"

export interface ClusterSettings {
  readonly brokers: number
  readonly release: Release
  readonly minInsyncReplicas: number
  readonly defaultPartitions: number
  readonly autoCreate: boolean
  /** max.message.bytes of all topics. */
  readonly maxMessageBytes: number
  /** socket.request.max.bytes: the connection is closed on a larger request. */
  readonly maxRequestBytes: number
  /** replica.lag.time.max.ms */
  readonly replicaLagMs: number
  /** Without a heartbeat for so long a broker is fenced. */
  readonly sessionMs: number
}

/** Brokers, their controller, and what is between them. */
export class Cluster {
  readonly brokers = new Map<number, ModelBroker>()
  readonly controller: Controller
  readonly settings: ClusterSettings & { readonly isStrict: boolean }
  /** Called with what all in-sync replicas have, in the order of offsets; with some of it again after a leader changed. */
  onCommitted: (topic: TopicState, index: number, entries: readonly Entry[]) => void = () => {}
  /** Gives the answer to a batch of a produce request in the place of the broker's; see faulty-answers.ts. */
  faultyAnswer: ((broker: ModelBroker, topic: string) => { errorCode: number; isAppended: boolean } | undefined) | undefined
  /** The error code of a topic in the place of its metadata. */
  faultyMetadata: ((broker: ModelBroker, topic: string) => number | undefined) | undefined
  /** Added to what goes between brokers, in milliseconds. */
  slowPeersMs = 0
  readonly #world: World
  readonly #random: Random
  /** When each broker was last heard of. */
  readonly #heardMs = new Map<number, number>()
  #producerIds = 1000

  constructor(world: World, settings: ClusterSettings) {
    this.#world = world
    this.#random = world.randomOf("cluster")
    this.settings = { ...settings, isStrict: settings.release.isStrict }
    const ids = Array.from({ length: settings.brokers }, (_, at) => at + 1)
    this.controller = new Controller(world, ids, () => this.#tellAll())
    for (const id of ids) {
      const broker = new ModelBroker(this, world, id)
      this.brokers.set(id, broker)
      broker.start()
      this.controller.unfence(id)
    }
    this.#heartbeats()
  }

  /** By address. */
  get servers(): Map<string, Server> {
    return new Map([...this.brokers.values()].map((broker) => [`${broker.host}:${broker.port}`, broker]))
  }

  newProducerId(): number {
    return this.#producerIds++
  }

  /** How long something takes from one broker to another. */
  peerDelayMs(): number {
    return 0.2 + this.#random.next() + this.slowPeersMs
  }

  heal(): void {
    this.slowPeersMs = 0
    this.faultyAnswer = undefined
    this.faultyMetadata = undefined
    for (const broker of this.brokers.values()) {
      broker.isCutOff = false
      broker.metadataDelayMs = 0
      broker.throttleMs = 0
      broker.unanswered = 0
      broker.start()
    }
  }

  #tellAll(): void {
    for (const broker of this.brokers.values()) this.#tell(broker, broker.metadataDelayMs + this.peerDelayMs())
  }

  #tell(broker: ModelBroker, ms: number): void {
    const { image } = this.controller
    broker.process?.run(() => {
      if (!broker.isCutOff) broker.learn(image)
    }, ms)
  }

  #heartbeats(): void {
    for (const [id, broker] of this.brokers) {
      if (broker.isHeard) {
        this.#heardMs.set(id, this.#world.nowMs)
        // what it was told while it was cut off, or down
        if (broker.image.version < this.controller.image.version && broker.metadataDelayMs === 0) this.#tell(broker, 0)
        this.controller.unfence(id)
      } else if (this.#world.nowMs - (this.#heardMs.get(id) ?? 0) > this.settings.sessionMs) this.controller.fence(id)
    }
    this.#world.after(HEARTBEAT_MS, () => this.#heartbeats())
  }
}

const HEARTBEAT_MS = 100
