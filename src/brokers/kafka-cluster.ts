import {
  ConfigResourceTypes,
  describeConfigsV1,
  describeConfigsV4,
  initProducerIdV0,
  initProducerIdV2,
  initProducerIdV4,
  metadataV12,
  metadataV5,
  metadataV7,
  metadataV9,
} from "@platformatic/kafka"
import { type Endpoint, formatEndpoint } from "../config/endpoint.ts"
import type { Logger } from "../telemetry/log.ts"
import { openToAny, type KafkaClient, type KafkaConnection } from "./kafka-connection.ts"
import { errorCodeOf, partial, reasonOf } from "./kafka-failure.ts"
import { CLUSTER_NOT_ALLOWED } from "./kafka-verdict.ts"

export const METADATA = [metadataV12, metadataV9, metadataV7, metadataV5]
const INIT_PRODUCER_ID = [initProducerIdV4, initProducerIdV2, initProducerIdV0]
const DESCRIBE_CONFIGS = [describeConfigsV4, describeConfigsV1]

/** What a cluster says of its brokers and of topics. */
export type Metadata = ReturnType<typeof metadataV12.parseResponse>

/** What the cluster told, and what has become of the connection to it. */
export interface ClusterListener {
  /** Topics to be told of. */
  readonly topics: () => string[]
  /** Called with each answer. Returns in how many milliseconds to ask again. */
  readonly told: (metadata: Metadata) => number
}

/**
 * What is known of the cluster: asked for at start, every two seconds, and when it has proved wrong, over a connection of
 * its own, so that a leader that is busy with a batch does not hold it up. It also answers whether the cluster is there.
 */
export class Cluster {
  producerId: bigint | undefined
  readonly #client: KafkaClient
  readonly #log: Logger
  readonly #listener: ClusterListener
  #known: readonly Endpoint[] = []
  #connection: KafkaConnection | undefined
  #id: string | undefined
  #problem: string | undefined = "not connected yet"
  #asking = false
  #askAgain = false
  #timer: Timer | undefined
  #delayMs = FIRST_RETRY_MS
  #closed = false

  constructor(client: KafkaClient, log: Logger, listener: ClusterListener) {
    this.#client = client
    this.#log = log
    this.#listener = listener
  }

  ready(): true | string {
    return this.#problem ?? true
  }

  /** Asks anew, now or as soon as the question under way is answered. */
  refresh(): void {
    if (this.#closed) return
    if (this.#asking) {
      this.#askAgain = true
      return
    }
    clearTimeout(this.#timer)
    this.#asking = true
    this.#askAgain = false
    this.#ask().then(
      (nextMs) => this.#asked(nextMs),
      (error: unknown) => this.#asked(this.#unreachable(error)),
    )
  }

  /** Asks for another producer id; the one in use stays until then. */
  async renewProducer(): Promise<void> {
    this.producerId = undefined
    this.refresh()
  }

  /**
   * Looks up the largest batch that a topic takes.
   *
   * @returns bytes; undefined when this client may not know
   */
  async maxMessageBytes(topic: string): Promise<number | undefined> {
    const connection = this.#connection
    if (connection === undefined) return undefined
    const resource = {
      resourceType: ConfigResourceTypes.TOPIC,
      resourceName: topic,
      configurationKeys: ["max.message.bytes"],
    }
    try {
      const { results } = await connection.request(DESCRIBE_CONFIGS, [resource])
      const bytes = Number(results[0]?.configs[0]?.value)
      return bytes > 0 ? bytes : undefined
    } catch (error) {
      this.#log.debug({ topic, reason: reasonOf(error) }, "the topic's max.message.bytes can't be looked up")
      return undefined
    }
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    this.#connection?.close()
  }

  async #ask(): Promise<number> {
    const connection = await this.#connect()
    const metadata = await partial(connection.request(METADATA, this.#listener.topics(), true, false))
    this.#known = metadata.brokers.map(({ host, port }) => ({ host, port }))
    if (this.#id !== undefined && this.#id !== metadata.clusterId) {
      this.#log.warn("another Kafka cluster answers at the configured addresses")
      this.producerId = undefined
    }
    this.#id = metadata.clusterId ?? undefined
    this.producerId ??= (await connection.request(INIT_PRODUCER_ID, null, 0, -1n, -1)).producerId
    if (this.#closed) return 0
    if (this.#problem !== undefined) this.#log.info("connected to Kafka")
    this.#problem = undefined
    this.#delayMs = FIRST_RETRY_MS
    return this.#listener.told(metadata)
  }

  async #connect(): Promise<KafkaConnection> {
    if (this.#connection?.open !== true) {
      const others = this.#known.filter((known) => !this.#client.bootstrap.some((one) => isSame(one, known)))
      this.#connection = await openToAny(this.#client, [...this.#client.bootstrap, ...others], ANSWER_MS)
    }
    return this.#connection
  }

  #unreachable(error: unknown): number {
    this.#connection?.close()
    this.#connection = undefined
    if (this.#closed) return 0
    const notAllowed = errorCodeOf(error) === CLUSTER_NOT_ALLOWED
    const reason = notAllowed ? "not authorized for idempotent writes" : reasonOf(error)
    const problem = `Kafka is not available: ${reason}`
    if (this.#problem !== problem) this.#log.error({ reason }, "Kafka is not available; connecting goes on")
    this.#problem = problem
    this.#delayMs = Math.min(this.#delayMs * 2, MAX_RETRY_MS)
    return reason === "authentication failed" || notAllowed ? REFUSED_RETRY_MS : this.#delayMs
  }

  #asked(nextMs: number): void {
    this.#asking = false
    if (this.#closed) this.#connection?.close()
    else this.#timer = setTimeout(() => this.refresh(), this.#askAgain ? AGAIN_MS : nextMs)
  }
}

const isSame = (one: Endpoint, other: Endpoint): boolean => formatEndpoint(one) === formatEndpoint(other)

/** A broker that does not answer for so long is taken to be gone. */
const ANSWER_MS = 2000
const FIRST_RETRY_MS = 50
const MAX_RETRY_MS = 500
/** Wrong credentials may be locked out when they come too often. */
const REFUSED_RETRY_MS = 5000
/** Between two questions, however often what is known proves wrong. */
const AGAIN_MS = 50
