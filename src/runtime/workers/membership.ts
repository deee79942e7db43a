/** One of several processes that share the load. */
export interface Membership {
  /** From 1. */
  readonly worker: number
  readonly workers: number
}
