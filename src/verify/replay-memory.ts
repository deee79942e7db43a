/**
 * The ids of accepted requests, as long as their signed time would let them in again.
 *
 * In two steps, so that a provider's retry of what was answered 5xx comes through: `has` before the event is
 * published, `remember` when it was accepted. Two deliveries of one id at the same moment may both pass.
 */
export class ReplayMemory {
  /** Ids by the time at which they are forgotten; in the order of these times, since all are kept equally long. */
  readonly #until = new Map<string, number>()
  readonly #keepMs: number
  readonly #most: number
  readonly #now: () => number

  /**
   * @param toleranceMs how far a signed time may be off either way: one that is stamped as far ahead as may be is good
   *   for twice as long
   * @param most ids that are kept; beyond them the oldest are forgotten early
   */
  constructor(options: { toleranceMs: number; most: number; now: () => number }) {
    this.#keepMs = 2 * options.toleranceMs
    this.#most = options.most
    this.#now = options.now
  }

  /** Whether an accepted request had this id. */
  has(id: string): boolean {
    const until = this.#until.get(id)
    return until !== undefined && until >= this.#now()
  }

  /** To be called when the event with this id was accepted. */
  remember(id: string): void {
    const now = this.#now()
    this.#until.delete(id)
    this.#until.set(id, now + this.#keepMs)
    for (const [oldest, until] of this.#until) {
      if (until >= now && this.#until.size <= this.#most) break
      this.#until.delete(oldest)
    }
  }

  get size(): number {
    return this.#until.size
  }
}
