import type { Logger } from "../../telemetry/log.ts"
import type { KafkaMetrics } from "../../telemetry/metrics.ts"
import type { Sequence } from "../../kafka-protocol/batch-header.ts"

/** The id under which brokers know this producer; requested with the next metadata when there is none. */
export class ProducerId {
  /** Undefined until the cluster has given one. */
  value: bigint | undefined
  readonly #log: Logger
  readonly #metrics: KafkaMetrics
  readonly #onReset: () => void

  constructor(log: Logger, metrics: KafkaMetrics, onReset: () => void) {
    this.#log = log
    this.#metrics = metrics
    this.#onReset = onReset
  }

  /** Gives the id up, so that another one is requested. */
  reset(reason: string): void {
    if (this.value !== undefined) {
      this.#metrics.incident("producer_id_renewed")
      this.#log.warn({ reason }, "requesting a new producer id")
    }
    this.value = undefined
    this.#onReset()
  }
}

/**
 * A partition's position in the idempotent producer's sequence: producer id, epoch, number of its next record. By these
 * the broker recognizes the repeat of a batch that it has.
 *
 * The epoch is raised, and the sequence begins at 0 again, whenever a batch of unknown outcome is not sent any more: the
 * broker rejects batches of older epochs, so that batch can't come between later ones, and no sequence is ever used for
 * two payloads. (Java's producer does the same, TransactionManager.bumpIdempotentProducerEpoch.) The epoch is never
 * lowered under one producer id: a sequence that began again in an epoch that the broker knows would be taken for the
 * repeat of what is in the log.
 */
export class PartitionSequence {
  readonly #producer: ProducerId
  #producerId = -1n
  #epoch = 0
  #next = 0
  /** The next batch gets a new epoch. */
  #raiseDue = false
  /** Offset of the last acknowledged record under this producer id; -1: unknown. */
  lastOffset = -1

  constructor(producer: ProducerId) {
    this.#producer = producer
  }

  /** The sequence of a new batch, under the producer's id. */
  next(producerId: bigint): Sequence {
    if (this.#producerId !== producerId) {
      this.#producerId = producerId
      this.#epoch = 0
      this.#next = 0
      this.#raiseDue = false
      this.lastOffset = -1
    }
    if (this.#raiseDue) this.raiseEpoch()
    return { producerId, producerEpoch: this.#epoch, baseSequence: this.#next & 0x7fffffff }
  }

  raiseEpoch(): void {
    this.#raiseDue = false
    this.#epoch += 1
    this.#next = 0
    if (this.#epoch > MAX_EPOCH) this.#producer.reset("epochs exhausted")
  }

  /** The log may be a new one: offsets may begin at 0 again, and the next batch gets a new epoch. */
  expectNewLog(): void {
    this.lastOffset = -1
    this.#raiseDue = true
  }

  /** Whether an offset is that of a record that was acknowledged before. */
  isBehind(baseOffset: number): boolean {
    return baseOffset >= 0 && baseOffset <= this.lastOffset
  }

  /** A batch is in the log, at an offset where the broker says so, else -1. */
  acknowledged(records: number, baseOffset: number): void {
    this.#next += records
    if (baseOffset >= 0) this.lastOffset = baseOffset + records - 1
  }
}

/** Stays below the largest int16, for batches that are formed before the new producer id has come. */
const MAX_EPOCH = 32_000
