/**
 * Keeps the answers of senders that are refused for want of room back for a while. Many post again as soon as they have an
 * answer, whatever it says, and each body that is refused costs what reading it costs: see docs/decisions/overload.md.
 */
export class Pacing {
  readonly #waiting = new Set<() => void>()
  #ended = false

  /** Resolves when the time is over, or the pacing. */
  wait(ms: number): Promise<void> {
    if (this.#ended) return Promise.resolve()
    return new Promise((resolve) => {
      const go = (): void => {
        clearTimeout(timer)
        this.#waiting.delete(go)
        resolve()
      }
      const timer = setTimeout(go, ms)
      this.#waiting.add(go)
    })
  }

  /** Lets go of all that wait, and keeps nobody back any more. */
  end(): void {
    this.#ended = true
    for (const go of this.#waiting) go()
  }
}
