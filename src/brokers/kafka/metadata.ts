import { ERROR } from "../../kafka-protocol/error-codes.ts"
import {
  initProducerIdV0,
  initProducerIdV2,
  initProducerIdV4,
  metadataV12,
  metadataV5,
  metadataV7,
  metadataV9,
} from "./client-library.ts"
import { Backoff } from "../../clock/backoff.ts"
import { steadyMs } from "../../clock/clock.ts"
import type { EndpointOptions } from "../../addresses/endpoint.ts"
import type { Logger } from "../../telemetry/log.ts"
import type { KafkaMetrics } from "../../telemetry/metrics.ts"
import { BrokerPool } from "./broker-pool.ts"
import { KafkaConnection, type KafkaClient } from "./connection.ts"
import {
  AUTHENTICATION_FAILED,
  brokerFailureOf,
  errorCodeOf,
  explain,
  isOutage,
  partial,
  reasonOf,
} from "./failure.ts"
import { ProducerId } from "./epoch-and-sequence.ts"
import * as timeouts from "./timeouts.ts"
import { configOf, createTopics, type Creation } from "./topic-creation.ts"

export const METADATA = [metadataV12, metadataV9, metadataV7, metadataV5]
const INIT_PRODUCER_ID = [initProducerIdV4, initProducerIdV2, initProducerIdV0]

/** What a cluster says of its brokers and of topics. */
export type Metadata = ReturnType<typeof metadataV12.parseResponse>
export type TopicMetadata = Metadata["topics"][number]

/** The id of a topic; undefined: the brokers give none, as before Kafka 2.8. */
export const topicIdOf = ({ topicId }: TopicMetadata): string | undefined =>
  topicId === "00000000-0000-0000-0000-000000000000" ? undefined : topicId

/**
 * Asks the cluster about itself again and again, over connections of its own, so that a leader that is busy with a batch
 * does not delay it. It also knows whether the cluster is available.
 */
export class ClusterMetadata {
  readonly producerId: ProducerId
  /** When it became available, by the steady clock. */
  availableSinceMs = 0
  readonly #client: KafkaClient
  readonly #log: Logger
  readonly #toLookUp: () => string[]
  readonly #apply: (metadata: Metadata) => number
  readonly #brokers: BrokerPool
  /** The one that answered last. */
  #connection: KafkaConnection | undefined
  #controller: (EndpointOptions & { readonly nodeId: number }) | undefined
  #clusterId: string | undefined
  #problem: string | undefined = "Kafka is not connected yet"
  /** An error of this program in the last refresh. */
  #fault: string | undefined
  /** Reasons logged since the cluster was last available: once each. */
  readonly #logged = new Set<string>()
  readonly #retries = new Backoff(timeouts.METADATA_RETRY_MS)
  /** Least pause from the end of a refresh to the next one. */
  #pauseMs = 0
  #isRefreshing = false
  #isRequested = false
  #notBeforeMs = 0
  #timer: Timer | undefined
  #closed = false

  /**
   * @param toLookUp names the topics of the next request
   * @param apply takes an answer; returns in how many milliseconds to ask again
   */
  constructor(
    client: KafkaClient,
    log: Logger,
    metrics: KafkaMetrics,
    toLookUp: () => string[],
    apply: (metadata: Metadata) => number,
  ) {
    this.#client = client
    this.#log = log
    this.#toLookUp = toLookUp
    this.#apply = apply
    this.#brokers = new BrokerPool(client)
    this.producerId = new ProducerId(log, metrics, () => this.refresh())
  }

  ready(): true | string {
    return this.#problem ?? this.#fault ?? true
  }

