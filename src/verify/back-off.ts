const FIRST_MS = 1000
const LONGEST_MS = 300_000

interface Failed<E> {
  readonly error: E
  readonly times: number
  readonly untilMs: number
}

/**
 * What could not be fetched lately, and why, so that it is not tried again at once: after a second, then after twice as
 * long each time, up to five minutes. Bounded; the oldest goes first.
 */
export class BackOff<E> {
  readonly #failed = new Map<string, Failed<E>>()
  readonly #most: number

  constructor(most: number) {
    this.#most = most
  }

  /** Why something is not to be tried now; undefined: it may be. */
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
