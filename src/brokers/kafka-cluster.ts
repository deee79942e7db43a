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
import { steadyMs } from "../steady-clock.ts"
import type { Logger } from "../telemetry/log.ts"
import { openToAny, REFUSED_RETRY_MS, type KafkaClient, type KafkaConnection } from "./kafka-connection.ts"
import { AUTHENTICATION_FAILED, errorCodeOf, isOutage, partial, reasonOf } from "./kafka-failure.ts"
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
 * What is known of the cluster: asked for at start, every second, and when it has proved wrong, over a connection of its
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
  /** Brokers to ask, in the order in which they are tried. */
  #endpoints: readonly Endpoint[]
  #connection: KafkaConnection | undefined
  #id: string | undefined
  #problem: string | undefined = "Kafka is not connected yet"
  /** What the log was told since the cluster was last available: once each. */
  readonly #said = new Set<string>()
  #asking = false
  #askAgain = false
  #notBeforeMs = 0
  #timer: Timer | undefined
  #delayMs = FIRST_RETRY_MS
  #closed = false

  constructor(client: KafkaClient, log: Logger, listener: ClusterListener) {
    this.#client = client
    this.#endpoints = client.bootstrap
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
  renewProducer(): void {
    this.producerId = undefined
    this.refresh()
  }

  /**
   * Looks up the largest batch that a topic takes.
   *
   * @returns bytes; undefined when this client may not know or the cluster does not answer
   */
  async maxMessageBytes(topic: string): Promise<number | undefined> {
    const resource = {
      resourceType: ConfigResourceTypes.TOPIC,
      resourceName: topic,
      configurationKeys: ["max.message.bytes"],
    }
    try {
      const described = await this.#connection?.request(DESCRIBE_CONFIGS, [resource])
      const bytes = Number(described?.results[0]?.configs[0]?.value)
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
    if (this.#closed) this.#connection?.close()
    this.#askIn(this.#askAgain ? 0 : nextMs)
  }

  /** Takes what the cluster says now. Returns in how many milliseconds to ask again. */
  async #update(): Promise<number> {
    const metadata = await this.#metadata()
    this.#endpoints = distinct([...this.#client.bootstrap, ...metadata.brokers])
    if (this.#id !== undefined && this.#id !== metadata.clusterId) {
      this.#log.warn("another Kafka cluster answers at the configured addresses")
      this.producerId = undefined
    }
    this.#id = metadata.clusterId ?? undefined
    if (this.producerId === undefined) {
      const given = await this.#connection?.request(INIT_PRODUCER_ID, null, 0, -1n, -1)
      this.producerId = given?.producerId
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

  /** Asks the broker that was asked last, or else the first that answers. */
  async #metadata(): Promise<Metadata> {
    const last = this.#connection
    if (last?.open === true) {
      try {
        return await this.#metadataFrom(last)
      } catch (error) {
        this.#endpoints = [...this.#endpoints.filter((one) => !isSame(one, last.endpoint)), last.endpoint]
        if (this.#endpoints.length === 1) throw error
      }
    }
    last?.close()
    this.#connection = await openToAny(this.#client, this.#endpoints, ANSWER_MS)
    return this.#metadataFrom(this.#connection)
  }

  #metadataFrom(connection: KafkaConnection): Promise<Metadata> {
    return partial(connection.request(METADATA, this.#listener.topics(), true, false))
  }

  #unavailable(error: unknown): number {
    const code = errorCodeOf(error)
    const reason = code === CLUSTER_NOT_ALLOWED ? "not authorized for idempotent writes" : reasonOf(error)
    this.#problem = `Kafka is not available: ${reason}`
    const kind = isOutage(reason) ? "outage" : reason
    if (!STARTING.includes(code ?? 0) && !this.#said.has(kind) && !this.#closed) {
      this.#said.add(kind)
      this.#log.error({ reason }, "Kafka is not available; connecting goes on")
    }
    this.#delayMs = Math.min(this.#delayMs * 2, MAX_RETRY_MS)
    const isRefused = code === CLUSTER_NOT_ALLOWED || reason === AUTHENTICATION_FAILED
    const nextMs = isRefused ? REFUSED_RETRY_MS : this.#delayMs
    this.#notBeforeMs = steadyMs() + nextMs
    return nextMs
  }
}

const isSame = (one: Endpoint, other: Endpoint): boolean => formatEndpoint(one) === formatEndpoint(other)

function distinct(endpoints: readonly Endpoint[]): Endpoint[] {
  return endpoints
    .filter((endpoint, at) => endpoints.findIndex((other) => isSame(endpoint, other)) === at)
    .map(({ host, port }) => ({ host, port }))
}

/** A broker that does not answer for so long is taken to be gone. */
const ANSWER_MS = 2000
const FIRST_RETRY_MS = 50
const MAX_RETRY_MS = 500
/** COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE: the broker has only just started. */
const STARTING = [14, 15]
/** Between two questions, however often what is known proves wrong. */
const AGAIN_MS = 50
