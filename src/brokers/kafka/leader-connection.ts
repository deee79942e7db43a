import { Backoff } from "../../clock/backoff.ts"
import { steadyMs } from "../../clock/clock.ts"
import { type EndpointOptions, formatEndpoint } from "../../addresses/endpoint.ts"
import type { Logger } from "../../telemetry/log.ts"
import type { KafkaMetrics } from "../../telemetry/metrics.ts"
import { KafkaConnection, type KafkaClient } from "./connection.ts"
import { AUTHENTICATION_FAILED, brokerFailureOf, isClosed, reasonOf } from "./failure.ts"
import { ADVERTISED } from "./hints.ts"
import type { BatchAnswer } from "./produce-request.ts"
import { produce } from "./produce-request.ts"
import { bytesOf } from "./encoded-batch.ts"
import type { Batch } from "./partition.ts"
import { StaleMetadata } from "./metadata.ts"
import type { RoundTrips } from "./round-trips.ts"
import * as timeouts from "./timeouts.ts"

export interface LeaderConnectionContext {
  readonly client: KafkaClient
  readonly log: Logger
  readonly metrics: KafkaMetrics
  /** Idle time after which a connection is replaced. */
  readonly maxIdleMs: number
}

export interface ProduceFailure {
  readonly reason: string
  readonly isClosedByBroker: boolean
  /** The connection had been idle, and was replaced: that says nothing about the broker. */
  readonly isReplaced?: boolean
}

/**
 * Keeps a connection to a broker as long as it is needed: connects, with pauses after failures, replaces a connection
 * before the network forgets it, and one that gives no answer after it was idle.
 */
export class LeaderConnection {
  isNeeded = false
  readonly #context: LeaderConnectionContext
  readonly #roundTrips: RoundTrips
  readonly #onAttempt: (isConnected: boolean) => void
  #endpoint: EndpointOptions
  readonly #staleMetadata = new StaleMetadata()
  #connection: KafkaConnection | undefined
  /** The last one that gave no answer after it was idle. */
  #replaced: KafkaConnection | undefined
  #isConnecting = false
  #requests = 0
  #usedMs = 0
  /** Why it can't connect, since when, and whether that was logged. */
  #failure:
    | { reason: string; hint: string | undefined; readonly sinceMs: number; logged: boolean }
    | undefined
  #notBeforeMs = 0
  readonly #pauses = new Backoff(timeouts.RECONNECT_MS)
  #retry: Timer | undefined
  #idle: Timer | undefined
  #closed = false

  constructor(
    endpoint: EndpointOptions,
    context: LeaderConnectionContext,
    roundTrips: RoundTrips,
    onAttempt: (isConnected: boolean) => void,
  ) {
    this.#endpoint = endpoint
    this.#context = context
    this.#roundTrips = roundTrips
    this.#onAttempt = onAttempt
  }

  get isOpen(): boolean {
    return this.#connection?.open === true
  }

  get broker(): string {
    return formatEndpoint(this.#endpoint)
  }

  /** Why it can't connect although it is needed; undefined while it can. */
  get problem(): string | undefined {
    return this.isNeeded && this.#failure !== undefined
      ? `${this.#failure.reason} (${this.broker})`
      : undefined
  }

  /** Takes the broker's address from metadata; it is dropped when the broker has moved. */
  update(endpoint: EndpointOptions | undefined, availableSinceMs: number): void {
    const nowMs = steadyMs()
    const hasMoved = endpoint !== undefined && formatEndpoint(endpoint) !== this.broker
    // a broker that lags behind may name an old address while this one serves
    const isStale = this.#staleMetadata.isStale(hasMoved && this.isOpen, nowMs)
    if (hasMoved && !isStale) {
      this.drop()
      this.#endpoint = endpoint
    }
    const failure = this.#failure
    if (failure === undefined || failure.logged || endpoint === undefined || !this.isNeeded) return
    // the cluster answers, but the address that the broker advertises may be wrong
    if (nowMs - Math.max(failure.sinceMs, availableSinceMs) < timeouts.UNREACHABLE_MS) return
    failure.logged = true
    this.#context.log.error(
      { broker: formatEndpoint(endpoint), reason: failure.reason, hint: failure.hint ?? ADVERTISED },
      "partition leader unreachable; retrying",
    )
  }

