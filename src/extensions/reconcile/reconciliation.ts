import type { LogReader } from "../../brokers/broker.ts"
import type { Logger } from "../../telemetry/log.ts"
import type { Certificate } from "./certificate.ts"
import type { Ledger } from "./ledger-database.ts"
import type { OutcomeStore } from "./outcome-index.ts"
import type { SenderApi } from "./sender-api.ts"
import type { SharedReconcile } from "./shared-reconcile.ts"

/** The pipeline that the sender's events go to. */
export interface Target {
  /** Why it accepts no events; undefined: it does. */
  problem(): Promise<string | undefined>
  /**
   * Publishes a listed event; undefined: not without `inject`.
   *
   * @returns its outcome; undefined: it has no final one yet @throws HooklineError `unavailable`: it was not tried
   */
  readonly inject: ((body: string) => Promise<string | undefined>) | undefined
  /** Whether a URL may lead to it. */
  isAt(url: string): boolean
}

export interface Reconciliation {
  readonly id: string
  readonly provider: string
  readonly api: SenderApi
  readonly ledger: Ledger
  /** undefined: the list says what the sender got. */
  readonly index: OutcomeStore | undefined
  /** undefined: there are no replicas. */
  readonly shared: SharedReconcile | undefined
  readonly target: Target
  /** Opens the log that the pipeline publishes to. @throws HooklineError */
  readonly openLog: () => Promise<LogReader>
  readonly windowMs: number
  readonly everyMs: number
  readonly certified: (certificate: Certificate) => Promise<void>
  readonly log: Pick<Logger, "info" | "warn" | "error">
  readonly signal: AbortSignal
}

/** What the last pass found, for the page and the metrics. */
export interface ReconcileState {
  /** Milliseconds since 1970; undefined: no pass has read the whole list yet. */
  readonly completeAtMs?: number | undefined
  /** Why the last pass failed. */
  readonly problem?: string | undefined
  /** What is wrong with the endpoint. */
  readonly endpoint?: string | undefined
  /** The window that the last pass read. */
  readonly window?: Certificate | undefined
  /** The newest first. */
  readonly certificates: readonly Certificate[]
  /** Events whose outcomes were taken back since the start. */
  readonly setBack: number
}

export const NO_PASS: ReconcileState = { certificates: [], setBack: 0 }
