// Hot path: every body that is read passes here.
import { steadyMs } from "../steady-clock.ts"

/** One wait, and its place in the list. */
export interface Wait {
  readonly endsMs: number
  readonly over: (reason: "body_timeout") => void
  before: Wait | undefined
  after: Wait | undefined
  waits: boolean
}

/**
 * Waits of equal length, most of which end early: a list in the order of their ends, with one timer for the first. A timer
 * for each would cost an event 1.3 us of CPU, of 15 that it takes before the broker.
 */
export class BodyDeadlines {
  readonly #ms: number
  #first: Wait | undefined
  #last: Wait | undefined
  #hasTimer = false

  /** @param ms how long each wait is */
  constructor(ms: number) {
    this.#ms = ms
  }

  /** Calls back when the time is over, unless the wait has ended before. */
  start(over: Wait["over"]): Wait {
    const wait = { endsMs: steadyMs() + this.#ms, over, before: this.#last, after: undefined, waits: true }
    if (this.#last === undefined) this.#first = wait
    else this.#last.after = wait
    this.#last = wait
    if (!this.#hasTimer) this.#wakeIn(this.#ms)
    return wait
  }

  /** Ends a wait; one that has ended stays as it is. */
  end(wait: Wait): void {
    if (!wait.waits) return
    wait.waits = false
    const { before, after } = wait
    if (before === undefined) this.#first = after
    else before.after = after
    if (after === undefined) this.#last = before
    else after.before = before
  }

  /** The timer outlives the waits that it was set for; it keeps no process alive. */
  #wakeIn(ms: number): void {
    this.#hasTimer = true
    setTimeout(() => {
      const nowMs = steadyMs()
      let first = this.#first
      while (first !== undefined && first.endsMs <= nowMs) {
        this.end(first)
        first.over("body_timeout")
        first = this.#first
      }
      if (first === undefined) this.#hasTimer = false
      else this.#wakeIn(first.endsMs - nowMs)
    }, ms).unref()
  }
}
