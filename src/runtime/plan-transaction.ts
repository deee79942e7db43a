import type { Acquired, AcquiringParts, Connection } from "../brokers/define-connection.ts"
import type { DedupeKeys } from "../dedupe/dedupe-keys.ts"
import type { Location } from "../dedupe/location.ts"
import type { ResourceSpec } from "../pipeline/resource.ts"
import type { Logger } from "../telemetry/log.ts"

/** Says how a connection is opened, and where its opening is logged and counted. */
export interface Connecting extends Omit<AcquiringParts, "transaction"> {
  readonly id: string
  /** Differs where it has to be opened anew. */
  readonly config: unknown
}

/**
 * The transaction that the parts of a plan are opened in: of a start or a reload, `Transaction`, or of a check,
 * `CheckingTransaction`, which finds what opening them would throw, and changes nothing.
 */
export interface PlanTransaction {
  acquire<T>(spec: ResourceSpec<T>): T
  /** Registers an action of the commit, which a check never has. */
  onCommit(action: () => void): void
  /**
   * Opens a part of the plan.
   *
   * @param parts the part, then others that may have the option for which it can't be opened
   * @returns undefined, in a check alone: it can't be opened, which is reported
   */
  attempt<T>(parts: readonly object[], open: () => T): T | undefined
  connect(connection: Connection, how: Connecting): Acquired | Promise<Acquired>
  openKeys(location: Location, log: Logger): DedupeKeys
}
