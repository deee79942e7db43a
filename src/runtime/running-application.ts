import type { Steps } from "../clock/slices.ts"
import type { Logger, LogLevel } from "../telemetry/log.ts"
import type { Metrics } from "../telemetry/metrics.ts"
import type { Changes } from "./configuration-diff.ts"
import type { Plan } from "./plan/plan.ts"

/** A pipeline's address. */
export interface Listening {
  readonly pipeline: string
  /** With the port that is bound and the path: `http://127.0.0.1:8080/webhook`. */
  readonly url: string
}

/** An application that was started. */
export interface RunningApplication {
  /** Its log, at the configured level. */
  readonly log: Logger
  /** Its addresses, one for each pipeline; empty: it has no ports. */
  readonly listening: readonly Listening[]
  /** Drains, flushes, closes. Further calls wait for the same end. */
  stop(): Promise<void>
}

export type Explain = (error: unknown) => Promise<unknown>

/** @internal A plan that runs and can be changed. */
export interface ReloadableApplication extends RunningApplication {
  readonly metrics: Metrics
  readonly plan: Plan
  /**
   * Changes to another plan, or throws a HooklineError and changes nothing; logs and counts the result.
   *
   * @param explain adds to an error what else is wrong
   */
  reload(read: () => Steps<Plan>, explain: Explain): Promise<Changes>
  /** Reloads what it was started with; undefined until it has started. */
  reloadAgain: (() => Promise<Changes>) | undefined
  /** Logs at another level until a reload sets the configured one. */
  setLogLevel(level: LogLevel): Promise<void>
}
