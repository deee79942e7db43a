import type { Changes } from "../changes.ts"
import type { Seed } from "../config/seed.ts"
import { HooklineError, type FaultCode } from "../errors.ts"
import type { Listening, State } from "../running.ts"
import type { PackedMetrics } from "./summed-metrics.ts"

/** What a worker is to run. */
export interface Order {
  /** What the configuration file said when it was read: a worker that is started anew takes the same. */
  readonly seed: Seed
  /** The connections that are open in the supervisor, by id, with the numbers of their brokers. */
  readonly hosted: ReadonlyMap<string, number>
}

/** What the supervisor asks of a worker, over Bun's own channel; each call has one answer. */
export interface Calls {
  /** Opens everything and listens. */
  start(order: Order & { readonly worker: number; readonly workers: number }): Listening[]
  /** Opens what another order needs. Nothing is changed yet. */
  prepare(order: Order): void
  /** Changes to what was prepared. */
  commit(): Changed
  /** Closes what was prepared. */
  abort(): void
  /** Answers when all events that began before the last change have ended. */
  settle(): void
  state(): State
  /** Answers as soon as the event loop comes round. */
  heartbeat(): void
  metrics(): PackedMetrics
  /** Drains and ends. */
  stop(): void
}

export interface Changed {
  readonly changes: Changes
  readonly listening: Listening[]
}

export type CallName = keyof Calls

export interface Question {
  readonly number: number
  readonly call: CallName
  readonly argument?: unknown
}

export interface Reply {
  readonly number: number
  readonly result?: unknown
  readonly problem?: Problem
}

/** A HooklineError as it is sent. */
export interface Problem {
  readonly code: FaultCode
  readonly message: string
}

/** @param told is called with what is no HooklineError, whose stack stays here */
export function problemOf(error: unknown, told: (error: unknown) => void): Problem {
  if (error instanceof HooklineError) return { code: error.code, message: error.message }
  told(error)
  return { code: "internal", message: `a fault in a worker: ${(error as Error).message}` }
}

export const errorOf = ({ code, message }: Problem): HooklineError => new HooklineError(code, message)