  refresh(): void {
    this.#isRequested = true
    if (!this.#isRefreshing) this.#refreshIn(0)
  }

  /** max.message.bytes by topic, without those that this client is not authorized to describe. */
  async maxMessageBytes(topics: readonly string[]): Promise<Map<string, number>> {
    if (this.#connection === undefined) return new Map()
    try {
      const values = await configOf(this.#connection, "TOPIC", topics, "max.message.bytes")
      const limits = [...values].map(([topic, value]) => [topic, Number(value)] as const)
      return new Map(limits.filter(([, bytes]) => bytes > 0))
    } catch (error) {
      this.#log.debug({ topics, reason: reasonOf(error) }, "max.message.bytes lookup failed")
      return new Map()
    }
  }

  async createTopics(topics: readonly string[]): Promise<ReadonlyMap<string, Creation>> {
    let connection: KafkaConnection | undefined
    try {
      const controller = this.#controller
      if (controller === undefined) throw new Error("the cluster has no controller")
      connection = await KafkaConnection.open(this.#client, controller, timeouts.CREATE_TIMEOUT_MS.request)
      return await createTopics(connection, controller.nodeId, topics)
    } catch (error) {
      return new Map(topics.map((topic) => [topic, { problem: explain(error), isFinal: false }]))
    } finally {
      connection?.close()
    }
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    this.#brokers.close()
  }

  #refreshIn(ms: number): void {
    if (this.#closed) return
    clearTimeout(this.#timer)
    const waitMs = Math.max(ms, this.#notBeforeMs - steadyMs())
    this.#timer = setTimeout(() => void this.#refresh(), waitMs)
  }

  async #refresh(): Promise<void> {
    this.#isRefreshing = true
    this.#isRequested = false
    let nextMs = 0
    try {
      const metadata = await this.#fetch(this.#toLookUp())
      if (metadata !== undefined && !this.#closed) {
        nextMs = this.#apply(metadata)
        this.#fault = undefined
        this.#retries.reset()
      }
    } catch (error) {
      this.#failed(error)
    }
    this.#isRefreshing = false
    this.#notBeforeMs = steadyMs() + this.#pauseMs
    this.#refreshIn(this.#isRequested ? 0 : nextMs)
  }

  /** @returns undefined: the cluster is unavailable */
  async #fetch(topics: string[]): Promise<Metadata | undefined> {
    try {
      const { answer, connection } = await this.#brokers.ask((broker) =>
        partial(broker.request(METADATA, topics, false, false)),
      )
      await this.#update(answer, connection)
      return answer
    } catch (error) {
      this.#unavailable(error)
      return undefined
    }
  }

  async #update(metadata: Metadata, connection: KafkaConnection): Promise<void> {
    const { brokers, clusterId, controllerId } = metadata
    this.#connection = connection
    this.#controller = brokers.find(({ nodeId }) => nodeId === controllerId) ?? brokers[0]
    this.#brokers.know(brokers)
    if (this.#clusterId !== undefined && this.#clusterId !== clusterId) {
      this.#log.warn("another Kafka cluster answers at the configured addresses")
      this.producerId.value = undefined
    }
    this.#clusterId = clusterId ?? undefined
    this.producerId.value ??= (await connection.request(INIT_PRODUCER_ID, null, 0, -1n, -1)).producerId
    if (this.#problem !== undefined && !this.#closed) {
      this.#log.info("connected to Kafka")
      this.availableSinceMs = steadyMs()
    }
    this.#problem = undefined
    this.#logged.clear()
    this.#pauseMs = timeouts.REFRESH_MS.least
  }

  #unavailable(error: unknown): void {
    const code = errorCodeOf(error)
    const isForbidden = code === ERROR.CLUSTER_AUTHORIZATION_FAILED
    const reason = isForbidden ? "not authorized for idempotent writes" : reasonOf(error)
    this.#problem = `Kafka unavailable: ${isForbidden ? reason : explain(error)}`
    const kind = isOutage(reason) ? "outage" : reason
    if (!STARTING.includes(code ?? 0) && !this.#logged.has(kind) && !this.#closed) {
      this.#logged.add(kind)
      const { broker, hint } = brokerFailureOf(error) ?? {}
      this.#log.error({ reason, broker, hint }, "Kafka unavailable; retrying")
    }
    this.#pauseMs = this.#retries.failed()
    const isUnauthorized = isForbidden || reason === AUTHENTICATION_FAILED
    if (isUnauthorized) this.#pauseMs = timeouts.UNAUTHORIZED_RETRY_MS
  }

  /** Metadata was not applied, because of an error of this program. Each is logged once, until one is applied. */
  #failed(error: unknown): void {
    const fault = `metadata not applied: ${String(error)}`
    if (this.#fault !== fault)
      this.#log.error({ err: error }, "unhandled error while applying metadata; retrying")
    this.#fault = fault
    this.#pauseMs = this.#retries.failed()
  }
}

/** COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE: the broker has only just started. */
const STARTING = [14, 15]

/**
 * Recognizes metadata of a broker that lags behind the others: what contradicts newer metadata is stale, unless nothing
 * else arrives for STALE_METADATA_MS.
 */
export class StaleMetadata {
  #sinceMs: number | undefined

  /** @param contradicts whether the metadata seems older than what is known */
  isStale(contradicts: boolean, nowMs: number): boolean {
    if (contradicts) {
      this.#sinceMs ??= nowMs
      if (nowMs - this.#sinceMs < timeouts.STALE_METADATA_MS) return true
    }
    this.#sinceMs = undefined
    return false
  }
}
