import { type Endpoint, formatEndpoint } from "../config/endpoint.ts"
import type { Logger } from "../telemetry/log.ts"
import type { ConnectionMetrics } from "../telemetry/metrics.ts"
import { KafkaConnection, type KafkaClient } from "./kafka-connection.ts"
import { reasonOf } from "./kafka-failure.ts"
import type { Batch, Partition } from "./kafka-partition.ts"
import { produce } from "./kafka-produce.ts"
import type { Topic } from "./kafka-topic.ts"

/** What a lane asks of the broker that it belongs to. */
export interface LaneOwner {
  readonly client: KafkaClient
  readonly log: Logger
  readonly metrics: ConnectionMetrics
  /** Undefined until the cluster has given one. */
  readonly producerId: () => bigint | undefined
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

  /** Whether a record that is queued now goes out at once. */
  get idle(): boolean {
    return this.#out.length === 0 && this.#connection?.open === true
  }

  /** Takes what the cluster says: where the broker is and what it leads. */
  lead(endpoint: Endpoint, partitions: readonly Partition[]): void {
    if (formatEndpoint(endpoint) !== formatEndpoint(this.#endpoint)) this.#drop()
    this.#endpoint = endpoint
    this.#partitions = partitions
    this.#topics = [...new Set(partitions.map(({ topic }) => topic))]
    const moved = this.#out.some(({ partition }) => partition.leader !== this.#id)
    if (moved && Date.now() - this.#outSinceMs > MOVED_MS) this.#drop()
    if (this.#connection?.open !== true && partitions.length > 0) void this.#connect()
    this.schedule()
  }

  /** Sends soon: after what this turn of the event loop still brings, so that requests read together go together. */
  schedule(): void {
    if (this.#scheduled || this.#out.length > 0) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      this.#send()
    })
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#retry)
    this.#drop()
  }

  #send(): void {
    if (this.#closed || this.#out.length > 0) return
    const producerId = this.#owner.producerId()
    if (this.#connection?.open !== true) return void this.#connect()
    if (producerId === undefined) return
    const nowMs = Date.now()
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
    const batches: Batch[] = []
    const turns = this.#topics.map((topic) =>
      topic.keyless.length > 0 ? topic.nextForKeyless(this.#id, nowMs) : undefined,
    )
    let bytes = 0
    let waitMs = Number.POSITIVE_INFINITY
    for (const partition of this.#partitions) {
      if (partition.notBeforeMs > nowMs) {
        waitMs = Math.min(waitMs, partition.notBeforeMs - nowMs)
        continue
      }
      const keyless = turns.includes(partition) ? partition.topic.keyless : undefined
      if (partition.batch === undefined && keyless === undefined && partition.queue.length === 0) continue
      if (bytes > MAX_REQUEST_BYTES) break
      const batch = partition.batch ?? partition.form(producerId, nowMs, keyless)
      if (batch === undefined || batch.inFlight) continue
      bytes += batch.bytes.length
      batches.push(batch)
    }
    if (waitMs < Number.POSITIVE_INFINITY) this.#retryIn(waitMs)
    return batches
  }

  #answered(batches: readonly Batch[], responses: Awaited<ReturnType<typeof produce>>["responses"]): void {
    const nowMs = Date.now()
    const ms = nowMs - this.#outSinceMs
    let trouble = false
    for (const batch of batches) {
      const { topic, index } = batch.partition
      const told = responses
        .find(({ name }) => name === topic.name)
        ?.partitionResponses.find((partition) => partition.index === index)
      if (told === undefined) batch.partition.lost(batch)
      else batch.partition.settle(batch, told.errorCode, Number(told.baseOffset), nowMs)
      if (told?.errorCode === 0) this.#owner.metrics.batch(batch.items.length, ms)
      else trouble = true
    }
    this.#out = []
    this.#delayMs = RECONNECT_MS
    if (trouble) {
      this.#owner.stale()
      this.#owner.putBack()
    }
    this.schedule()
  }

  #failed(batches: readonly Batch[], error: unknown): void {
    for (const batch of batches) batch.partition.lost(batch)
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
    const endpoint = formatEndpoint(this.#endpoint)
    try {
      const connection = await KafkaConnection.open(this.#owner.client, this.#endpoint, REQUEST_TIMEOUT_MS)
      if (this.#closed || endpoint !== formatEndpoint(this.#endpoint)) connection.close()
      else this.#connection = connection
      this.schedule()
    } catch (error) {
      this.#owner.log.debug({ broker: endpoint, reason: reasonOf(error) }, "could not connect to a leader")
      this.#owner.stale()
      this.#retryIn(this.#delayMs)
      this.#delayMs = Math.min(this.#delayMs * 2, MAX_RECONNECT_MS)
    } finally {
      this.#connecting = false
    }
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
/** A request to a broker that no longer leads gets this long before its batches go to the new leader. */
const MOVED_MS = 500
