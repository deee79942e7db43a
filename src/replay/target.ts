import type { StoredRecord } from "../brokers/broker.ts"
import { HooklineError, type PublishFault } from "../errors.ts"

/** What became of a record. */
export type Sent = "delivered" | Refusal | "stopped"

/** The target will never accept it. */
export interface Refusal {
  readonly reason: string
  /** The code of a broker. */
  readonly code?: PublishFault
  /** The HTTP status of a URL. */
  readonly status?: number | undefined
}

/** Where records are sent. It tries again, for as long as it takes, whatever may pass. */
export interface ReplayTarget {
  /**
   * How many records, and how many bytes of them, may be sent and not yet acknowledged; one record always may. It may change at
   * any time.
   */
  readonly window: { readonly records: number; readonly bytes: number }
  /** Sends a record after those that were sent before. Resolves when the record is durable at the target, or refused. */
  send(record: StoredRecord): Promise<Sent>
  /** Called when a record that it refused is parked, and the position that passes it saved. Absent: no other waits for that. */
  parked?(): void
  /** While held it begins no attempt, not even for records that it has been sent. Absent: it attempts those. */
  hold?(isHeld: boolean): void
  /** Why nothing is accepted now; undefined: no reason is known. */
  problem(): string | undefined
  /** Begins no further attempt: what is under way gets its answer, the rest is `stopped`. Absent: all is under way. */
  end?(): void
  /** Gives up what has no answer: it is `stopped`, and may have arrived. */
  stop(): void
}

/** A target that attempts each record by itself: a URL, or a function. */
export interface AttemptTarget extends ReplayTarget {
  /** The largest window that it may have. */
  readonly largest: ReplayTarget["window"]
  /** Records attempted now. */
  readonly active: number
}

export function refusedError(
  { topic, partition, offset }: StoredRecord,
  { reason, code = "refused" }: Refusal,
): HooklineError {
  return new HooklineError(code, `${topic}[${partition}]@${offset} was refused: ${reason}`)
}