  /** Connects, now or after the pause, unless it is connected or connecting. */
  async open(): Promise<void> {
    const { client, log } = this.#context
    if (this.isOpen || this.#isConnecting || this.#closed || !this.isNeeded) return
    const waitMs = this.#notBeforeMs - steadyMs()
    if (waitMs > 0) return this.#openIn(waitMs)
    this.#isConnecting = true
    const known = this.#connection
    if (known !== undefined && (await known.usable()) && known === this.#connection) {
      this.#isConnecting = false
      return this.#onAttempt(true)
    }
    this.drop()
    const { broker } = this
    try {
      const connection = await KafkaConnection.open(client, this.#endpoint, timeouts.PRODUCE_TIMEOUT_MS)
      if (this.#closed || broker !== this.broker) connection.close()
      else this.#connection = connection
      this.#usedMs = steadyMs()
      this.#watchIdle()
      if (this.#failure?.logged === true) log.info({ broker }, "reconnected to partition leader")
      this.#failure = undefined
    } catch (error) {
      const reason = reasonOf(error)
      const hint = brokerFailureOf(error)?.hint
      this.#failure = { sinceMs: steadyMs(), logged: false, ...this.#failure, reason, hint }
      const pauseMs = this.#pauses.failed()
      this.delay(reason === AUTHENTICATION_FAILED ? timeouts.UNAUTHORIZED_RETRY_MS : pauseMs)
      this.#openIn(this.#notBeforeMs - steadyMs())
    }
    this.#isConnecting = false
    this.#context.metrics.connected(this.#failure === undefined)
    this.#onAttempt(this.#failure === undefined)
  }

  delay(ms: number): void {
    this.#notBeforeMs = steadyMs() + ms
  }

  /** Sends batches, once they are compressed, over the connection, which is open; dropped when there is no answer. */
  async produce(given: readonly Batch[]): Promise<readonly BatchAnswer[] | ProduceFailure> {
    const batches = given.some(({ compressing }) => compressing) ? await this.#compressed(given) : given
    if (batches.length === 0) return []
    const connection = this.#connection
    if (connection?.open !== true) return { reason: "connection closed", isClosedByBroker: false }
    const bytes = bytesOf(batches)
    const nowMs = steadyMs()
    // the network may have forgotten a connection that was idle, without a word
    const mayBeDead = nowMs - this.#usedMs > timeouts.IDLE_MS
    const patienceMs = 2 * this.#roundTrips.longestMs
    const doubtMs = Math.max(timeouts.IDLE_ANSWER_MS, patienceMs) + bytes / timeouts.SLOW_BYTES_PER_MS
    const doubt = mayBeDead ? setTimeout(() => this.#replace(connection, nowMs), doubtMs) : undefined
    this.#requests++
    try {
      const { first, longest } = timeouts.ACKNOWLEDGE_TIMEOUT_MS
      const timeoutMs = Math.min(longest, Math.max(first, Math.ceil(patienceMs)))
      const answers = await produce(connection, batches, timeoutMs)
      this.#usedMs = steadyMs()
      this.#pauses.reset()
      return answers
    } catch (error) {
      const isClosedByBroker = isClosed(error) && !connection.isDropped
      if (connection === this.#connection) this.drop()
      return { reason: reasonOf(error), isClosedByBroker, isReplaced: connection === this.#replaced }
    } finally {
      this.#requests--
      if (doubt !== undefined) clearTimeout(doubt)
    }
  }

  /** Those that are still to be sent when all are compressed. */
  async #compressed(batches: readonly Batch[]): Promise<readonly Batch[]> {
    const results = await Promise.allSettled(batches.map(({ compressing }) => compressing))
    return batches.filter((batch, at) => {
      const result = results[at]!
      if (result.status === "fulfilled") return batch.partition.compressed(batch, steadyMs())
      this.#context.log.error({ err: result.reason }, "batch can't be compressed; its events get 503")
      batch.partition.abandon(batch, result.reason)
      return false
    })
  }

  /** Drops the connection; open requests fail. */
  drop(): void {
    const connection = this.#connection
    this.#connection = undefined
    connection?.close()
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#retry)
    clearTimeout(this.#idle)
    this.drop()
  }

  /** The broker knows the batches of the request, should they come twice. */
  #replace(connection: KafkaConnection, sentMs: number): void {
    if (this.#usedMs > sentMs) return
    this.#context.metrics.incident("idle_connection_lost")
    this.#context.log.warn(
      { broker: this.broker },
      "no answer on a connection that had been idle; retrying on a new one",
    )
    this.#replaced = connection
    connection.close()
  }

  #openIn(ms: number): void {
    if (this.#closed || this.#retry !== undefined) return
    this.#retry = setTimeout(() => {
      this.#retry = undefined
      void this.open()
    }, ms)
  }

  /** Replaces a connection that is not used, before the network forgets it. */
  #watchIdle(): void {
    const { maxIdleMs } = this.#context
    clearTimeout(this.#idle)
    if (this.#closed) return
    const check = (): void => {
      if (this.#connection === undefined) return
      if (this.#requests > 0 || steadyMs() - this.#usedMs < maxIdleMs) return this.#watchIdle()
      this.drop()
      void this.open()
    }
    const leftMs = this.#usedMs + maxIdleMs - steadyMs()
    this.#idle = setTimeout(check, Math.max(leftMs, timeouts.IDLE_CHECK_MS))
  }
}
