import { PublishError } from "../errors.ts"
import { Queue, type Waiting } from "./kafka-queue.ts"
import { encodeBatch, type Sequence } from "./kafka-records.ts"
import type { Topic } from "./kafka-topic.ts"
import { MESSAGE_TOO_LARGE, verdictOf } from "./kafka-verdict.ts"

/** A batch as it is sent, and sent again. Its bytes never change, so that the broker knows it by its sequence. */
export interface Batch {
  readonly partition: Partition
  readonly items: readonly Waiting[]
  readonly bytes: Buffer
  /** The first deadline of its records, after which it is not sent again. */
  readonly earliestMs: number
  /** It was sent and may be in the log: the broker has not said. */
  unsure: boolean
  /** A request that holds it is under way. */
  inFlight: boolean
  /** Its records were taken back and answered: it is not sent again, nor are they. */
  withdrawn: boolean
}

/**
 * One partition: what waits for it, and its place in the producer's sequence.
 *
 * The broker knows a batch by producer id, epoch and sequence. One batch is out at a time. When its fate is unknown (the
 * connection broke, the leader changed), the very same batch is sent again until the broker says, or until the first
 * deadline in it passes. Then it is given up: its records are answered with an error, and the epoch goes up by one with
 * the sequence back at 0. The broker refuses batches of older epochs, so a given-up batch that still lies in some buffer
 * can't come between later ones, and no sequence is ever used for two payloads. (Java's producer raises the epoch by
 * itself in the same way, TransactionManager.bumpIdempotentProducerEpoch.)
 */
export class Partition {
  readonly topic: Topic
  readonly index: number
  /** Id of the broker that leads it; -1: none. */
  leader = -1
  /** Keyed records, and those that were put back for this partition. */
  readonly queue = new Queue()
  /** What is under way or of unknown fate; undefined: nothing is. */
  batch: Batch | undefined
  /** Nothing is sent before this time: the broker has just refused. */
  notBeforeMs = 0
  #producerId = -1n
  #epoch = 0
  #sequence = 0
  /** Fewer after a batch that was refused for one of its records, to find that one. */
  #maxRecords = MAX_RECORDS

  constructor(topic: Topic, index: number) {
    this.topic = topic
    this.index = index
  }

  /** Makes a batch of what waits here and, when it is this partition's turn, of keyless records. */
  form(producerId: bigint, takesKeyless: boolean): Batch | undefined {
    const { batchBytes, maxMessageBytes, compression, keyless } = this.topic
    for (;;) {
      const items: Waiting[] = []
      const room = { records: this.#maxRecords, bytes: batchBytes, untilMs: 0 }
      this.queue.moveTo(items, room)
      if (takesKeyless) keyless.moveTo(items, room)
      if (items.length === 0) return undefined
      const bytes = encodeBatch(items, this.#place(producerId), Date.now(), compression)
      if (bytes.length <= maxMessageBytes) return this.#sending(items, bytes)
      this.#isolate(items, MESSAGE_TOO_LARGE)
    }
  }

  /** Takes the broker's answer to its batch. */
  settle(batch: Batch, errorCode: number, baseOffset: number, nowMs: number): void {
    batch.inFlight = false
    if (this.batch !== batch) return
    const verdict = verdictOf(errorCode)
    if (batch.withdrawn && verdict !== "stored") return this.giveUp()
    switch (verdict) {
      case "stored":
        this.#sequence += batch.items.length
        this.#maxRecords = Math.min(this.#maxRecords * 2, MAX_RECORDS)
        this.batch = undefined
        for (let at = 0; at < batch.items.length; at++) {
          batch.items[at]!.accept({ partition: this.index, offset: baseOffset < 0 ? -1 : baseOffset + at })
        }
        return
      case "unsure":
        this.#waitBeforeRetry(batch, nowMs)
        return
      case "out_of_sequence":
        // The broker would have known the batch if it were there, so it is not: the same records may go out anew.
        this.#nextEpoch()
        this.#release(batch, nowMs)
        return
      case "refused_for_now":
        if (batch.unsure) this.#waitBeforeRetry(batch, nowMs)
        else this.#release(batch, nowMs)
        return
      case "unfit":
      case "refused":
        if (batch.unsure) return this.giveUp()
        this.batch = undefined
        if (verdict === "unfit") return this.#isolate(batch.items, errorCode)
        for (const waiting of batch.items) waiting.refuse(this.topic.refusal(errorCode))
    }
  }

  /** The request that held the batch failed, so that its fate is unknown. */
  lost(batch: Batch, nowMs: number): void {
    batch.inFlight = false
    this.#waitBeforeRetry(batch, nowMs)
  }

  /** Rejects what is past its deadline; gives a batch of unknown fate up when it must not be sent again. */
  expire(nowMs: number): void {
    this.queue.expire(nowMs)
    const { batch } = this
    if (batch === undefined || (nowMs < batch.earliestMs && !batch.withdrawn)) return
    for (const waiting of batch.items) waiting.expire(nowMs)
    if (!batch.inFlight) this.giveUp()
  }

  /** Rejects what waits; a batch that is under way is let go of, and not sent again. */
  withdraw(error: PublishError): void {
    this.queue.refuse(error)
    const { batch } = this
    if (batch === undefined) return
    for (const waiting of batch.items) waiting.refuse(error)
    batch.withdrawn = true
    if (!batch.inFlight) this.giveUp()
  }

  /** Answers the batch's records with an error; it may be in the log all the same. */
  giveUp(): void {
    const items = this.batch?.items ?? []
    this.batch = undefined
    this.#nextEpoch()
    const error = new PublishError("unavailable", "Kafka did not say whether it took the record")
    for (const waiting of items) waiting.refuse(error)
  }

  #sending(items: readonly Waiting[], bytes: Buffer): Batch {
    let earliestMs = Number.POSITIVE_INFINITY
    for (const { deadlineMs } of items) earliestMs = Math.min(earliestMs, deadlineMs)
    this.batch = {
      partition: this,
      items,
      bytes,
      earliestMs,
      unsure: false,
      inFlight: false,
      withdrawn: false,
    }
    return this.batch
  }

  /** Finds the record that is to blame: alone it is refused; otherwise the next batch has half as many records. */
  #isolate(items: readonly Waiting[], errorCode: number): void {
    if (items.length === 1) {
      items[0]!.refuse(this.topic.unfit(errorCode))
      return
    }
    this.#maxRecords = Math.ceil(items.length / 2)
    this.queue.putBack(items)
  }

  /** Puts the records of a batch that is not in the log back: keyless ones may go elsewhere. */
  #release(batch: Batch, nowMs: number): void {
    this.batch = undefined
    this.notBeforeMs = nowMs + RETRY_MS
    this.queue.putBack(batch.items.filter(({ record }) => record.key !== undefined))
    this.topic.keyless.putBack(batch.items.filter(({ record }) => record.key === undefined))
  }

  #waitBeforeRetry(batch: Batch, nowMs: number): void {
    batch.unsure = true
    this.notBeforeMs = nowMs + RETRY_MS
  }

  #place(producerId: bigint): Sequence {
    if (this.#producerId !== producerId) {
      this.#producerId = producerId
      this.#epoch = 0
      this.#sequence = 0
    }
    return { producerId, producerEpoch: this.#epoch, baseSequence: this.#sequence & 0x7fffffff }
  }

  #nextEpoch(): void {
    this.#epoch += 1
    this.#sequence = 0
    if (this.#epoch > MAX_EPOCH) this.topic.renewProducer()
  }
}

const MAX_RECORDS = 8192
const MAX_EPOCH = 32_000
const RETRY_MS = 100
