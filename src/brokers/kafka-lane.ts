import { type Endpoint, formatEndpoint } from "../config/endpoint.ts"
import { steadyMs } from "../steady-clock.ts"
import type { Logger } from "../telemetry/log.ts"
import type { ConnectionMetrics } from "../telemetry/metrics.ts"
import { KafkaConnection, REFUSED_RETRY_MS, type KafkaClient } from "./kafka-connection.ts"
import { AUTHENTICATION_FAILED, isClosed, reasonOf } from "./kafka-failure.ts"
import { BELIEVED_MS, type Batch, type Partition } from "./kafka-partition.ts"
import { produce } from "./kafka-produce.ts"
import { RequestLimit } from "./kafka-request-limit.ts"
import type { Topic } from "./kafka-topic.ts"

type Responses = Awaited<ReturnType<typeof produce>>["responses"]

/** What a lane asks of the broker that it belongs to. */
export interface LaneOwner {
  readonly client: KafkaClient
  readonly log: Logger
  readonly metrics: ConnectionMetrics
  /** Bytes of all batches of a request, unless one alone is larger. */
  readonly maxRequestBytes: number
  /** A connection that was not used for so long is closed. */
  readonly maxIdleMs: number
  /** Topics for which records without a key wait. */
  readonly keyless: Set<Topic>
  /** Undefined until the cluster has given one. */
  readonly producerId: () => bigint | undefined
  /** When the cluster began to answer, by the steady clock. */
  readonly availableSinceMs: () => number
  /** What is known of the cluster has proved wrong or old. */
  readonly stale: () => void
  /** Batches or records were put back that other lanes may have to send. */
  readonly putBack: () => void
}

/** A request that is out. */
interface Request {
  readonly batches: readonly Batch[]
  readonly bytes: number
  readonly sentMs: number
}

/**
 * The way to one leader. One request is out at a time; what comes meanwhile gathers and goes with the next: no wait when
 * idle, large batches under load. Only what does not fit into one request goes with further ones at once, up to MAX_OUT.
 * Each leader has its own lane, so that one that stalls holds up its own partitions only.
 *
 * Partitions with something to send wait in line, and each goes behind the others when it had its turn: none waits for what
 * others have in large amounts, and none that is idle costs anything.
 *
 * idle --work--> (connecting -->) sending --answer--> idle. A lost connection leaves the batches that were out with their
 * partitions, which send them again, here or where the leadership has gone.
 */
export class Lane {
  readonly #id: number
  readonly #owner: LaneOwner
  readonly #limit: RequestLimit
  #endpoint: Endpoint
  /** Metadata has named another address ever since. */
  #movedSinceMs: number | undefined
  #leads = false
  /** In line, with some that have nothing to send any more. */
  readonly #line = new Set<Partition>()
  #connection: KafkaConnection | undefined
  #usedMs = 0
  #connecting = false
  /** Why it could not connect, since when, and whether the log has it. */
  #failure: { reason: string; readonly sinceMs: number; logged: boolean } | undefined
  readonly #out = new Set<Request>()
  /** The last request took no more, and there is more in line. */
  #isFull = false
  /** The broker closed the connection on it; whether for its sake, shows when another connection is opened. */
  #closedOn: Request | undefined
  /** The limit was lowered since the connection was closed on a request of this size; the log does not have it yet. */
  #loweredBelow: number | undefined
  /** Requests in a row that the connection was closed on. */
  #closes = 0
  #scheduled = false
  #retry: Timer | undefined
  #retryAtMs = 0
  #connectAtMs = 0
  #delayMs = RECONNECT_MS
  #idle: Timer | undefined
  #closed = false

  constructor(id: number, endpoint: Endpoint, owner: LaneOwner) {
    this.#id = id
    this.#endpoint = endpoint
    this.#owner = owner
    this.#limit = new RequestLimit(owner.maxRequestBytes)
  }

  /** Why what it leads can't be published to; undefined: it can, as far as is known, or it leads nothing. */
  get problem(): string | undefined {
    return this.#leads ? this.#failure?.reason : undefined
  }

  get leads(): boolean {
    return this.#leads
  }

