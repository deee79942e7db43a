const FIRST_MS = 1000
const LONGEST_MS = 300_000

interface Failed<E> {
  readonly error: E
  readonly times: number
  readonly untilMs: number
}

/**
 * Recent failures to fetch, by name: the next attempt is allowed after a second, then after twice as long each time, up to
 * five minutes. Bounded; the oldest is dropped first.
 */
export class BackOff<E> {
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
    const pauseMs = Math.min(FIRST_MS * 2 ** (times - 1), LONGEST_MS)
    this.#failed.set(name, { error, times, untilMs: nowMs + pauseMs })
  }

  succeeded(name: string): void {
    this.#failed.delete(name)
  }
}
