import type { Logger } from "../../telemetry/log.ts"
import type { KafkaMetrics } from "../../telemetry/metrics.ts"
import type { BatchMemory } from "./batch-memory.ts"
import { type Capacity, PendingQueue, type PendingRecord } from "./pending-queue.ts"
import { BATCH_HEADER_BYTES } from "../../kafka-protocol/batch-header.ts"
import type { Compression } from "./record-batch.ts"
import type { ProducerId } from "./epoch-and-sequence.ts"
import type { RoundTrips } from "./round-trips.ts"
import { DEADLINE_SPREAD_MS } from "./timeouts.ts"

export interface ProducerContext {
  readonly log: Logger
  readonly metrics: KafkaMetrics
  readonly compression: Compression
  readonly producerId: ProducerId
  readonly memory: BatchMemory
  /** Whether a spool takes the records that are rejected with an error that a retry may cure. */
  readonly spools?: boolean | undefined
}

/** What a leader can take with the next batch. */
export interface BatchLimits {
  /** Under MAX_RECORDS while a record to blame is looked for: then requeued ones go first. */
  readonly records: number
  readonly bytes: number
  readonly nowMs: number
  readonly roundTrips: RoundTrips
}

/**
 * What the partitions of a topic share: the limit of a batch, and the records without a key, which the leader that is free
 * first sends as one batch to one of its partitions.
 */
export class Accumulator {
  readonly name: string
  readonly context: ProducerContext
  readonly unkeyed = new PendingQueue()
  /** The largest batch that the broker accepts, if known. */
  maxMessageBytes = Number.POSITIVE_INFINITY
  /** When that was looked up, by the steady clock. */
  limitAskedMs = Number.NEGATIVE_INFINITY

  constructor(name: string, context: ProducerContext) {
    this.name = name
    this.context = context
  }

  /** Takes the records of a batch. */
  take(queue: PendingQueue, takesUnkeyed: boolean, limits: BatchLimits): PendingRecord[] {
    const { nowMs, roundTrips } = limits
    const records: PendingRecord[] = []
    const batchBytes = Math.min(this.maxMessageBytes, MAX_BATCH_BYTES) - BATCH_HEADER_BYTES
    const leastMs = nowMs + roundTrips.leastMs(nowMs)
    const urgentMs = nowMs + URGENT * roundTrips.longestMs
    const isUrgent =
      queue.hasDeadline(leastMs, urgentMs) || (takesUnkeyed && this.unkeyed.hasDeadline(leastMs, urgentMs))
    const capacity: Capacity = {
      records: limits.records,
      bytes: Math.min(batchBytes, limits.bytes),
      leastMs,
      // all but those without a deadline
      spreadMs: isUrgent ? Number.MAX_VALUE : Math.max(DEADLINE_SPREAD_MS, 2 * roundTrips.longestMs),
      sinceMs: Number.NEGATIVE_INFINITY,
      untilMs: Number.POSITIVE_INFINITY,
    }
    if (takesUnkeyed && limits.records === MAX_RECORDS) {
      // half of the batch, and the first half in turn, as their deadlines may not go together: neither records with a key nor
      // those without wait for the others
      const [first, second] = queue.isSecond ? [this.unkeyed, queue] : [queue, this.unkeyed]
      queue.isSecond = !queue.isSecond
      first.moveTo(records, capacity, 1 / 2)
      second.moveTo(records, capacity)
    }
    queue.moveTo(records, capacity)
    if (takesUnkeyed) this.unkeyed.moveTo(records, capacity)
    return records
  }
}

export const MAX_RECORDS = 8192
/** Within so many round trips of its deadline a record can't wait for one more batch: then all that is pending goes with it. */
const URGENT = 3
/** Kafka's default limit, message.max.bytes: where the topic's is unknown, that is assumed. */
const MAX_BATCH_BYTES = 1_048_576
