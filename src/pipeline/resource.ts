import type { FaultCode, HooklineError } from "../errors.ts"

/**
 * Something open that outlives reloads: a connection, a store, a component's state. Acquiring the same name with an
 * equal config again gives the same instance; runtime/resources.ts has the states.
 */
export interface ResourceSpec<T> {
  /** Unique; acquiring a name twice shares the instance. */
  readonly name: string
  /** Its configuration: plain data is compared by value, everything else by identity. Absent: it has none. */
  readonly config?: unknown
  /** @param failure of a moment ago, one of `retries`: what is returned opens itself later */
  readonly open: (failure?: HooklineError) => T
  /** @internal Failures at which a start continues without it. Absent: none. */
  readonly retries?: readonly FaultCode[]
  /**
   * Absent: nothing to close.
   *
   * @param untilMs deadline of unfinished work, by the steady clock
   */
  readonly close?: (resource: T, untilMs: number) => void | Promise<void>
  /** Whether an instance with an equal config is still usable. */
  readonly fits?: (resource: T) => boolean
}
