import { steadyMs } from "../../clock/clock.ts"
import type { EndpointOptions } from "../../addresses/endpoint.ts"
import { LeaderQueue, type LeaderQueueContext } from "./leader-queue.ts"
import { LeaderConnection, type LeaderConnectionContext, type ProduceFailure } from "./leader-connection.ts"
import { bytesOf } from "./encoded-batch.ts"
import type { Batch, Partition } from "./partition.ts"
import type { BatchAnswer } from "./produce-request.ts"
import type { ProducerId } from "./epoch-and-sequence.ts"
import { DEFAULT_REQUEST_BYTES } from "./options.ts"
import { RequestLimit } from "./request-limit.ts"
import { RoundTrips } from "./round-trips.ts"
import { DEPOSED_MS, RECONNECT_MS, SLOW_MS } from "./timeouts.ts"

export interface SenderContext extends LeaderConnectionContext, LeaderQueueContext {
  /** Bytes of all batches of a request, unless one alone is larger. Undefined: the default, and more while a leader is slow. */
  readonly maxRequestBytes: number | undefined
  readonly producerId: ProducerId
  /** A request or an attempt to connect failed: metadata is stale, and batches may have to go to other leaders. */
  readonly onFailure: () => void
}

interface Request {
  readonly batches: readonly Batch[]
  readonly sentMs: number
}

/**
 * Sends batches to one leader. One request is in flight at a time; records that arrive meanwhile go with the next: no
 * wait when idle, large batches under load. Only what does not fit into one request goes with further ones at once, up to
 * MAX_IN_FLIGHT. Each leader has its own sender, so that one that stalls delays its own partitions only.
 *
 * Batches of a failed request stay with their partitions, which send them again, here or to another leader.
 */
export class LeaderSender {
  readonly #id: number
  readonly #context: SenderContext
  readonly #connection: LeaderConnection
  readonly #roundTrips = new RoundTrips()
  readonly #limit: RequestLimit
  readonly #queue: LeaderQueue
  readonly #inFlight = new Set<Request>()
  /** The last request was full and batches are still queued. */
  #isFull = false
  /** The broker closed the connection on it. Whether because of it shows when it accepts another connection. */
  #closedOn: Request | undefined
  #isScheduled = false
  #retry: Timer | undefined
  #retryAtMs = 0
  #closed = false

