import { type Endpoint, formatEndpoint } from "../config/endpoint.ts"
import { steadyMs } from "../steady-clock.ts"
import type { Logger } from "../telemetry/log.ts"
import type { ConnectionMetrics } from "../telemetry/metrics.ts"
import { KafkaConnection, REFUSED_RETRY_MS, type KafkaClient } from "./kafka-connection.ts"
import { AUTHENTICATION_FAILED, reasonOf } from "./kafka-failure.ts"
import type { Batch, Partition } from "./kafka-partition.ts"
import { produce } from "./kafka-produce.ts"
import type { Topic } from "./kafka-topic.ts"

type Responses = Awaited<ReturnType<typeof produce>>["responses"]

/** What a lane asks of the broker that it belongs to. */
export interface LaneOwner {
  readonly client: KafkaClient
  readonly log: Logger
  readonly metrics: ConnectionMetrics
  /** Undefined until the cluster has given one. */
  readonly producerId: () => bigint | undefined
  /** When the cluster began to answer, by the steady clock. */
  readonly availableSinceMs: () => number
  /** What is known of the cluster has proved wrong or old. */
  readonly stale: () => void
  /** Batches or records were put back that other lanes may have to send. */
  readonly putBack: () => void
}

/**
 * The way to one leader. One request is out at a time; what comes meanwhile gathers and goes with the next: no wait when
 * idle, large batches under load. Each leader has its own, so that one that stalls holds up its own partitions only.
 *
 * idle --work--> (connecting -->) sending --answer--> idle. A lost connection leaves the batches that were out with their
 * partitions, which send them again, here or where the leadership has gone.
 */
export class Lane {
  readonly #id: number
  readonly #owner: LaneOwner
  #endpoint: Endpoint
  #partitions: readonly Partition[] = []
  #topics: readonly Topic[] = []
  #connection: KafkaConnection | undefined
  #connecting = false
  /** Why it could not connect, since when, and whether the log has it. */
  #failure: { reason: string; readonly sinceMs: number; logged: boolean } | undefined
  #out: readonly Batch[] = []
  #outSinceMs = 0
  #scheduled = false
  #retry: Timer | undefined
  #delayMs = RECONNECT_MS
  #closed = false

  constructor(id: number, endpoint: Endpoint, owner: LaneOwner) {
    this.#id = id
    this.#endpoint = endpoint
    this.#owner = owner
  }

  /** Why what it leads can't be published to; undefined: it can, as far as is known, or it leads nothing. */
  get problem(): string | undefined {
    return this.#partitions.length > 0 ? this.#failure?.reason : undefined
  }

  get leads(): boolean {
    return this.#partitions.length > 0
  }

