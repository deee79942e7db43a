import { pause } from "../clock/clock.ts"
import { UnverifiedLimit } from "./unverified-limit.ts"

/** Wrong credentials of one address before it is delayed, as of somebody who mistypes. */
const AT_ONCE = 10
/** How many of them it gets back. */
const PER_SECOND = AT_ONCE / 60
const DELAY_MS = 1000
/** Delayed at a time, of all addresses. */
const MAX_DELAYED = 100

/**
 * Slows down guessing of credentials, by the address that guesses. Wrong ones never keep right ones of the same address
 * out: behind a proxy all callers have the same. What keeps credentials from being guessed is their length.
 */
export class Guesses {
  readonly #limit = new UnverifiedLimit({ perSecond: PER_SECOND, burst: AT_ONCE })
  readonly #closing = new AbortController()
  #delayed = 0

  /** Counts wrong credentials. @returns the seconds to wait before the next; 0: none */
  count(address: string): number {
    const waitS = this.wait(address)
    this.#limit.refused(address)
    return waitS
  }

  wait(address: string): number {
    return this.#limit.wait(address)
  }

  /** Delays one who has to wait. @returns false, at once, while too many are delayed */
  async delay(): Promise<boolean> {
    if (this.#delayed >= MAX_DELAYED) return false
    this.#delayed++
    await pause(DELAY_MS, this.#closing.signal)
    this.#delayed--
    return true
  }

  /** Ends all delays. */
  close(): void {
    this.#closing.abort()
  }
}
