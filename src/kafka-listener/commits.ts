import { steadyMs } from "../clock/clock.ts"
import type { SharedCounters } from "./shared-counters.ts"

/** A fetch that waits for records. */
export interface CommitWait {
  /** Resolves at the next commit to one of its topics, or when its time is over. */
  readonly ended: Promise<void>
  cancel(): void
}

interface Waiter {
  readonly topics: ReadonlySet<string>
  readonly untilMs: number
  readonly end: () => void
}

const TICK_MS = 10

/**
 * Fetches that wait for a commit. Their number is in memory shared with the event loop, which notifies the thread of commits only
 * while there are any. A fetch reads the log once more after it began to wait: nobody was notified of a commit before that.
 */
export class Commits {
  readonly #counters: SharedCounters
  readonly #waiters = new Set<Waiter>()
  #timer: Timer | undefined

  constructor(counters: SharedCounters) {
    this.#counters = counters
  }

  wait(topics: ReadonlySet<string>, untilMs: number): CommitWait {
    const { promise: ended, resolve } = Promise.withResolvers<void>()
    const waiter: Waiter = {
      topics,
      untilMs,
      end: () => {
        if (!this.#waiters.delete(waiter)) return
        this.#counters.waiting = this.#waiters.size
        resolve()
      },
    }
    this.#waiters.add(waiter)
    this.#counters.waiting = this.#waiters.size
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS)
    return { ended, cancel: waiter.end }
  }

  /** Records were committed to these topics. */
  committed(topics: readonly string[]): void {
    for (const waiter of this.#waiters) if (topics.some((topic) => waiter.topics.has(topic))) waiter.end()
  }

  #tick(): void {
    const nowMs = steadyMs()
    for (const { untilMs, end } of this.#waiters) if (untilMs <= nowMs) end()
    if (this.#waiters.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
