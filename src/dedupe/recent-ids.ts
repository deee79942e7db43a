/** Ids with the time until which each is known, in memory and bounded in number. */
export class RecentIds {
  /** In the order in which they were remembered, which is about that of their times. */
  readonly #until = new Map<string, number>()
  readonly #most: number
  readonly #now: () => number

  /**
   * @param most ids that are kept; beyond them the oldest are forgotten early
   * @param now the clock that the times are of, in milliseconds
   */
  constructor(options: { most: number; now: () => number }) {
    this.#most = options.most
    this.#now = options.now
  }

  /** Whether the id was remembered, and its time has not passed. */
  has(id: string): boolean {
    const until = this.#until.get(id)
    return until !== undefined && until >= this.#now()
  }

  /** @returns whether another one had to be forgotten early for it */
  remember(id: string, untilMs: number): boolean {
    const now = this.#now()
    this.#until.delete(id)
    this.#until.set(id, untilMs)
    for (const [oldest, until] of this.#until) {
      if (until >= now && this.#until.size <= this.#most) break
      this.#until.delete(oldest)
      if (until >= now) return true
    }
    return false
  }

  get size(): number {
    return this.#until.size
  }
}
