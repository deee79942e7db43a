import { DeadlineQueue } from "../../clock/deadlines.ts"
import type { PublishError } from "../../errors.ts"
import type { Receipt, Record } from "../../pipeline/record.ts"
import type { Logger } from "../../telemetry/log.ts"
import type { KafkaMetrics } from "../../telemetry/metrics.ts"
import type { BatchMemory } from "./batch-memory.ts"
import { deadlinePassed } from "./publish-errors.ts"
import { BATCH_HEADER_BYTES, recordBytes, type Compression } from "./record-batch.ts"
import type { ProducerId } from "./epoch-and-sequence.ts"
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

  /** Takes the records of a batch. @param maxRecords under MAX_RECORDS while a record to blame is looked for, then requeued ones go first */
  take(queue: PendingQueue, takesUnkeyed: boolean, maxRecords: number, maxBytes: number): PendingRecord[] {
    const records: PendingRecord[] = []
    const batchBytes = Math.min(this.maxMessageBytes, MAX_BATCH_BYTES) - BATCH_HEADER_BYTES
    const capacity = { records: maxRecords, bytes: Math.min(batchBytes, maxBytes), sinceMs: 0, untilMs: 0 }
    if (takesUnkeyed && maxRecords === MAX_RECORDS) {
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
/** Kafka's default limit, message.max.bytes: where the topic's is unknown, that is assumed. */
const MAX_BATCH_BYTES = 1_048_576

type Settle = (error: PublishError | undefined, receipt?: Receipt) => void

/** A record between `publish` and its answer, which it gets once: what comes later is ignored. */
export class PendingRecord {
  readonly record: Record
  readonly deadlineMs: number
  /** Its size in a batch, at most. */
  readonly bytes: number
  #settle: Settle | undefined

  constructor(record: Record, deadlineMs: number, settle: Settle) {
    this.record = record
    this.deadlineMs = deadlineMs
    this.bytes = recordBytes(record) + (record.timestampMs === undefined ? 0 : MORE_TIMESTAMP_BYTES)
    this.#settle = settle
  }

  settle(error: PublishError | undefined, receipt?: Receipt): void {
    const settle = this.#settle
    this.#settle = undefined
    settle?.(error, receipt)
  }

  /** Rejects it when its deadline has passed. @returns whether it has */
  expire(nowMs: number): boolean {
    if (nowMs < this.deadlineMs) return false
    this.settle(deadlinePassed())
    return true
  }
}

/** What the distance of a record's own time from the batch's first takes beyond one byte, up to 69 years. */
const MORE_TIMESTAMP_BYTES = 5

/** How much more fits into a batch. */
interface Capacity {
  records: number
  bytes: number
  /** A deadline between these is at most DEADLINE_SPREAD_MS from every other one in the batch. Each record narrows them. */
  sinceMs: number
  untilMs: number
}

export class PendingQueue extends DeadlineQueue<PendingRecord> {
  /** Whether records without a key go before these into the next batch that takes both. */
  isSecond = false

  constructor() {
    super((record) => record.settle(deadlinePassed()))
  }

  get firstBytes(): number | undefined {
    return this.items[0]?.bytes
  }

  /** Moves records from the front to a batch, up to a share of its capacity; the first of a batch always fits. */
  moveTo(batch: PendingRecord[], capacity: Capacity, share = 1): void {
    const keptBytes = Math.floor(capacity.bytes * (1 - share))
    const keptRecords = Math.floor(capacity.records * (1 - share))
    let count = 0
    for (const { bytes, deadlineMs } of this.items) {
      if (batch.length + count === 0) {
        capacity.sinceMs = deadlineMs - DEADLINE_SPREAD_MS
        capacity.untilMs = deadlineMs + DEADLINE_SPREAD_MS
      } else {
        if (bytes > capacity.bytes - keptBytes || capacity.records <= keptRecords) break
        if (deadlineMs < capacity.sinceMs || deadlineMs > capacity.untilMs) break
        capacity.sinceMs = Math.max(capacity.sinceMs, deadlineMs - DEADLINE_SPREAD_MS)
        capacity.untilMs = Math.min(capacity.untilMs, deadlineMs + DEADLINE_SPREAD_MS)
      }
      capacity.bytes -= bytes
      capacity.records -= 1
      count += 1
    }
    batch.push(...this.take(count))
  }

  reject(error: PublishError): void {
    for (const record of this.take()) record.settle(error)
  }
}
