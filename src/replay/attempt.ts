import type { StoredRecord } from "../brokers/broker.ts"

/** How one attempt to deliver a record ended. */
export interface Attempt {
  /**
   * - delivered: it has accepted the record
   * - refused: it would not accept this record if it came again
   * - unavailable: it may accept it later, or there was no answer
   */
  readonly outcome: "delivered" | "refused" | "unavailable"
  /** Of a URL; undefined: no response. */
  readonly status?: number | undefined
  /** Empty: delivered. */
  readonly reason: string
  /** The time in the header Retry-After. */
  readonly retryAfterMs?: number | undefined
  readonly durationMs: number
}

/** Called after each attempt; `retryInMs` when there will be another. */
export type OnAttempt = (record: StoredRecord, attempt: Attempt, retryInMs: number | undefined) => void

/** When a record that fails is refused for good. */
export interface Patience {
  /** How often it has to be refused, whatever becomes of others. */
  readonly refusals: number
  /** Its second refusal is final if others are accepted between the two; if not, one after this time. Undefined: `refusals` count. */
  readonly parkAfterMs?: number | undefined
  /**
   * How often a record that is neither accepted nor refused is attempted again, while others are accepted in between; then
   * it counts as refused. Undefined: without limit.
   */
  readonly retries?: number | undefined
}

export interface AttemptOptions {
  /**
   * Attempts to deliver a record; never rejects.
   *
   * @param times `attempts` of this record, this one included; `sent`: records of its partition before it
   */
  readonly attempt: (
    record: StoredRecord,
    signal: AbortSignal,
    times: { readonly attempts: number; readonly sent: number },
  ) => Promise<Attempt>
  /** 1 unless given: one after the other. */
  readonly concurrency?: number | undefined
  readonly patience?: Patience
  /** Whether no attempt begins after a refusal. One after the other, no record is attempted before an earlier one is delivered. */
  readonly stops?: boolean | undefined
  readonly attempted?: OnAttempt | undefined
}

/** Pauses between attempts, in milliseconds. */
export const ATTEMPT_RETRY_MS = { first: 250, longest: 10_000 }

/** Up to a quarter less, so that several senders do not come back together. */
export const jittered = (ms: number): number => Math.round(ms * (1 - Math.random() / 4))
