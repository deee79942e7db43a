import { CODE } from "./codes.ts"
import type { RecordBatch } from "./record-batches.ts"

interface Stored {
  readonly firstSequence: number
  readonly lastSequence: number
  readonly offset: number
}

interface Producer {
  readonly epoch: number
  /** The last five at most, the oldest first. */
  readonly batches: readonly Stored[]
}

/** How a broker judges a batch: to be appended, known already at an offset, or refused. */
export type Judgement = { readonly offset: number } | { readonly error: number } | undefined

/**
 * What a replica remembers of the idempotent producers that wrote to it, and how a leader judges their batches by it: as
 * Kafka's ProducerStateManager, ProducerAppendInfo and UnifiedLog.analyzeAndValidateProducerState.
 */
export class ProducerState {
  readonly #producers = new Map<bigint, Producer>()
  /** Kafka before 2.5: a producer that is not known has to begin at 0. */
  readonly #isStrict: boolean

  constructor(isStrict: boolean) {
    this.#isStrict = isStrict
  }

  judge({ producerId, producerEpoch, baseSequence, records }: RecordBatch): Judgement {
    const known = this.#producers.get(producerId)
    if (known === undefined) {
      if (this.#isStrict && baseSequence !== 0) return { error: CODE.UNKNOWN_PRODUCER_ID }
      return undefined
    }
    const lastSequence = sequence(baseSequence, records.length - 1)
    if (producerEpoch === known.epoch) {
      const found = known.batches.find(
        (one) => one.firstSequence === baseSequence && one.lastSequence === lastSequence,
      )
      if (found !== undefined) return { offset: found.offset }
    }
    if (producerEpoch < known.epoch) return { error: CODE.INVALID_PRODUCER_EPOCH }
    if (producerEpoch > known.epoch)
      return baseSequence === 0 ? undefined : { error: CODE.OUT_OF_ORDER_SEQUENCE_NUMBER }
    const expected = sequence(known.batches.at(-1)!.lastSequence, 1)
    return baseSequence === expected ? undefined : { error: CODE.OUT_OF_ORDER_SEQUENCE_NUMBER }
  }

  appended({ producerId, producerEpoch, baseSequence, records }: RecordBatch, offset: number): void {
    const known = this.#producers.get(producerId)
    const before = known?.epoch === producerEpoch ? known.batches.slice(1 - REMEMBERED) : []
    const stored = {
      firstSequence: baseSequence,
      lastSequence: sequence(baseSequence, records.length - 1),
      offset,
    }
    this.#producers.set(producerId, { epoch: producerEpoch, batches: [...before, stored] })
  }

  /** All of them. */
  clear(): void {
    this.#producers.clear()
  }
}

/** Batches of a producer, in each partition. */
const REMEMBERED = 5

/** Sequences go round at 2^31. */
const sequence = (from: number, more: number): number => (from + more) % 2 ** 31
