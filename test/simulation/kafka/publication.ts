import type { SimulatedProcess } from "../simulated-process.ts"

/** A record that a service is to publish, and what became of it. */
export interface Publication {
  readonly id: number
  readonly process: SimulatedProcess
  readonly topic: string
  readonly key: string | undefined
  /** Begins with the id. */
  readonly value: Buffer
  readonly timeoutMs: number
  /** -1: not yet. */
  publishedMs: number
  outcome: "pending" | "acknowledged" | "rejected"
}

/** The id in a record's value. */
export const idOf = (value: Buffer): number => Number.parseInt(value.toString("latin1", 0, 12), 10)
