import type { Random } from "../../support/random.ts"
import type { World } from "../world.ts"
import { ModelBroker } from "./broker.ts"
import { Controller } from "./controller.ts"
import type { Server } from "./network.ts"
import type { ClusterModel, ClusterSettings } from "./model.ts"

/** Brokers, their controller, and what is between them. */
export class Cluster implements ClusterModel {
  readonly brokers = new Map<number, ModelBroker>()
  readonly controller: Controller
  readonly settings: ClusterSettings
  onCommitted: ClusterModel["onCommitted"] = () => {}
  onRefused: ClusterModel["onRefused"] = () => {}
  faultyAnswer: ClusterModel["faultyAnswer"]
  faultyMetadata: ClusterModel["faultyMetadata"]
  /** Added to what goes between brokers, in milliseconds. */
  slowPeersMs = 0
  readonly #world: World
  readonly #random: Random
  /** When each broker was last heard of. */
  readonly #heardMs = new Map<number, number>()
  #producerIds = 1000
  #isStopped = false

  constructor(world: World, settings: ClusterSettings) {
    this.#world = world
    this.#random = world.randomOf("cluster")
    this.settings = settings
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

  peerDelayMs(): number {
    return 0.2 + this.#random.next() + this.slowPeersMs
  }

  /** Nothing happens in it any more. */
  stop(): void {
    this.#isStopped = true
    for (const broker of this.brokers.values()) broker.crash()
  }

  /** Producers have been idle for long. */
  forgetProducers(): void {
    this.#world.tell("cluster", "forgets idle producers")
    for (const { replicas } of this.brokers.values())
      for (const { log } of replicas.values()) log.forgetProducers()
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
      broker.late = undefined
      broker.start()
    }
  }

  #tellAll(): void {
    for (const broker of this.brokers.values())
      this.#tell(broker, broker.metadataDelayMs + this.peerDelayMs())
  }

  #tell(broker: ModelBroker, ms: number): void {
    const { image } = this.controller
    broker.process?.run(() => {
      if (!broker.isCutOff) broker.learn(image)
    }, ms)
  }

  #heartbeats(): void {
    if (this.#isStopped) return
    for (const [id, broker] of this.brokers) {
      if (broker.isHeard) {
        this.#heardMs.set(id, this.#world.nowMs)
        // what it was told while it was cut off, or down
        if (broker.image.version < this.controller.image.version && broker.metadataDelayMs === 0)
          this.#tell(broker, 0)
        this.controller.unfence(id)
      } else if (this.#world.nowMs - (this.#heardMs.get(id) ?? 0) > this.settings.sessionMs)
        this.controller.fence(id)
    }
    this.#world.after(HEARTBEAT_MS, () => this.#heartbeats())
  }
}

const HEARTBEAT_MS = 100
