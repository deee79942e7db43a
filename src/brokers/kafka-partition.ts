import { PublishError } from "../errors.ts"
import { Delivery } from "./kafka-delivery.ts"
import { Queue, type Room, type Waiting } from "./kafka-queue.ts"
import { encodeBatch, type Sequence } from "./kafka-records.ts"
import type { Topic } from "./kafka-topic.ts"
import { DUPLICATE_SEQUENCE, MESSAGE_TOO_LARGE, nameOf, UNKNOWN_TOPIC, verdictOf } from "./kafka-verdict.ts"

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
  /** How often the broker answered it with a code that no batch is answered with. */
  tries: number
  /** How often the broker closed the connection on a request that held nothing else. */
  closes: number
}

/**
 * One partition of a topic's name: what waits for it, and its place in the producer's sequence.
 *
 * The broker knows a batch by producer id, epoch and sequence. One batch is out at a time. When its fate is unknown (the
 * connection broke, the leader changed), the very same batch is sent again until the broker says, or until the first
 * deadline in it passes. Then it is given up: its records are answered with an error, and the epoch goes up by one with
 * the sequence back at 0. The broker refuses batches of older epochs, so a given-up batch that still lies in some buffer
 * can't come between later ones, and no sequence is ever used for two payloads. (Java's producer raises the epoch by
 * itself in the same way, TransactionManager.bumpIdempotentProducerEpoch.)
 *
 * So the epoch only goes up, and the partition is kept as long as the producer id, whatever metadata says of the topic: a
 * sequence that began anew under the same epoch would be taken for the repeat of what is in the log already. When the topic
 * was made anew, the next batch has a new epoch as well.
 *
 * Offsets show whether that holds: one that is not above the last acknowledged one is the offset of another batch.
 */
export class Partition {
  readonly topic: Topic
  readonly index: number
  /** Id of the broker that leads it; -1: none. */
  leader = -1
  /** Keyed records, and those that were put back for this partition. */
  readonly queue = new Queue()
  readonly delivery = new Delivery()
  /** What is under way or of unknown fate; undefined: nothing is. */
  batch: Batch | undefined
  /** Nothing is sent before this time: the broker has just refused. */
  notBeforeMs = 0
  /** Of the leader that metadata named, as far as it is known. */
  #leaderEpoch = -1
  /** Metadata has named an older leader ever since. */
  #olderSinceMs: number | undefined
  #producerId = -1n
  #epoch = 0
  #sequence = 0
  #epochIsDue = false
  /** Of the last acknowledged record under this producer id. */
  #lastOffset = -1
  /** Refusals in a row that a new epoch should have mended. */
  #outOfSequence = 0
  /** Fewer after a batch that was refused for one of its records, to find that one. */
  #maxRecords = MAX_RECORDS

  constructor(topic: Topic, index: number) {
    this.topic = topic
    this.index = index
  }

  /** Whether it has something to send, or something under way. Keyless records wait for their topic. */
  get isBusy(): boolean {
    return this.batch !== undefined || this.queue.length > 0
  }

  /** Bytes that its next batch takes at least. */
  get nextBytes(): number {
    return this.batch?.bytes.length ?? this.queue.firstBytes ?? this.topic.keyless.firstBytes ?? 0
  }

