import { steadyMs } from "../../clock/clock.ts"
import type { Logger } from "../../telemetry/log.ts"

/*
 * The states of a watched process:
 *
 *   answering  its event loop answers heartbeats
 *   stalled    it has not for STALLED_MS: logged, and not ready
 *   killed     it has not for `timeoutMs`: logged, and killed
 *
 * Silence is counted in ticks of the supervisor's own loop, and a tick counts as two at most. Time in which the supervisor
 * itself did not run (SIGSTOP, a suspended machine) is not the worker's, and what the worker answered meanwhile is read
 * before the next tick: on waking, the supervisor kills no worker for its own absence.
 */

export interface Watched {
  /** With the process's fields. */
  readonly log: Logger
  /** Resolves when the process's event loop has answered; rejects when it has ended. */
  readonly heartbeat: () => Promise<void>
  /** It reads and opens much before its event loop answers: silence is no stall yet. */
  readonly isStarting: () => boolean
  /** The longest silence. */
  readonly timeoutMs: () => number
  readonly stalled: () => void
  readonly overdue: () => void
}

const TICK_MS = 250
/** A process silent for this long counts as not serving. */
export const STALLED_MS = 2000

/** Detects a process that is paused, starved, or in an endless loop. */
export class StallWatch {
  readonly #watched: Watched
  readonly #timer: Timer
  #tickedMs = steadyMs()
  #silentMs = 0
  /** A heartbeat is unanswered; only one is sent at a time, so that none queue up. */
  #asked = false
  #state: "answering" | "stalled" | "killed" = "answering"

  constructor(watched: Watched) {
    this.#watched = watched
    this.#timer = setInterval(() => this.tick(steadyMs()), TICK_MS)
  }

  /** undefined: it answers. */
  get stalledMs(): number | undefined {
    return this.#state === "answering" ? undefined : this.#silentMs
  }

  end(): void {
    clearInterval(this.#timer)
  }

  /** Called by the timer, and by tests. */
  tick(nowMs: number): void {
    const passedMs = Math.min(nowMs - this.#tickedMs, 2 * TICK_MS)
    this.#tickedMs = nowMs
    if (!this.#asked) return void this.#ask()
    this.#silentMs += passedMs
    const { isStarting, timeoutMs } = this.#watched
    if (this.#state === "answering" && this.#silentMs >= STALLED_MS && !isStarting()) this.#stall()
    if (this.#state !== "killed" && this.#silentMs >= timeoutMs()) this.#kill()
  }

  async #ask(): Promise<void> {
    this.#asked = true
    try {
      await this.#watched.heartbeat()
    } catch {
      // ended, which restarting-worker.ts handles
      return
    }
    this.#asked = false
    if (this.#state === "stalled") this.#answers()
    this.#silentMs = 0
  }

  #stall(): void {
    this.#state = "stalled"
    const { log, stalled } = this.#watched
    stalled()
    log.warn(`worker stalled: its event loop has not answered for ${STALLED_MS / 1000} s`)
  }

  #answers(): void {
    this.#state = "answering"
    this.#watched.log.warn({ stalled_ms: Math.round(this.#silentMs) }, "stalled worker answers again")
  }

  #kill(): void {
    this.#state = "killed"
    const { log, overdue } = this.#watched
    log.error({ stalled_ms: Math.round(this.#silentMs) }, "worker stalled for too long; killing it")
    overdue()
  }
}
