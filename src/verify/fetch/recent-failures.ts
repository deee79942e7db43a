import { doubled } from "../../clock/backoff.ts"

const PAUSE_MS = { first: 1000, longest: 300_000 }

interface Failed<E> {
  readonly error: E
  readonly times: number
  readonly untilMs: number
}

/**
 * Recent failures to fetch, by name: the next attempt is allowed after a second, then after twice as long each time, up to
 * five minutes. Bounded; the oldest is dropped first.
 */
export class RecentFailures<E> {
  readonly #failed = new Map<string, Failed<E>>()
  readonly #most: number

  constructor(most: number) {
    this.#most = most
  }

  /** The failure that still blocks an attempt, if any. */
  reason(name: string, nowMs: number): E | undefined {
    const failed = this.#failed.get(name)
    return failed !== undefined && nowMs < failed.untilMs ? failed.error : undefined
  }

  failed(name: string, error: E, nowMs: number): void {
    const times = (this.#failed.get(name)?.times ?? 0) + 1
    this.#failed.delete(name)
    if (this.#failed.size >= this.#most) this.#failed.delete(this.#failed.keys().next().value!)
    this.#failed.set(name, { error, times, untilMs: nowMs + doubled(PAUSE_MS, times - 1) })
  }

  succeeded(name: string): void {
    this.#failed.delete(name)
  }
}