  /** Takes what the cluster says: where the broker is, undefined if it is gone, and whether it leads partitions. */
  lead(endpoint: Endpoint | undefined, leads: boolean): void {
    const nowMs = steadyMs()
    const hasMoved = this.#hasMoved(endpoint, nowMs)
    const isDeposed = this.#out.values().some(({ batches, sentMs }) => {
      return nowMs - sentMs > DEPOSED_MS && batches.some(({ partition }) => partition.leader !== this.#id)
    })
    if (hasMoved || isDeposed) this.#drop()
    if (hasMoved) this.#endpoint = endpoint!
    this.#leads = leads
    this.#logUnreachable(endpoint)
    this.schedule()
  }

  /** Whether the broker has another address. A broker that lags behind may name an old one while this one serves. */
  #hasMoved(endpoint: Endpoint | undefined, nowMs: number): boolean {
    if (endpoint === undefined || formatEndpoint(endpoint) === formatEndpoint(this.#endpoint)) {
      this.#movedSinceMs = undefined
      return false
    }
    this.#movedSinceMs ??= nowMs
    if (this.#connection?.open === true && nowMs - this.#movedSinceMs < BELIEVED_MS) return false
    this.#movedSinceMs = undefined
    return true
  }

  /** Puts a partition in line, if it is not, and has it sent soon. */
  enqueue(partition: Partition): void {
    this.#line.add(partition)
    this.schedule()
  }

  /**
   * Sends soon: after what this turn of the event loop still brings, so that requests read together go together.
   *
   * @returns whether it will; a lane that is busy sends later, of its own accord
   */
  schedule(): boolean {
    if (!this.#mayMore) return false
    if (!this.#scheduled) {
      this.#scheduled = true
      setImmediate(() => {
        this.#scheduled = false
        this.#send()
      })
    }
    return this.#connection?.open === true
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#retry)
    clearTimeout(this.#idle)
    this.#drop()
  }

  /** Whether another request may go out. */
  get #mayMore(): boolean {
    return this.#out.size === 0 || (this.#isFull && this.#out.size < MAX_OUT)
  }

  #send(): void {
    if (this.#closed || !this.#mayMore || !this.#leads) return
    if (this.#connection?.open !== true) return void this.#connect()
    const producerId = this.#owner.producerId()
    if (producerId === undefined) return
    const nowMs = steadyMs()
    const { batches, bytes } = this.#gather(producerId, nowMs)
    if (batches.length === 0) return
    const request = { batches, bytes, sentMs: nowMs }
    this.#out.add(request)
    for (const batch of batches) batch.inFlight = true
    void this.#request(this.#connection, request, nowMs - this.#usedMs > IDLE_MS)
    if (this.#isFull) this.schedule()
  }

  /** @param mayBeDead the connection was idle for so long that the network may have forgotten it, without a word */
  async #request(connection: KafkaConnection, request: Request, mayBeDead: boolean): Promise<void> {
    const doubtMs = DOUBT_MS + request.bytes / SLOW_BYTES_PER_MS
    const doubt = mayBeDead ? setTimeout(() => this.#doubt(connection, request), doubtMs) : undefined
    let responses
    try {
      responses = (await produce(connection, request.batches)).responses
    } catch (error) {
      this.#failed(connection, request, error)
      return
    } finally {
      clearTimeout(doubt)
    }
    this.#answered(request, responses)
  }

  /** Has the request go over another connection: the broker knows its batches, should they have come twice. */
  #doubt(connection: KafkaConnection, { sentMs }: Request): void {
    if (this.#usedMs > sentMs) return
    const broker = formatEndpoint(this.#endpoint)
    this.#owner.metrics.incident("idle_connection_lost")
    this.#owner.log.warn({ broker }, "no answer on a connection that had been idle; retrying on a new one")
    connection.close()
  }

  /** One batch for each partition in line, as far as one request takes them. */
  #gather(producerId: bigint, nowMs: number): { batches: Batch[]; bytes: number } {
    const { turns, notBeforeMs } = this.#keylessTurns(nowMs)
    const alone = this.#closes >= CLOSES_ALONE
    this.#isFull = false
    const batches: Batch[] = []
    let bytes = 0
    let nextMs = notBeforeMs
    for (const partition of this.#line) {
      const takesKeyless = turns.has(partition)
      if (partition.leader !== this.#id || !(takesKeyless || partition.isBusy)) {
        this.#line.delete(partition)
      } else if (partition.notBeforeMs > nowMs) {
        nextMs = Math.min(nextMs, partition.notBeforeMs)
      } else if (partition.batch?.inFlight !== true) {
        if (batches.length > 0 && (alone || bytes + partition.nextBytes > this.#limit.bytes)) {
          this.#isFull = !alone
          break
        }
        partition.expire(nowMs)
        const batch = partition.batch ?? partition.form(producerId, takesKeyless, this.#limit.bytes - bytes)
        if (batch === undefined) continue
        if (takesKeyless) partition.topic.tookKeyless(partition)
        bytes += batch.bytes.length
        batches.push(batch)
      }
    }
    for (const { partition } of batches) {
      this.#line.delete(partition)
      this.#line.add(partition)
    }
    if (nextMs < Number.POSITIVE_INFINITY) this.#retryAt(nextMs, nowMs)
    return { batches, bytes }
  }

  /** Puts the partitions in line whose turn it is to take keyless records. */
  #keylessTurns(nowMs: number): { turns: Set<Partition>; notBeforeMs: number } {
    const { keyless } = this.#owner
    const turns = new Set<Partition>()
    let notBeforeMs = Number.POSITIVE_INFINITY
    for (const topic of keyless) {
      const partition = topic.nextForKeyless(this.#id, nowMs)
      if (topic.keyless.length === 0) keyless.delete(topic)
      else if (partition === undefined) notBeforeMs = Math.min(notBeforeMs, topic.nextTryMs(this.#id, nowMs))
      else {
        turns.add(partition)
        this.#line.add(partition)
      }
    }
    return { turns, notBeforeMs }
  }

  #answered(request: Request, responses: Responses): void {
    const nowMs = steadyMs()
    const { batches } = request
    let trouble = false
    // What a partition has by now may be another batch, which this is no answer to.
    const sent = new Map(
      batches.map((batch) => [nameOf(batch.partition.topic.name, batch.partition.index), batch]),
    )
    let hasMoved = false
    for (const { name, partitionResponses } of responses) {
      for (const { index, errorCode, baseOffset } of partitionResponses) {
        const batch = sent.get(nameOf(name, index))
        if (batch?.inFlight !== true) continue
        if (batch.partition.leader !== this.#id) hasMoved = true
        if (errorCode === 0) this.#owner.metrics.batch(batch.items.length, nowMs - request.sentMs)
        else trouble = true
        batch.partition.settle(batch, errorCode, Number(baseOffset), nowMs)
      }
    }
    for (const batch of batches) if (batch.inFlight) batch.partition.lost(batch, nowMs)
    this.#out.delete(request)
    this.#usedMs = nowMs
    this.#delayMs = RECONNECT_MS
    this.#closes = 0
    this.#limit.answered(request.bytes)
    if (request.bytes * 2 >= this.#limit.bytes) this.#logLowered()
    if (trouble) this.#owner.stale()
    if (trouble || hasMoved) this.#owner.putBack()
    this.schedule()
  }

  #failed(connection: KafkaConnection, request: Request, error: unknown): void {
    const nowMs = steadyMs()
    for (const batch of request.batches) batch.partition.lost(batch, nowMs)
    this.#out.delete(request)
    // of several that were out, the first is the one that the broker was reading
    if (isClosed(error) && !connection.isDropped) {
      this.#closedOn = request
      this.#connectAtMs = nowMs + RECONNECT_MS * Math.min(this.#closes, MOST_PAUSES)
    }
    this.#owner.log.debug(
      { broker: formatEndpoint(this.#endpoint), bytes: request.bytes, reason: reasonOf(error) },
      "a produce request failed",
    )
    this.#drop()
    this.#owner.stale()
    this.#owner.putBack()
  }

  async #connect(): Promise<void> {
    const nowMs = steadyMs()
    if (this.#connecting || this.#closed) return
    if (nowMs < this.#connectAtMs) return this.#retryAt(this.#connectAtMs, nowMs)
    this.#connecting = true
    this.#drop()
    const endpoint = formatEndpoint(this.#endpoint)
    try {
      const connection = await KafkaConnection.open(this.#owner.client, this.#endpoint, REQUEST_TIMEOUT_MS)
      if (this.#closed || endpoint !== formatEndpoint(this.#endpoint)) connection.close()
      else this.#connection = connection
      this.#usedMs = steadyMs()
      this.#watchIdle()
      if (this.#failure?.logged === true)
        this.#owner.log.info({ broker: endpoint }, "reconnected to partition leader")
      this.#failure = undefined
      this.#blame()
      this.schedule()
    } catch (error) {
      const reason = reasonOf(error)
      const failedMs = steadyMs()
      this.#failure ??= { reason, sinceMs: failedMs, logged: false }
      this.#failure.reason = reason
      this.#closedOn = undefined
      this.#owner.stale()
      this.#connectAtMs = failedMs + (reason === AUTHENTICATION_FAILED ? REFUSED_RETRY_MS : this.#delayMs)
      this.#retryAt(this.#connectAtMs, failedMs)
      this.#delayMs = Math.min(this.#delayMs * 2, MAX_RECONNECT_MS)
    } finally {
      this.#connecting = false
    }
  }

  /** The broker closed the connection on a request and is there all the same: the request may be to blame. */
  #blame(): void {
    const request = this.#closedOn
    if (request === undefined) return
    this.#closedOn = undefined
    this.#closes++
    const [batch, ...others] = request.batches
    if (this.#limit.closed(request.bytes, steadyMs())) this.#loweredBelow ??= request.bytes
    if (batch === undefined || others.length > 0 || !this.#wasClosedOn(batch)) return
    batch.partition.cannotBeSent(batch, this.#limit.bytes)
    this.#owner.putBack()
  }

  /** Logs, once a request of about the limit's size is answered, that smaller ones are sent than is configured. */
  #logLowered(): void {
    if (this.#loweredBelow === undefined) return
    const broker = formatEndpoint(this.#endpoint)
    const line = { broker, closed_on_bytes: this.#loweredBelow, max_request_bytes: this.#limit.bytes }
    this.#loweredBelow = undefined
    this.#owner.metrics.incident("request_limit_lowered")
    this.#owner.log.warn(line, "the broker closes connections on large requests; sending smaller ones")
  }

  /** @returns whether it was closed on this batch alone often enough */
  #wasClosedOn(batch: Batch): boolean {
    batch.closes++
    if (batch.bytes.length <= this.#limit.bytes) return batch.closes >= SMALL_CLOSES
    return batch.closes >= (batch.items.length === 1 ? LONE_CLOSES : LARGE_CLOSES)
  }

  /** Logs that the leader can't be reached although the cluster answers: the address it advertises may be wrong. */
  #logUnreachable(endpoint: Endpoint | undefined): void {
    const failure = this.#failure
    if (failure === undefined || failure.logged || endpoint === undefined || !this.#leads) return
    if (steadyMs() - Math.max(failure.sinceMs, this.#owner.availableSinceMs()) < UNREACHABLE_MS) return
    failure.logged = true
    const broker = formatEndpoint(endpoint)
    this.#owner.log.error({ broker, reason: failure.reason }, "partition leader unreachable; retrying")
  }

  #drop(): void {
    const connection = this.#connection
    this.#connection = undefined
    connection?.close()
  }

  /** Replaces a connection that is not used, before the network forgets it. */
  #watchIdle(): void {
    clearTimeout(this.#idle)
    if (this.#closed) return
    const leftMs = this.#usedMs + this.#owner.maxIdleMs - steadyMs()
    this.#idle = setTimeout(
      () => {
        if (this.#connection === undefined) return
        if (this.#out.size > 0 || steadyMs() - this.#usedMs < this.#owner.maxIdleMs) return this.#watchIdle()
        this.#drop()
        this.schedule()
      },
      Math.max(leftMs, IDLE_AGAIN_MS),
    )
  }

  /** Tries again at this time, or before. */
  #retryAt(ms: number, nowMs: number): void {
    if (this.#closed || (this.#retry !== undefined && this.#retryAtMs <= ms)) return
    clearTimeout(this.#retry)
    this.#retryAtMs = ms
    this.#retry = setTimeout(() => {
      this.#retry = undefined
      this.#send()
    }, ms - nowMs)
  }
}

/** Names a partition within a request. */
const nameOf = (topic: string, index: number): string => `${topic}/${index}`

/** As many requests may be out as Kafka's own producers allow (max.in.flight.requests.per.connection). */
const MAX_OUT = 5
/** Leaders answer within ACKNOWLEDGE_MS unless they or the network are gone. */
const REQUEST_TIMEOUT_MS = 10_000
const RECONNECT_MS = 50
const MAX_RECONNECT_MS = 500
/** With each request in a row that the connection was closed on, the next connection waits longer, up to so many times. */
const MOST_PAUSES = 10
/** A leader that is not reached for so long, while the cluster answers, is worth a line. */
const UNREACHABLE_MS = 2000
/** A request to a broker that no longer leads gets this long before its batches go to the new leader. */
const DEPOSED_MS = 500
/** After so long without a request, a connection that does not answer within DOUBT_MS is taken to be dead. */
const IDLE_MS = 1000
const DOUBT_MS = 1000
/** A request may take longer by what it takes on a slow line. */
const SLOW_BYTES_PER_MS = 500
/** While a request is out, it is looked again after so long whether the connection is idle. */
const IDLE_AGAIN_MS = 50
/** After so many requests in a row that the connection was closed on, each batch goes alone. */
const CLOSES_ALONE = 5
/**
 * On so many connections a batch alone is tried, when the broker closes them: one over the limit, one of a single record over
 * it, and one within it, which takes 10 s at the least.
 */
const LARGE_CLOSES = 3
const LONE_CLOSES = 6
const SMALL_CLOSES = 100
