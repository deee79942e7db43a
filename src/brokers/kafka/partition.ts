import { ERROR } from "../../kafka-protocol/error-codes.ts"
import { doubled } from "../../clock/backoff.ts"
import type { PublishError } from "../../errors.ts"
import { type Accumulator, type BatchLimits, MAX_RECORDS } from "./accumulator.ts"
import { PendingQueue, type PendingRecord } from "./pending-queue.ts"
import { EncodedBatch } from "./encoded-batch.ts"
import { compressBatch } from "./compression.ts"
import { DeliveryHealth } from "./delivery-health.ts"
import { errorActionOf, errorNameOf } from "./error-actions.ts"
import { isPlaced } from "../placement.ts"
import * as errors from "./publish-errors.ts"
import { encodeBatch } from "./record-batch.ts"
import { PartitionSequence } from "./epoch-and-sequence.ts"
import { StaleMetadata } from "./metadata.ts"
import { RETRY_MS } from "./timeouts.ts"

export type Batch = EncodedBatch<Partition>

/**
 * One partition: its pending records with a key, its batch, and its sequence.
 *
 * At most one batch is out. When its outcome is unknown (the connection broke, the leader changed), the very same batch is
 * sent again until the broker says, or until the first deadline in it passes. Then it is given up: its records are rejected
 * and the epoch is raised, see PartitionSequence.
 *
 * A partition is kept as long as the producer, whatever metadata says of the topic. Offsets show whether the sequence holds:
 * one that is not above the last acknowledged one is the offset of another batch.
 */
export class Partition {
  readonly topic: Accumulator
  readonly index: number
  /** Node id of its leader; -1: none. */
  leader = -1
  /** Records with a key, and those that were requeued for this partition. */
  readonly queue = new PendingQueue()
  readonly health = new DeliveryHealth()
  /** In flight, or to be sent again; undefined: neither. */
  batch: Batch | undefined
  /** Nothing is sent before this time: the broker has just rejected something. */
  notBeforeMs = 0
  readonly #sequence: PartitionSequence
  #leaderEpoch = -1
  #staleMetadata = new StaleMetadata()
  /** Sequence errors in a row. */
  #sequenceErrors = 0
  /** Fewer after a batch that was rejected for one of its records, to find that one. */
  #maxRecords = MAX_RECORDS

  constructor(topic: Accumulator, index: number) {
    this.topic = topic
    this.index = index
    this.#sequence = new PartitionSequence(topic.context.producerId)
  }

  get isBusy(): boolean {
    return this.batch !== undefined || this.queue.length > 0
  }

  /** Bytes that its next batch takes at least, whichever of its records is first. */
  nextBytes(takesUnkeyed: boolean): number {
    if (this.batch !== undefined) return this.batch.bytes.length
    return Math.max(this.queue.firstBytes, takesUnkeyed ? this.topic.unkeyed.firstBytes : 0)
  }

