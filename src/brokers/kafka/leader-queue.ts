import type { KafkaMetrics } from "../../telemetry/metrics.ts"
import type { BatchLimits } from "./accumulator.ts"
import type { Batch, Partition } from "./partition.ts"
import type { RoundTrips } from "./round-trips.ts"
import type { Topic } from "./topic.ts"

export interface LeaderQueueContext {
  readonly metrics: KafkaMetrics
  /** Topics with pending records without a key. */
  readonly unkeyed: Set<Topic>
}

interface RequestLimits {
  /** Of all batches, unless one alone is larger. */
  readonly bytes: number
  readonly batches: number
}

interface Gathered {
  readonly batches: readonly Batch[]
  /** No more fit, and more are queued. */
  readonly isFull: boolean
  /** When a partition that is not sent to now may be sent to; Infinity: none waits for a time. */
  readonly retryAtMs: number
}

/**
 * The partitions of a leader that have something to send, in turn, and the batches that go with its next request. A partition
 * that has sent moves to the end, so a large backlog never starves the others. Idle partitions leave the queue.
 */
export class LeaderQueue {
  readonly #leader: number
  readonly #context: LeaderQueueContext
  readonly #roundTrips: RoundTrips
  /** In turn, with some that have nothing to send any more. */
  readonly #partitions = new Set<Partition>()
  #retryAtMs = Number.POSITIVE_INFINITY

  constructor(leader: number, context: LeaderQueueContext, roundTrips: RoundTrips) {
    this.#leader = leader
    this.#context = context
    this.#roundTrips = roundTrips
  }

  add(partition: Partition): void {
    this.#partitions.add(partition)
  }

  /** Collects at most one batch per queued partition. */
  gather(producerId: bigint, nowMs: number, most: RequestLimits): Gathered {
    this.#retryAtMs = Number.POSITIVE_INFINITY
    const turns = this.#placeUnkeyed(nowMs)
    const batches: Batch[] = []
    let freeBytes = most.bytes
    let isFull = false
    for (const partition of this.#partitions) {
      const topic = turns.get(partition)
      // the first batch of a request may be larger than all of it
      const isOver = batches.length > 0 && partition.nextBytes(topic !== undefined) > freeBytes
      const limits = { bytes: freeBytes, nowMs, roundTrips: this.#roundTrips }
      const offer = this.#offer(partition, topic, producerId, isOver, limits)
      if (offer === "later") continue
      if (offer === "gone") this.#partitions.delete(partition)
      else if (offer === "full") isFull = true
      else {
        batches.push(offer)
        freeBytes -= offer.bytes.length
        if (topic !== undefined) this.#placeRest(topic, turns, nowMs)
      }
      if (isFull || batches.length >= most.batches) break
    }
    for (const { partition } of batches) this.#moveToEnd(partition)
    return { batches, isFull, retryAtMs: this.#retryAtMs }
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
    if (partition.leader !== this.#leader || (topic === undefined && !partition.isBusy)) return "gone"
    if (partition.notBeforeMs > nowMs) this.#retryAt(partition.notBeforeMs)
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
    const next = topic.place(this.#leader, nowMs)
    if (next === undefined || typeof next === "number") return
    turns.set(next, topic)
    this.#moveToEnd(next)
  }

  /** Queues the partitions whose turn it is to take records without a key. */
  #placeUnkeyed(nowMs: number): Map<Partition, Topic> {
    const { unkeyed } = this.#context
    const turns = new Map<Partition, Topic>()
    for (const topic of unkeyed) {
      const next = topic.place(this.#leader, nowMs)
      if (next === undefined) unkeyed.delete(topic)
      else if (typeof next === "number") this.#retryAt(next)
      else {
        turns.set(next, topic)
        this.#partitions.add(next)
      }
    }
    return turns
  }

  #moveToEnd(partition: Partition): void {
    this.#partitions.delete(partition)
    this.#partitions.add(partition)
  }

  #retryAt(ms: number): void {
    this.#retryAtMs = Math.min(this.#retryAtMs, ms)
  }
}
