/** Ids with the time until which each is known, in memory and bounded in number. */
export class RecentIds {
  /** In the order in which they were remembered, which is about that of their times. */
  readonly #until = new Map<string, number>()
  #entries = this.#until.entries()
  #first: readonly [id: string, untilMs: number] | undefined
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
    if (this.#first?.[0] === id) this.#first = undefined
    this.#until.delete(id)
    this.#until.set(id, untilMs)
    for (let oldest = this.#oldest(); oldest !== undefined; oldest = this.#oldest()) {
      const [first, until] = oldest
      if (until >= now && this.#until.size <= this.#most) return false
      this.#until.delete(first)
      if (until >= now) return true
    }
    return false
  }

  /** The oldest that is still known. A new iterator would walk over all that was deleted, which took 130 us with 200,000 known. */
  #oldest(): readonly [id: string, untilMs: number] | undefined {
    while (this.#first === undefined || !this.#until.has(this.#first[0])) {
      const { value, done } = this.#entries.next()
      if (done === true) {
        this.#entries = this.#until.entries()
        this.#first = undefined
        return undefined
      }
      this.#first = value
    }
    return this.#first
  }

  get size(): number {
    return this.#until.size
  }
}