  /** @returns false: the metadata is stale, its leader's epoch older than what is known */
  updateLeader(leader: number, epoch: number, nowMs: number): boolean {
    if (this.#staleMetadata.isStale(epoch >= 0 && epoch < this.#leaderEpoch, nowMs)) return false
    this.#leaderEpoch = epoch
    this.leader = leader
    return true
  }

  /** The topic was deleted and created again: leader epochs and offsets start over. */
  topicRecreated(): void {
    this.#leaderEpoch = -1
    this.#staleMetadata = new StaleMetadata()
    this.#sequence.expectNewLog()
  }

  /** Forms the next batch, of records with a key and, when it is this partition's turn, of those without. */
  formBatch(
    producerId: bigint,
    takesUnkeyed: boolean,
    limits: Omit<BatchLimits, "records">,
  ): Batch | undefined {
    const { compression, memory } = this.topic.context
    for (;;) {
      const records = this.topic.take(this.queue, takesUnkeyed, { ...limits, records: this.#maxRecords })
      if (records.length === 0) return undefined
      try {
        const sequence = this.#sequence.next(producerId)
        const plain = encodeBatch(records, sequence, Date.now(), memory)
        const batch = new EncodedBatch<Partition>(this, records, plain)
        if (compression !== "none") compressBatch(batch, compression, memory)
        if (batch.compressing !== undefined || batch.bytes.length <= this.topic.maxMessageBytes)
          return (this.batch = batch)
        this.#isolate(records, ERROR.MESSAGE_TOO_LARGE)
      } catch (error) {
        const line = { topic: this.topic.name, records: records.length, err: error }
        this.topic.context.log.error(line, "batch can't be encoded; its events get 503")
        this.#rejectFor(error, records)
      }
    }
  }

  /** Called when its batch has been compressed by another thread. @returns whether it is still to be sent, and may be */
  compressed(batch: Batch, nowMs: number): boolean {
    const isTooLarge = batch.bytes.length > this.topic.maxMessageBytes
    const isLate = nowMs >= batch.deadlineMs
    const isOpen = this.batch === batch && !batch.isCancelled
    if (isOpen && !isTooLarge && !isLate) return true
    batch.inFlight = false
    if (!isOpen || batch.isUncertain) return (this.expire(nowMs), false)
    this.batch = undefined
    // it was not sent: those that have time left go with another batch
    if (isLate) this.queue.putBack(batch.records.filter((record) => !record.expire(nowMs)))
    else this.#isolate(batch.records, ERROR.MESSAGE_TOO_LARGE)
    return false
  }

  /** Takes the broker's answer to its batch. */
  settle(batch: Batch, errorCode: number, baseOffset: number, nowMs: number): void {
    batch.inFlight = false
    if (this.batch !== batch) return
    const action = errorActionOf(errorCode)
    if (action !== "raise_epoch") this.#sequenceErrors = 0
    if (action === "stored") return this.#stored(batch, errorCode, baseOffset, nowMs)
    this.health.rejected(action, errorCode, nowMs)
    if (batch.isCancelled) return this.giveUp()
    switch (action) {
      case "retry_batch":
        if (errorCode === ERROR.UNKNOWN_TOPIC_OR_PARTITION) this.#sequence.expectNewLog()
        return this.#retry(batch, nowMs)
      case "retry_bounded":
        if (++batch.attempts >= ATTEMPTS) return this.#refuse(errors.batchRefused(this.topic.name, errorCode))
        return this.#retry(batch, nowMs, doubled(RETRY_MS, batch.attempts))
      case "retry_records":
        if (batch.isUncertain) return this.#retry(batch, nowMs)
        return this.#requeue(batch, nowMs)
      case "raise_epoch":
        return this.#sequenceError(batch, errorCode, nowMs)
      case "retry_then_isolate":
        this.notBeforeMs = nowMs + RETRY_MS.first
        if (++batch.attempts < QUICK_ATTEMPTS) return
        break
      default:
    }
    if (batch.isUncertain) return this.giveUp()
    this.batch = undefined
    if (action !== "refuse") {
      if (batch.records.length > 1) this.topic.context.metrics.retried()
      return this.#isolate(batch.records, errorCode)
    }
    for (const record of batch.records) record.settle(errors.topicRefused(this.topic.name, errorCode))
  }

  /** The request that held the batch failed: its outcome is unknown. */
  lost(batch: Batch, nowMs: number, pauseMs?: number): void {
    batch.inFlight = false
    this.health.lost(nowMs)
    this.#retry(batch, nowMs, pauseMs)
  }

  /** The broker keeps closing the connection on a request of this batch alone, and accepts connections all the same. */
  cannotBeSent(batch: Batch, maxBytes: number): void {
    if (this.batch !== batch || batch.inFlight) return
    const isOver = batch.bytes.length > maxBytes
    if (batch.records.length === 1 || !isOver)
      return this.#refuse(errors.connectionClosed(this.topic.name, batch.bytes.length, isOver))
    this.#sequence.raiseEpoch()
    this.batch = undefined
    this.topic.context.metrics.retried()
    this.queue.putBack(batch.records)
  }

  /** Rejects what is past its deadline; gives a batch up that must not be sent again. */
  expire(nowMs: number): void {
    this.queue.expire(nowMs)
    const { batch } = this
    if (batch === undefined || (nowMs < batch.deadlineMs && !batch.isCancelled)) return
    if (!batch.isCancelled) this.health.late(nowMs)
    for (const record of batch.records) record.expire(nowMs)
    if (!batch.inFlight) this.giveUp()
  }

  /** Rejects all records; a batch in flight is not sent again. */
  cancel(error: PublishError): void {
    this.queue.reject(error)
    const { batch } = this
    if (batch === undefined) return
    for (const record of batch.records) record.settle(error)
    batch.isCancelled = true
    if (!batch.inFlight) this.giveUp()
  }

  /** An error of this program left the batch half handled: it may be in the log, and the sequence may have counted it or not. */
  abandon(batch: Batch, error: unknown): void {
    batch.inFlight = false
    this.#rejectFor(error, batch.records)
    if (this.batch === batch) this.giveUp()
  }

  #rejectFor(error: unknown, records: readonly PendingRecord[]): void {
    for (const record of records) record.settle(errors.internal(this.topic.name, error))
    this.topic.context.metrics.incident("batch_refused")
  }

  /** Rejects the batch's records, which may be in the log all the same, and raises the epoch. */
  giveUp(error = errors.outcomeUnknown()): void {
    const records = this.batch?.records ?? []
    this.batch = undefined
    this.#sequence.raiseEpoch()
    for (const record of records) record.settle(error)
  }

  #stored(batch: Batch, errorCode: number, baseOffset: number, nowMs: number): void {
    const { records } = batch
    const isAnother =
      errorCode === ERROR.DUPLICATE_SEQUENCE_NUMBER ? !batch.isUncertain : this.#sequence.isBehind(baseOffset)
    if (isAnother) return this.#offsetBehind(baseOffset)
    this.health.acknowledged(nowMs)
    this.#sequence.acknowledged(records.length, baseOffset)
    this.#maxRecords = Math.min(this.#maxRecords * 2, MAX_RECORDS)
    this.batch = undefined
    // acknowledged: no request has it any more, and it is not sent again
    this.topic.context.memory.giveBack(batch.bytes)
    for (let at = 0; at < records.length; at++)
      records[at]!.settle(undefined, { partition: this.index, offset: baseOffset < 0 ? -1 : baseOffset + at })
  }

  /** The broker took the batch for one that it has, or its log has lost records: the batch's own outcome is unknown. */
  #offsetBehind(offset: number): void {
    const { log, metrics, producerId } = this.topic.context
    const line = {
      topic: this.topic.name,
      partition: this.index,
      offset,
      last_offset: this.#sequence.lastOffset,
    }
    metrics.incident("offset_behind")
    log.error(
      line,
      "acknowledged offset did not advance: answering 503, since the batch may not be in the log, or the partition's log was truncated",
    )
    producerId.reset("an acknowledged offset did not advance")
    this.#sequence.expectNewLog()
    this.giveUp(errors.offsetBehind(this.topic.name))
  }