  constructor(id: number, endpoint: EndpointOptions, context: SenderContext) {
    this.#id = id
    this.#context = context
    const { maxRequestBytes = DEFAULT_REQUEST_BYTES } = context
    this.#limit = new RequestLimit(maxRequestBytes, context.maxRequestBytes ?? SLOW_REQUEST_BYTES)
    this.#queue = new LeaderQueue(id, context, this.#roundTrips)
    this.#connection = new LeaderConnection(endpoint, context, this.#roundTrips, (isConnected) =>
      this.#attempted(isConnected),
    )
  }

  get leads(): boolean {
    return this.#connection.isNeeded
  }

  /** Why what it leads can't be published to; undefined while it can, or while it leads nothing. */
  get problem(): string | undefined {
    return this.#connection.problem
  }

  update(endpoint: EndpointOptions | undefined, leads: boolean, availableSinceMs: number): void {
    const nowMs = steadyMs()
    const isDeposed = this.#inFlight.values().some(({ batches, sentMs }) => {
      return nowMs - sentMs > DEPOSED_MS && batches.some(({ partition }) => partition.leader !== this.#id)
    })
    if (isDeposed) this.#connection.drop()
    this.#connection.isNeeded = leads
    this.#connection.update(endpoint, availableSinceMs)
    this.schedule()
  }

  enqueue(partition: Partition): void {
    this.#queue.add(partition)
    this.schedule()
  }

  /**
   * Sends soon: after what this turn of the event loop still brings, so that requests read together go together.
   *
   * @returns whether it will; a sender with a request in flight sends later, of its own accord
   */
  schedule(): boolean {
    if (!this.#maySend) return false
    if (!this.#isScheduled) {
      this.#isScheduled = true
      setImmediate(() => this.#send())
    }
    return this.#connection.isOpen
  }

  /** Schedules for a record without a key, unless what is sent now can't be acknowledged by its deadline. @returns as `schedule` */
  scheduleFor(deadlineMs: number): boolean {
    if (!this.#maySend) return false
    const nowMs = steadyMs()
    return nowMs + this.#roundTrips.leastMs(nowMs) <= deadlineMs && this.schedule()
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#retry)
    this.#connection.close()
  }

  get #maySend(): boolean {
    // where larger requests may bring more, that is tried first: a throttled leader would answer the last of several too late
    const most = this.#isSlow && this.#limit.grows ? 1 : MAX_IN_FLIGHT
    return this.#inFlight.size === 0 || (this.#isFull && this.#inFlight.size < most)
  }

  get #isSlow(): boolean {
    return this.#roundTrips.longestMs >= SLOW_MS
  }

  #send(): void {
    this.#isScheduled = false
    try {
      this.#sendNext()
    } catch (error) {
      const { broker } = this.#connection
      this.#context.log.error({ broker, err: error }, "unhandled error while gathering batches; retrying")
      // the next attempt may end in the same way
      this.#isScheduled = true
      const nowMs = steadyMs()
      this.#retryAt(nowMs + FAULT_PAUSE_MS, nowMs)
    }
  }

  #sendNext(): void {
    if (this.#closed || !this.#maySend || !this.leads) return
    if (!this.#connection.isOpen) return void this.#connection.open()
    const producerId = this.#context.producerId.value
    if (producerId === undefined) return
    const nowMs = steadyMs()
    const { batches, isFull, retryAtMs } = this.#queue.gather(producerId, nowMs, {
      bytes: this.#limit.next(this.#isSlow),
      batches: this.#limit.closes >= ONE_BY_ONE ? 1 : Number.POSITIVE_INFINITY,
    })
    this.#isFull = isFull
    this.#retryAt(retryAtMs, nowMs)
    if (batches.length === 0) return
    const request = { batches, sentMs: nowMs }
    this.#inFlight.add(request)
    for (const batch of batches) batch.inFlight = true
    void this.#request(request)
    if (this.#isFull) this.schedule()
  }

  async #request(request: Request): Promise<void> {
    const { batches } = request
    const result = await this.#connection.produce(batches)
    this.#inFlight.delete(request)
    try {
      const nowMs = steadyMs()
      if ("reason" in result) this.#unanswered(request, result, nowMs)
      else this.#answered(request, result, nowMs)
    } catch (error) {
      const open = batches.filter(({ inFlight }) => inFlight)
      this.#failed(error, open)
    }
    this.schedule()
  }

  #unanswered(request: Request, failure: ProduceFailure, nowMs: number): void {
    const { batches } = request
    const { reason, isClosedByBroker, isReplaced } = failure
    if (!isClosedByBroker && isReplaced !== true) this.#limit.unanswered()
    // with what is pending else: what goes after the next request waits for a whole round trip
    for (const batch of batches) batch.partition.lost(batch, nowMs, isReplaced === true ? 0 : undefined)
    // the broker was reading the first of those in flight
    if (isClosedByBroker) {
      this.#closedOn = request
      this.#connection.delay(RECONNECT_MS.first * Math.min(this.#limit.closes, MAX_PAUSES))
    }
    const line = { broker: this.#connection.broker, bytes: bytesOf(batches), reason }
    this.#context.log.debug(line, "produce request failed")
    this.#context.onFailure()
  }

  #answered(request: Request, answers: readonly BatchAnswer[], nowMs: number): void {
    const { batches, sentMs } = request
    this.#roundTrips.add(nowMs - sentMs, nowMs)
    let isFailure = false
    for (const { batch, errorCode, baseOffset } of answers) {
      if (!batch.inFlight) continue
      if (errorCode !== 0 || batch.partition.leader !== this.#id) isFailure = true
      try {
        if (errorCode === 0) this.#context.metrics.batch(batch.records.length, nowMs - sentMs)
        batch.partition.settle(batch, errorCode, baseOffset, nowMs)
      } catch (error) {
        this.#failed(error, [batch])
      }
    }
    for (const batch of batches) if (batch.inFlight) batch.partition.lost(batch, nowMs)
    const closedOnBytes = this.#limit.answered(bytesOf(batches), nowMs - sentMs)
    if (closedOnBytes !== undefined) {
      this.#context.metrics.incident("request_limit_lowered")
      const { broker } = this.#connection
      const line = { broker, closed_on_bytes: closedOnBytes, max_request_bytes: this.#limit.bytes }
      this.#context.log.warn(line, "the broker closes connections on large requests; sending smaller ones")
    }
    if (isFailure) this.#context.onFailure()
  }

  /** An error of this program: batches that it concerns are not sent again, since that could end in the same way. */
  #failed(error: unknown, batches: readonly Batch[]): void {
    const line = { broker: this.#connection.broker, batches: batches.length, err: error }
    this.#context.log.error(line, "unhandled error in the Kafka producer; events of the batches get 503")
    for (const batch of batches) batch.partition.abandon(batch, error)
  }

  #attempted(isConnected: boolean): void {
    const request = this.#closedOn
    this.#closedOn = undefined
    try {
      if (!isConnected) return this.#context.onFailure()
      if (request !== undefined) this.#blame(request)
    } catch (error) {
      this.#failed(error, request?.batches ?? [])
    }
    this.schedule()
  }

  /** The broker closed the connection on a request, and accepts another: the request may be to blame. */
  #blame({ batches }: Request): void {
    this.#limit.closed(bytesOf(batches), steadyMs())
    if (batches.length > 1) return
    const batch = batches[0]!
    batch.closes++
    if (this.#limit.allows(batch)) return
    batch.partition.cannotBeSent(batch, this.#limit.bytes)
    this.#context.onFailure()
  }

  /** Sends at this time, or before. Infinity: something else has it send. */
  #retryAt(ms: number, nowMs: number): void {
    const isDue = this.#retry !== undefined && this.#retryAtMs <= ms
    if (this.#closed || ms === Number.POSITIVE_INFINITY || isDue) return
    clearTimeout(this.#retry)
    this.#retryAtMs = ms
    this.#retry = setTimeout(() => {
      this.#retry = undefined
      this.#send()
    }, ms - nowMs)
  }
}

/** Most bytes of a request to a leader that takes SLOW_MS or more, where no limit is configured. */
const SLOW_REQUEST_BYTES = 16_777_216
/** Pause after an error of this program while batches were gathered, before the next attempt. */
const FAULT_PAUSE_MS = 1000
/** Kafka's own producers allow as many (max.in.flight.requests.per.connection). */
const MAX_IN_FLIGHT = 5
/** The pause before connecting grows with each request in a row that the connection was closed on, up to this factor. */
const MAX_PAUSES = 10
/** Requests in a row that the connection was closed on, after which each batch goes alone. */
const ONE_BY_ONE = 5
