import { steadyMs } from "../../clock/clock.ts"
import type { EndpointOptions } from "../../config/sections/endpoint.ts"
import { LeaderConnection, type LeaderConnectionContext, type ProduceFailure } from "./leader-connection.ts"
import { bytesOf } from "./encoded-batch.ts"
import type { BatchLimits } from "./accumulator.ts"
import type { Batch, Partition } from "./partition.ts"
import type { BatchAnswer } from "./produce-request.ts"
import type { ProducerId } from "./epoch-and-sequence.ts"
import { DEFAULT_REQUEST_BYTES } from "./options.ts"
import { RequestLimit } from "./request-limit.ts"
import { RoundTrips } from "./round-trips.ts"
import { DEPOSED_MS, RECONNECT_MS, SLOW_MS } from "./timeouts.ts"
import type { Topic } from "./topic.ts"

export interface SenderContext extends LeaderConnectionContext {
  /** Bytes of all batches of a request, unless one alone is larger. Undefined: the default, and more while a leader is slow. */
  readonly maxRequestBytes: number | undefined
  /** Topics with pending records without a key. */
  readonly unkeyed: Set<Topic>
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
 * A partition that has sent moves to the end of the queue, so a large backlog never starves the others. Idle partitions are
 * not in the queue. Batches of a failed request stay with their partitions, which send them again, here or to another leader.
 */
export class LeaderSender {
  readonly #id: number
  readonly #context: SenderContext
  readonly #connection: LeaderConnection
  readonly #roundTrips = new RoundTrips()
  readonly #limit: RequestLimit
  /** Partitions in turn, with some that have nothing to send any more. */
  readonly #queue = new Set<Partition>()
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

  close(): void {
    this.#closed = true
    clearTimeout(this.#retry)
    this.#connection.close()
  }

  get #maySend(): boolean {
    return this.#inFlight.size === 0 || (this.#isFull && this.#inFlight.size < MAX_IN_FLIGHT)
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
    const request = this.#gather(producerId, steadyMs())
    if (request.batches.length === 0) return
    this.#inFlight.add(request)
    for (const batch of request.batches) batch.inFlight = true
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

  #unanswered(request: Request, { reason, isClosedByBroker }: ProduceFailure, nowMs: number): void {
    const { batches } = request
    for (const batch of batches) batch.partition.lost(batch, nowMs)
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
    const closedOnBytes = this.#limit.answered(bytesOf(batches))
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

  /** Collects at most one batch per queued partition, up to the request's size limit. */
  #gather(producerId: bigint, nowMs: number): Request {
    const turns = this.#placeUnkeyed(nowMs)
    const isOneByOne = this.#limit.closes >= ONE_BY_ONE
    const batches: Batch[] = []
    let freeBytes = this.#limit.next(this.#roundTrips.longestMs >= SLOW_MS)
    this.#isFull = false
    for (const partition of this.#queue) {
      const topic = turns.get(partition)
      // the first batch of a request may be larger than all of it
      const isOver = batches.length > 0 && partition.nextBytes > freeBytes
      const limits = { bytes: freeBytes, nowMs, roundTrips: this.#roundTrips }
      const offer = this.#offer(partition, topic, producerId, isOver, limits)
      if (offer === "later") continue
      if (offer === "gone") this.#queue.delete(partition)
      else if (offer === "full") this.#isFull = true
      else {
        batches.push(offer)
        freeBytes -= offer.bytes.length
        if (topic !== undefined) this.#placeRest(topic, turns, nowMs)
      }
      if (this.#isFull || (isOneByOne && batches.length > 0)) break
    }
    for (const { partition } of batches) {
      this.#queue.delete(partition)
      this.#queue.add(partition)
    }
    return { batches, sentMs: nowMs }
  }

  /** The next batch of a partition. @param topic set where it is its turn to take records without a key */
  #offer(
    partition: Partition,
    topic: Topic | undefined,
    producerId: bigint,
    isOver: boolean,
    limits: Omit<BatchLimits, "records">,
  ): Batch | "gone" | "later" | "full" {
    const { nowMs } = limits
    if (partition.leader !== this.#id || (topic === undefined && !partition.isBusy)) return "gone"
    if (partition.notBeforeMs > nowMs) this.#retryAt(partition.notBeforeMs, nowMs)
    if (partition.notBeforeMs > nowMs || partition.batch?.inFlight === true) return "later"
    if (isOver) return "full"
    partition.expire(nowMs)
    if (partition.batch !== undefined) this.#context.metrics.retried()
    const batch = partition.batch ?? partition.formBatch(producerId, topic !== undefined, limits)
    if (batch === undefined) return "later"
    topic?.tookUnkeyed(partition)
    return batch
  }

  /** Queues a further partition for records without a key that did not fit into the batch of the one before. */
  #placeRest(topic: Topic, turns: Map<Partition, Topic>, nowMs: number): void {
    const next = topic.place(this.#id, nowMs)
    if (next === undefined || typeof next === "number") return
    turns.set(next, topic)
    this.#queue.delete(next)
    this.#queue.add(next)
  }

  /** Queues the partitions whose turn it is to take records without a key. */
  #placeUnkeyed(nowMs: number): Map<Partition, Topic> {
    const { unkeyed } = this.#context
    const turns = new Map<Partition, Topic>()
    for (const topic of unkeyed) {
      const next = topic.place(this.#id, nowMs)
      if (next === undefined) unkeyed.delete(topic)
      else if (typeof next === "number") this.#retryAt(next, nowMs)
      else {
        turns.set(next, topic)
        this.#queue.add(next)
      }
    }
    return turns
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
