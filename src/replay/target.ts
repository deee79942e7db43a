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
  /** Sends a record after those that were sent before; one that is refused holds up none. Resolves when the record is durable at the target. */
  send(record: StoredRecord): Promise<Sent>
  /** While held it begins no attempt, not even for records that it has been sent. Absent: it attempts those. */
  hold?(isHeld: boolean): void
  /** Why nothing is accepted now; undefined: no reason is known. */
  problem(): string | undefined
  /** Gives up what has no answer: it is `stopped`, and may have arrived. */
  stop(): void
}

export function refusedError(
  { topic, partition, offset }: StoredRecord,
  { reason, code = "refused" }: Refusal,
): HooklineError {
  return new HooklineError(code, `${topic}[${partition}]@${offset} was refused: ${reason}`)
}
