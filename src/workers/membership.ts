import type { Broker } from "../brokers/broker.ts"
import type { Peers } from "../dedupe/shared-ids.ts"

/** What a process that shares the load with others does otherwise than one that is alone. */
export interface Membership {
  /** Its number, from 1. */
  readonly worker: number
  /** How many share the load. */
  readonly workers: number
  /** What publishes to a connection that is open in the supervisor; undefined: each worker opens this one itself. */
  readonly remote: (connection: string) => Remote | undefined
  /** Called when all is open for a change of plans; resolves when the others are as far, rejects when it is given up. */
  readonly agreed: () => Promise<void>
  readonly peers: Peers
}

/** A broker in another process. */
export interface Remote {
  /** Another one for another broker. */
  readonly number: number
  readonly open: () => Broker
}
