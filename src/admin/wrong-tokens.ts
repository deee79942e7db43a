import { pause } from "../clock.ts"
import { UnverifiedLimit } from "../http/admission/unverified-limit.ts"
import { atMostEveryMinute } from "../telemetry/once-a-minute.ts"
import type { Logger } from "../telemetry/log.ts"

/** Wrong tokens of one address that are answered at once, as of somebody who mistypes. */
const AT_ONCE = 10
/** How many of them it gets back. */
const PER_SECOND = AT_ONCE / 60
/** How long the answers to further ones are held back. */
const DELAY_MS = 1000
/** Answers held back at a time, of all addresses. */
const MAX_DELAYED = 100

/**
 * Slows down guessing of the admin token, by the address that guesses. A right token is not slowed down by wrong ones,
 * whatever their address: behind a proxy all callers have the same. What keeps it from being guessed is its length.
 */
export class WrongTokens {
  readonly #limit = new UnverifiedLimit({ perSecond: PER_SECOND, burst: AT_ONCE })
  readonly #closing = new AbortController()
  readonly #report: () => void
  #address = ""
  #delayed = 0

  constructor(log: Pick<Logger, "warn">) {
    this.#report = atMostEveryMinute((count) =>
      log.warn(
        { remote_address: this.#address, wrong_tokens: count },
        "wrong token for the admin listener; further ones are counted, and logged once a minute",
      ),
    )
  }

  /** Counts a wrong token. @returns 0: refuse it; else the seconds to wait before the next, after a delay */
  async count(address: string): Promise<number> {
    this.#address = address
    this.#report()
    const waitS = this.#limit.wait(address)
    this.#limit.refused(address)
    if (waitS === 0 || this.#delayed >= MAX_DELAYED) return waitS
    this.#delayed++
    await pause(DELAY_MS, this.#closing.signal)
    this.#delayed--
    return waitS
  }

  close(): void {
    this.#closing.abort()
  }
}