  /**
   * Takes what metadata says of its leader. One of an older leader epoch comes from a broker that lags behind, unless
   * nothing else is heard for BELIEVED_MS.
   *
   * @returns whether it was believed
   */
  follow(leader: number, leaderEpoch: number, nowMs: number): boolean {
    if (leaderEpoch >= 0 && leaderEpoch < this.#leaderEpoch) {
      this.#olderSinceMs ??= nowMs
      if (nowMs - this.#olderSinceMs < BELIEVED_MS) return false
    }
    this.#olderSinceMs = undefined
    this.#leaderEpoch = leaderEpoch
    this.leader = leader
    return true
  }

  /** The topic was made anew: what is known of its leader is worth nothing. */
  renew(): void {
    this.#leaderEpoch = -1
    this.#olderSinceMs = undefined
    this.#expectNewLog()
  }

  /**
   * Makes a batch of what waits here and, when it is this partition's turn, of keyless records.
   *
   * @param maxBytes of the request that it is for
   */
  form(producerId: bigint, takesKeyless: boolean, maxBytes: number): Batch | undefined {
    const { batchBytes, maxMessageBytes, compression, keyless } = this.topic
    for (;;) {
      const items: Waiting[] = []
      const room = { records: this.#maxRecords, bytes: Math.min(batchBytes, maxBytes), untilMs: 0 }
      // while a record is looked for, what was put back goes first
      if (takesKeyless && this.#maxRecords === MAX_RECORDS) {
        moveHalf(this.queue, items, room)
        keyless.moveTo(items, room)
      }
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
    if (verdict !== "stored") this.delivery.refused(verdict, errorCode, nowMs)
    if (batch.withdrawn && verdict !== "stored") return this.giveUp()
    if (verdict !== "out_of_sequence") this.#outOfSequence = 0
    switch (verdict) {
      case "stored":
        if (this.#isAnother(batch, errorCode, baseOffset)) return this.#notStored(baseOffset)
        this.delivery.acknowledged(nowMs)
        this.#sequence += batch.items.length
        this.#maxRecords = Math.min(this.#maxRecords * 2, MAX_RECORDS)
        this.batch = undefined
        if (baseOffset >= 0) this.#lastOffset = baseOffset + batch.items.length - 1
        for (let at = 0; at < batch.items.length; at++) {
          batch.items[at]!.accept({ partition: this.index, offset: baseOffset < 0 ? -1 : baseOffset + at })
        }
        return
      case "unsure":
        if (errorCode === UNKNOWN_TOPIC) this.#expectNewLog()
        this.#waitBeforeRetry(batch, nowMs)
        return
      case "unexpected":
        if (++batch.tries >= TRIES) return this.giveUp(this.topic.unexpected(errorCode))
        this.#waitBeforeRetry(batch, nowMs, Math.min(RETRY_MS * 2 ** batch.tries, MAX_RETRY_MS))
        return
      case "out_of_sequence":
        // The broker would have known the batch if it were there, so it is not: the same records may go out anew.
        this.#outOfSequence++
        if (this.#outOfSequence >= QUICK_TRIES) {
          this.#outOfSequence = 0
          return this.giveUp(this.topic.unexpected(errorCode))
        }
        this.#nextEpoch()
        // another producer may have the same id, with a higher epoch
        if (this.#outOfSequence === 2) this.topic.renewProducer(`error ${nameOf(errorCode)}`)
        this.#release(batch, nowMs)
        return
      case "refused_for_now":
        if (batch.unsure) this.#waitBeforeRetry(batch, nowMs)
        else this.#release(batch, nowMs)
        return
      case "corrupt":
        this.notBeforeMs = nowMs + RETRY_MS
        if (++batch.tries < QUICK_TRIES) return
        if (batch.unsure) return this.giveUp()
        this.batch = undefined
        return this.#isolate(batch.items, errorCode)
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
    this.delivery.lost(nowMs)
    this.#waitBeforeRetry(batch, nowMs)
  }

  /**
   * The broker closes the connection on a request that holds nothing but this batch, again and again, and takes
   * connections all the same.
   *
   * @param maxBytes what the broker may take
   */
  cannotBeSent(batch: Batch, maxBytes: number): void {
    if (this.batch !== batch || batch.inFlight) return
    const isOver = batch.bytes.length > maxBytes
    if (batch.items.length === 1 || !isOver) {
      return this.giveUp(this.topic.connectionClosedOn(batch.bytes.length, isOver))
    }
    this.#nextEpoch()
    this.batch = undefined
    this.queue.putBack(batch.items)
  }

  /** Rejects what is past its deadline; gives a batch of unknown fate up when it must not be sent again. */
  expire(nowMs: number): void {
    this.queue.expire(nowMs)
    const { batch } = this
    if (batch === undefined || (nowMs < batch.earliestMs && !batch.withdrawn)) return
    if (!batch.withdrawn) this.delivery.late(nowMs)
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
  giveUp(error = new PublishError("unavailable", "Kafka did not say whether it took the record")): void {
    const items = this.batch?.items ?? []
    this.batch = undefined
    this.#nextEpoch()
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
      tries: 0,
      closes: 0,
    }
    return this.batch
  }

  /** What the log had of this producer may be gone, and its offsets may begin anew. */
  #expectNewLog(): void {
    this.#lastOffset = -1
    this.#epochIsDue = true
  }

  /** Whether what the broker says is stored is another batch than this one. */
  #isAnother({ unsure }: Batch, errorCode: number, baseOffset: number): boolean {
    if (errorCode === DUPLICATE_SEQUENCE) return !unsure
    return baseOffset >= 0 && baseOffset <= this.#lastOffset
  }

  /** The broker took the batch for one that it has, or its log has lost records. The batch's own fate is unknown. */
  #notStored(baseOffset: number): void {
    const error = this.topic.offsetBehind(this.index, baseOffset, this.#lastOffset)
    this.#lastOffset = -1
    this.giveUp(error)
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
    this.topic.putBackKeyless(batch.items.filter(({ record }) => record.key === undefined))
  }

  #waitBeforeRetry(batch: Batch, nowMs: number, ms = RETRY_MS): void {
    batch.unsure = true
    this.notBeforeMs = nowMs + ms
  }

  #place(producerId: bigint): Sequence {
    if (this.#producerId !== producerId) {
      this.#producerId = producerId
      this.#epoch = 0
      this.#sequence = 0
      this.#lastOffset = -1
      this.#epochIsDue = false
    }
    if (this.#epochIsDue) this.#nextEpoch()
    return { producerId, producerEpoch: this.#epoch, baseSequence: this.#sequence & 0x7fffffff }
  }

  #nextEpoch(): void {
    this.#epochIsDue = false
    this.#epoch += 1
    this.#sequence = 0
    if (this.#epoch > MAX_EPOCH) this.topic.renewProducer("no epoch is left")
  }
}

/** Moves records into half of a batch's room, so that neither those with a key nor those without wait for the others. */
function moveHalf(queue: Queue, items: Waiting[], room: Room): void {
  const kept = { records: Math.floor(room.records / 2), bytes: Math.floor(room.bytes / 2) }
  room.records -= kept.records
  room.bytes -= kept.bytes
  queue.moveTo(items, room)
  room.records += kept.records
  room.bytes += kept.bytes
}

const MAX_RECORDS = 8192
const MAX_EPOCH = 32_000
const RETRY_MS = 100
const MAX_RETRY_MS = 5000
/** How often a batch is sent in vain whose answers say nothing about it: within 13 s, for what may pass. */
const TRIES = 8
/** How often one is that is damaged, or out of sequence. */
const QUICK_TRIES = 5
/** For so long a broker that lags behind is not believed. */
export const BELIEVED_MS = 5000
