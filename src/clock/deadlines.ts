// Hot path: every body and every record passes here.
import { steadyMs } from "./clock.ts"

export interface Wait {
  readonly endsMs: number
  readonly over: () => void
}

/**
 * Waits of equal length, most of which end early: a set in order of expiry, with one timer for the first. A timer each
 * would cost an event 1.3 us of CPU, of 15 before the broker.
 */
export class Deadlines {
  readonly #ms: number
  readonly #waits = new Set<Wait>()
  #hasTimer = false

  /** @param ms length of each wait */
  constructor(ms: number) {
    this.#ms = ms
  }

  /** Calls `over` after the time, unless the wait has ended. */
  start(over: Wait["over"]): Wait {
    const wait = { endsMs: steadyMs() + this.#ms, over }
    this.#waits.add(wait)
    if (!this.#hasTimer) this.#wakeIn(this.#ms)
    return wait
  }

  end(wait: Wait): void {
    this.#waits.delete(wait)
  }

  /** The timer outlives its waits, and is unreferenced. */
  #wakeIn(ms: number): void {
    this.#hasTimer = true
    setTimeout(() => {
      const nowMs = steadyMs()
      for (const wait of this.#waits) {
        if (wait.endsMs > nowMs) return this.#wakeIn(wait.endsMs - nowMs)
        this.#waits.delete(wait)
        wait.over()
      }
      this.#hasTimer = false
    }, ms).unref()
  }
}

/** Items in order of arrival, each with a deadline of its own. */
export class DeadlineQueue<T extends { readonly deadlineMs: number }> {
  readonly #late: (one: T) => void
  #items: T[] = []
  /** No deadline is earlier. */
  #earliestMs = Number.POSITIVE_INFINITY

  /** @param late called with each item that `expire` removes */
  constructor(late: (one: T) => void) {
    this.#late = late
  }

  /** No deadline is earlier; the earliest may be later, once its item was taken. */
  get earliestMs(): number {
    return this.#earliestMs
  }

  get length(): number {
    return this.#items.length
  }

  /** In order of arrival. */
  get items(): readonly T[] {
    return this.#items
  }

  push(one: T): void {
    this.#items.push(one)
    if (one.deadlineMs < this.#earliestMs) this.#earliestMs = one.deadlineMs
  }

  /** Puts items before all others. */
  putBack(items: readonly T[]): void {
    if (items.length === 0) return
    this.#items = [...items, ...this.#items]
    for (const { deadlineMs } of items) this.#earliestMs = Math.min(this.#earliestMs, deadlineMs)
  }

  /** Removes the first `count` items, by default all. @returns them */
  take(count = this.#items.length): T[] {
    const items = this.#items
    if (count < items.length) return items.splice(0, count)
    this.#items = []
    this.#earliestMs = Number.POSITIVE_INFINITY
    return items
  }

  /** Removes the items past their deadlines. */
  expire(nowMs: number): void {
    if (nowMs < this.#earliestMs) return
    const late = this.#items.filter(({ deadlineMs }) => deadlineMs <= nowMs)
    this.#items = this.#items.filter(({ deadlineMs }) => deadlineMs > nowMs)
    this.#earliestMs = this.#items.reduce((ms, it) => Math.min(ms, it.deadlineMs), Number.POSITIVE_INFINITY)
    for (const one of late) this.#late(one)
  }
}

/** How late a deadline may be noticed. */
const SWEEP_MS = 10

/**
 * Checks deadlines every few milliseconds while anything has one.
 *
 * @param expire rejects what is past its deadline; returns whether anything is left
 * @returns to be called when something with a deadline was added
 */
export function sweepDeadlines(expire: () => boolean): () => void {
  let timer: Timer | undefined
  const start = (): void => {
    timer ??= setTimeout(() => {
      timer = undefined
      if (expire()) start()
    }, SWEEP_MS)
  }
  return start
}
