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
  readonly end: () => void
}

/**
 * Fetches that wait for a commit. Their number is in memory shared with the event loop, which notifies the thread of commits only
 * while there are any. A fetch reads the log once more after it began to wait: nobody was notified of a commit before that.
 */
export class Commits {
  readonly #counters: SharedCounters
  readonly #waiters = new Set<Waiter>()

  constructor(counters: SharedCounters) {
    this.#counters = counters
  }

  wait(topics: ReadonlySet<string>, untilMs: number): CommitWait {
    const { promise: ended, resolve } = Promise.withResolvers<void>()
    const end = (): void => {
      clearTimeout(timer)
      this.#waiters.delete(waiter)
      this.#counters.waiting = this.#waiters.size
      resolve()
    }
    const timer = setTimeout(end, Math.ceil(untilMs - steadyMs()))
    const waiter: Waiter = { topics, end }
    this.#waiters.add(waiter)
    this.#counters.waiting = this.#waiters.size
    return { ended, cancel: end }
  }

  /** Records were committed to these topics. */
  committed(topics: readonly string[]): void {
    for (const waiter of this.#waiters) if (topics.some((topic) => waiter.topics.has(topic))) waiter.end()
  }
}
