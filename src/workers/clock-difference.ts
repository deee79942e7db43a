/**
 * How far another process's steady clock is behind this one's. Each message tells when it was sent: the least difference
 * to its arrival is that of the clocks and of the fastest message's way, some 50 us.
 */
export class ClockDifference {
  #leastMs = Number.POSITIVE_INFINITY

  /** A message that was sent then, by the other's clock, came now, by this one's. */
  came(sentMs: number, nowMs: number): void {
    this.#leastMs = Math.min(this.#leastMs, nowMs - sentMs)
  }

  /** A time of the other's clock by this one's. A message has come before. */
  toOwn(otherMs: number): number {
    return otherMs + this.#leastMs
  }
}
