import {
  ConfigResourceTypes,
  initProducerIdV0,
  initProducerIdV2,
  initProducerIdV4,
  metadataV12,
  metadataV5,
  metadataV7,
  metadataV9,
} from "@platformatic/kafka"
import type { Endpoint } from "../config/endpoint.ts"
import { steadyMs } from "../steady-clock.ts"
import type { Logger } from "../telemetry/log.ts"
import { BrokerPool } from "./kafka-broker-pool.ts"
import { KafkaConnection, REFUSED_RETRY_MS, type KafkaClient } from "./kafka-connection.ts"
import { AUTHENTICATION_FAILED, errorCodeOf, isOutage, partial, reasonOf } from "./kafka-failure.ts"
import { createTopics, DESCRIBE_CONFIGS } from "./kafka-topic-creation.ts"
import { CLUSTER_NOT_ALLOWED } from "./kafka-verdict.ts"

export const METADATA = [metadataV12, metadataV9, metadataV7, metadataV5]
const INIT_PRODUCER_ID = [initProducerIdV4, initProducerIdV2, initProducerIdV0]

/** What a cluster says of its brokers and of topics. */
export type Metadata = ReturnType<typeof metadataV12.parseResponse>

/** What the cluster told, and what has become of the connection to it. */
export interface ClusterListener {
  /** Topics to be told of, some at a time. */
  readonly topics: () => string[]
  /** Called with each answer. Returns in how many milliseconds to ask again. */
  readonly told: (metadata: Metadata) => number
  /** A topic was created, or why it was not. `isFinal`: another try would end in the same way. */
  readonly created: (topic: string, problem: string | undefined, isFinal: boolean) => void
}

/**
 * What is known of the cluster: asked for at start, every second, and when it has proved wrong, over connections of its
 * own, so that a leader that is busy with a batch does not hold it up. It also answers whether the cluster is there.
 */
export class Cluster {
  /** Under which the broker knows this producer; undefined until it was given one. */
  producerId: bigint | undefined
  /** When it began to answer, by the steady clock. */
  availableSinceMs = 0
  readonly #client: KafkaClient
  readonly #log: Logger
  readonly #listener: ClusterListener
  readonly #brokers: BrokerPool
  /** The one that answered last. */
  #connection: KafkaConnection | undefined
  #controller: (Endpoint & { readonly nodeId: number }) | undefined
  #id: string | undefined
  #problem: string | undefined = "Kafka is not connected yet"
  /** What the log was told since the cluster was last available: once each. */
  readonly #said = new Set<string>()
  #asking = false
  #askAgain = false
  #notBeforeMs = 0
  #timer: Timer | undefined
  #delayMs = FIRST_RETRY_MS
  readonly #toCreate = new Set<string>()
  #closed = false

  constructor(client: KafkaClient, log: Logger, listener: ClusterListener) {
    this.#client = client
    this.#brokers = new BrokerPool(client)
    this.#log = log
    this.#listener = listener
  }

  ready(): true | string {
    return this.#problem ?? true
  }

