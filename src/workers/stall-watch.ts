import { steadyMs } from "../steady-clock.ts"
import type { Logger } from "../telemetry/log.ts"

/*
 * The states of a process that is watched:
 *
 *   answering  its event loop answers heartbeats
 *   stalled    it has not for STALLED_MS: it is logged, and is not ready
 *   killed     it has not for `patienceMs`: it is logged, and killed
 *
 * Silence is counted in ticks of the supervisor's own loop, and a tick counts as two at most. Time in which the supervisor
 * itself did not run (SIGSTOP, a suspended machine) is not the worker's, and what the worker answered meanwhile is read
 * before the next tick: on waking, the supervisor kills nobody for its own absence.
 */

/** What is watched, and what becomes of it. */
export interface Watched {
  readonly worker: number
  readonly pid: number
  readonly log: Logger
  /** Resolves when the event loop of the process has come round; rejects when it has ended. */
  readonly heartbeat: () => Promise<void>
  /** It has much to read and to open before its event loop comes round: its silence is no stall yet. */
  readonly isStarting: () => boolean
  /** For how long it may be silent. */
  readonly patienceMs: () => number
  /** It has become silent. */
  readonly stalled: () => void
  /** It was silent for too long. */
  readonly overdue: () => void
}

const TICK_MS = 250
/** A process that is silent for so long does not take webhooks. */
export const STALLED_MS = 2000

/** Notices that a process stands still: paused, starved, or in a loop that never ends. */
export class StallWatch {
  readonly #watched: Watched
  readonly #timer: Timer
  #tickedMs = steadyMs()
  #silentMs = 0
  /** A heartbeat is out; there is never more than one, so that none gather while nobody reads them. */
  #asked = false
  #state: "answering" | "stalled" | "killed" = "answering"

  constructor(watched: Watched) {
    this.#watched = watched
    this.#timer = setInterval(() => this.tick(steadyMs()), TICK_MS)
  }

  /** For how long it has been silent; undefined: it answers. */
  get stalledMs(): number | undefined {
    return this.#state === "answering" ? undefined : this.#silentMs
  }

  end(): void {
    clearInterval(this.#timer)
  }

  /** For the timer, and for tests. */
  tick(nowMs: number): void {
    const passedMs = Math.min(nowMs - this.#tickedMs, 2 * TICK_MS)
    this.#tickedMs = nowMs
    if (!this.#asked) return void this.#ask()
    this.#silentMs += passedMs
    const { isStarting, patienceMs } = this.#watched
    if (this.#state === "answering" && this.#silentMs >= STALLED_MS && !isStarting()) this.#stall()
    if (this.#state !== "killed" && this.#silentMs >= patienceMs()) this.#kill()
  }

  async #ask(): Promise<void> {
    this.#asked = true
    try {
      await this.#watched.heartbeat()
    } catch {
      // it has ended, which is told elsewhere
      return
    }
    this.#asked = false
    if (this.#state === "stalled") this.#answers()
    this.#silentMs = 0
  }

  #stall(): void {
    this.#state = "stalled"
    const { log, worker, pid, stalled } = this.#watched
    stalled()
    log.warn({ worker, pid }, `worker stalled: its event loop has not answered for ${STALLED_MS / 1000} s`)
  }

  #answers(): void {
    this.#state = "answering"
    const { log, worker, pid } = this.#watched
    log.warn({ worker, pid, stalled_ms: Math.round(this.#silentMs) }, "stalled worker answers again")
  }

  #kill(): void {
    this.#state = "killed"
    const { log, worker, pid, overdue } = this.#watched
    log.error(
      { worker, pid, stalled_ms: Math.round(this.#silentMs) },
      "worker stalled for too long: killing it",
    )
    overdue()
  }
}