  /** Takes what the cluster says: where the broker is, undefined if it is gone, and what it leads. */
  lead(endpoint: Endpoint | undefined, partitions: readonly Partition[]): void {
    const hasMoved = endpoint !== undefined && formatEndpoint(endpoint) !== formatEndpoint(this.#endpoint)
    const isDeposed = this.#out.some(({ partition }) => partition.leader !== this.#id)
    if (hasMoved || (isDeposed && steadyMs() - this.#outSinceMs > DEPOSED_MS)) this.#drop()
    this.#endpoint = endpoint ?? this.#endpoint
    this.#partitions = partitions
    this.#topics = [...new Set(partitions.map(({ topic }) => topic))]
    this.#tell(endpoint)
    this.schedule()
  }

  /**
   * Sends soon: after what this turn of the event loop still brings, so that requests read together go together.
   *
   * @returns whether it will; a lane that is busy sends later, of its own accord
   */
  schedule(): boolean {
    if (this.#out.length > 0) return false
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
    this.#drop()
  }

  #send(): void {
    if (this.#closed || this.#out.length > 0 || this.#partitions.length === 0) return
    if (this.#connection?.open !== true) return void this.#connect()
    const producerId = this.#owner.producerId()
    if (producerId === undefined) return
    const nowMs = steadyMs()
    const batches = this.#gather(producerId, nowMs)
    if (batches.length === 0) return
    this.#out = batches
    this.#outSinceMs = nowMs
    for (const batch of batches) batch.inFlight = true
    void this.#request(this.#connection, batches)
  }

  async #request(connection: KafkaConnection, batches: readonly Batch[]): Promise<void> {
    let responses
    try {
      responses = (await produce(connection, batches)).responses
    } catch (error) {
      this.#failed(batches, error)
      return
    }
    this.#answered(batches, responses)
  }

  /** One batch for each partition that has something to send, as far as one request takes them. */
  #gather(producerId: bigint, nowMs: number): Batch[] {
    const turns = new Set<Partition>()
    for (const topic of this.#topics) {
      const partition = topic.nextForKeyless(this.#id, nowMs)
      if (partition !== undefined) turns.add(partition)
    }
    const batches: Batch[] = []
    let bytes = 0
    let waitMs = Number.POSITIVE_INFINITY
    for (const partition of this.#partitions) {
      const takesKeyless = turns.has(partition)
      const hasOwn = takesKeyless || partition.batch !== undefined || partition.queue.length > 0
      if (partition.notBeforeMs > nowMs) {
        if (hasOwn || partition.topic.keyless.length > 0)
          waitMs = Math.min(waitMs, partition.notBeforeMs - nowMs)
      } else if (hasOwn && bytes < MAX_REQUEST_BYTES) {
        partition.expire(nowMs)
        const batch = partition.batch ?? partition.form(producerId, takesKeyless)
        if (batch === undefined || batch.inFlight) continue
        bytes += batch.bytes.length
        batches.push(batch)
      }
    }
    if (waitMs < Number.POSITIVE_INFINITY) this.#retryIn(waitMs)
    return batches
  }

  #answered(batches: readonly Batch[], responses: Responses): void {
    const nowMs = steadyMs()
    let trouble = false
    const topics = new Map(batches.map(({ partition: { topic } }) => [topic.name, topic]))
    for (const { name, partitionResponses } of responses) {
      const topic = topics.get(name)
      for (const { index, errorCode, baseOffset } of partitionResponses) {
        const partition = topic?.partitions[index]
        const batch = partition?.batch
        if (batch?.inFlight !== true) continue
        if (errorCode === 0) this.#owner.metrics.batch(batch.items.length, nowMs - this.#outSinceMs)
        else trouble = true
        partition!.settle(batch, errorCode, Number(baseOffset), nowMs)
      }
    }
    for (const batch of batches) if (batch.inFlight) batch.partition.lost(batch, nowMs)
    this.#out = []
    this.#delayMs = RECONNECT_MS
    if (trouble) {
      this.#owner.stale()
      this.#owner.putBack()
    }
    this.schedule()
  }

  #failed(batches: readonly Batch[], error: unknown): void {
    const nowMs = steadyMs()
    for (const batch of batches) batch.partition.lost(batch, nowMs)
    this.#out = []
    this.#owner.log.debug(
      { broker: formatEndpoint(this.#endpoint), reason: reasonOf(error) },
      "a produce request failed",
    )
    this.#drop()
    this.#owner.stale()
    this.#owner.putBack()
  }

  async #connect(): Promise<void> {
    if (this.#connecting || this.#closed || this.#retry !== undefined) return
    this.#connecting = true
    this.#drop()
    const endpoint = formatEndpoint(this.#endpoint)
    try {
      const connection = await KafkaConnection.open(this.#owner.client, this.#endpoint, REQUEST_TIMEOUT_MS)
      if (this.#closed || endpoint !== formatEndpoint(this.#endpoint)) connection.close()
      else this.#connection = connection
      if (this.#failure?.logged === true)
        this.#owner.log.info({ broker: endpoint }, "a leader is reached again")
      this.#failure = undefined
      this.schedule()
    } catch (error) {
      const reason = reasonOf(error)
      this.#failure ??= { reason, sinceMs: steadyMs(), logged: false }
      this.#failure.reason = reason
      this.#owner.stale()
      this.#retryIn(reason === AUTHENTICATION_FAILED ? REFUSED_RETRY_MS : this.#delayMs)
      this.#delayMs = Math.min(this.#delayMs * 2, MAX_RECONNECT_MS)
    } finally {
      this.#connecting = false
    }
  }

  /** Logs that the leader can't be reached although the cluster answers: the address it advertises may be wrong. */
  #tell(endpoint: Endpoint | undefined): void {
    const failure = this.#failure
    if (failure === undefined || failure.logged || endpoint === undefined || !this.leads) return
    if (steadyMs() - Math.max(failure.sinceMs, this.#owner.availableSinceMs()) < UNREACHABLE_MS) return
    failure.logged = true
    const broker = formatEndpoint(endpoint)
    this.#owner.log.error({ broker, reason: failure.reason }, "a leader can't be reached; connecting goes on")
  }

  #drop(): void {
    const connection = this.#connection
    this.#connection = undefined
    connection?.close()
  }

  #retryIn(ms: number): void {
    if (this.#closed) return
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined
      this.#send()
    }, ms)
  }
}

const MAX_REQUEST_BYTES = 8 * 1_048_576
/** Leaders answer within ACKNOWLEDGE_MS unless they or the network are gone. */
const REQUEST_TIMEOUT_MS = 10_000
const RECONNECT_MS = 50
const MAX_RECONNECT_MS = 500
/** A leader that is not reached for so long, while the cluster answers, is worth a line. */
const UNREACHABLE_MS = 2000
/** A request to a broker that no longer leads gets this long before its batches go to the new leader. */
const DEPOSED_MS = 500