  /** Asks anew, as soon as the question under way is answered and never too often. */
  refresh(): void {
    this.#askAgain = true
    if (!this.#asking) this.#askIn(0)
  }

  /** Asks for another producer id. */
  renewProducer(reason: string): void {
    if (this.producerId !== undefined) this.#log.warn({ reason }, "requesting a new producer id")
    this.producerId = undefined
    this.refresh()
  }

  /**
   * Looks up the largest batch that topics take.
   *
   * @returns bytes, by topic; without those that this client may not know
   */
  async maxMessageBytes(topics: readonly string[]): Promise<Map<string, number>> {
    const resources = topics.map((resourceName) => ({
      resourceType: ConfigResourceTypes.TOPIC,
      resourceName,
      configurationKeys: ["max.message.bytes"],
    }))
    const limits = new Map<string, number>()
    try {
      const asked = this.#connection?.request(DESCRIBE_CONFIGS, resources, false, false)
      // one topic that this client may not know costs the others nothing
      const described = asked && (await partial(asked))
      for (const { resourceName, configs } of described?.results ?? []) {
        const bytes = Number(configs[0]?.value)
        if (bytes > 0) limits.set(resourceName, bytes)
      }
    } catch (error) {
      this.#log.debug({ topics, reason: reasonOf(error) }, "max.message.bytes lookup failed")
    }
    return limits
  }

  /** Creates a topic, once, where the cluster allows it; what is asked for together is created together. */
  create(topic: string): void {
    this.#toCreate.add(topic)
    if (this.#toCreate.size === 1) setImmediate(() => void this.#create())
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    this.#brokers.close()
  }

  async #create(): Promise<void> {
    const topics = [...this.#toCreate]
    this.#toCreate.clear()
    const controller = this.#controller
    let connection: KafkaConnection | undefined
    try {
      if (controller === undefined) throw new Error("the cluster names no controller")
      connection = await KafkaConnection.open(this.#client, controller, CREATE_MS)
      const created = await createTopics(connection, controller.nodeId, topics)
      for (const [topic, { problem, isFinal }] of created) this.#listener.created(topic, problem, isFinal)
      if (created.values().some(({ problem }) => problem === undefined)) this.refresh()
    } catch (error) {
      for (const topic of topics) this.#listener.created(topic, reasonOf(error), false)
    } finally {
      connection?.close()
    }
  }

  #askIn(ms: number): void {
    if (this.#closed) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#ask(), Math.max(ms, this.#notBeforeMs - steadyMs()))
  }

  async #ask(): Promise<void> {
    this.#asking = true
    this.#askAgain = false
    let nextMs
    try {
      nextMs = await this.#update()
    } catch (error) {
      nextMs = this.#unavailable(error)
    }
    this.#asking = false
    this.#askIn(this.#askAgain ? 0 : nextMs)
  }

  /** Takes what the cluster says now. Returns in how many milliseconds to ask again. */
  async #update(): Promise<number> {
    const topics = this.#listener.topics()
    const { answer: metadata, connection } = await this.#brokers.ask((broker) =>
      partial(broker.request(METADATA, topics, false, false)),
    )
    this.#connection = connection
    this.#controller =
      metadata.brokers.find(({ nodeId }) => nodeId === metadata.controllerId) ?? metadata.brokers[0]
    this.#brokers.know(metadata.brokers)
    if (this.#id !== undefined && this.#id !== metadata.clusterId) {
      this.#log.warn("another Kafka cluster answers at the configured addresses")
      this.producerId = undefined
    }
    this.#id = metadata.clusterId ?? undefined
    if (this.producerId === undefined) {
      const given = await connection.request(INIT_PRODUCER_ID, null, 0, -1n, -1)
      this.producerId = given.producerId
    }
    if (this.#closed) return 0
    if (this.#problem !== undefined) {
      this.#log.info("connected to Kafka")
      this.availableSinceMs = steadyMs()
    }
    this.#problem = undefined
    this.#said.clear()
    this.#delayMs = FIRST_RETRY_MS
    this.#notBeforeMs = steadyMs() + AGAIN_MS
    return this.#listener.told(metadata)
  }

  #unavailable(error: unknown): number {
    const code = errorCodeOf(error)
    const reason = code === CLUSTER_NOT_ALLOWED ? "not authorized for idempotent writes" : reasonOf(error)
    this.#problem = `Kafka is not available: ${reason}`
    const kind = isOutage(reason) ? "outage" : reason
    if (!STARTING.includes(code ?? 0) && !this.#said.has(kind) && !this.#closed) {
      this.#said.add(kind)
      this.#log.error({ reason }, "Kafka unavailable; retrying")
    }
    this.#delayMs = Math.min(this.#delayMs * 2, MAX_RETRY_MS)
    const isRefused = code === CLUSTER_NOT_ALLOWED || reason === AUTHENTICATION_FAILED
    const nextMs = isRefused ? REFUSED_RETRY_MS : this.#delayMs
    this.#notBeforeMs = steadyMs() + nextMs
    return nextMs
  }
}

/** Of a request that creates topics, and of the connection for it. */
const CREATE_MS = 6000
const FIRST_RETRY_MS = 50
const MAX_RETRY_MS = 500
/** COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE: the broker has only just started. */
const STARTING = [14, 15]
/** Between two questions, however often what is known proves wrong. */
const AGAIN_MS = 50