  /** The broker would have known the batch if it were in the log: the same records may be sent under a new epoch. */
  #sequenceError(batch: Batch, errorCode: number, nowMs: number): void {
    this.#sequenceErrors++
    if (this.#sequenceErrors >= QUICK_ATTEMPTS) {
      this.#sequenceErrors = 0
      return this.#refuse(errors.batchRefused(this.topic.name, errorCode))
    }
    this.#sequence.raiseEpoch()
    // another producer may have the same id, with a higher epoch
    if (this.#sequenceErrors === 2) this.topic.context.producerId.reset(`error ${errorNameOf(errorCode)}`)
    this.#requeue(batch, nowMs)
  }

  #refuse(error: PublishError): void {
    this.topic.context.metrics.incident("batch_refused")
    this.topic.context.log.error({ topic: this.topic.name, reason: error.message }, "batch refused")
    this.giveUp(error)
  }

  /** Finds the record to blame: alone it is rejected; otherwise the next batch has half as many records. */
  #isolate(records: readonly PendingRecord[], errorCode: number): void {
    if (records.length > 1) {
      this.#maxRecords = Math.ceil(records.length / 2)
      this.queue.putBack(records)
      return
    }
    records[0]!.settle(errors.recordRefused(this.topic.name, errorCode, this.topic.maxMessageBytes))
  }

  /** Requeues the records of a batch that is not in the log; those without a key may go to other partitions. */
  #requeue({ records }: Batch, nowMs: number): void {
    this.batch = undefined
    this.notBeforeMs = nowMs + RETRY_MS.first
    this.topic.context.metrics.retried()
    this.queue.putBack(records.filter(({ record }) => isPlaced(record)))
    this.topic.unkeyed.putBack(records.filter(({ record }) => !isPlaced(record)))
  }

  #retry(batch: Batch, nowMs: number, pauseMs = RETRY_MS.first): void {
    batch.isUncertain = true
    this.notBeforeMs = nowMs + pauseMs
  }
}

/** The attempts for a batch whose errors say nothing about it: within 13 s, for what may pass. */
const ATTEMPTS = 8
/** The attempts for a batch that arrives damaged; also the sequence errors in a row after which it is refused. */
const QUICK_ATTEMPTS = 5
