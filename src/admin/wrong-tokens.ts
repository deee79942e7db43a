import { Guesses } from "../senders/guesses.ts"
import { rarely } from "../clock/lasting.ts"
import type { Logger } from "../telemetry/log.ts"

/** Logs wrong admin tokens, and slows down who guesses them. A right token is not slowed down. */
export class WrongTokens {
  readonly #guesses = new Guesses()
  readonly #report: () => void
  #address = ""

  constructor(log: Pick<Logger, "warn">) {
    this.#report = rarely(60_000, (count) =>
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
    const waitS = this.#guesses.count(address)
    if (waitS > 0) await this.#guesses.delay()
    return waitS
  }

  close(): void {
    this.#guesses.close()
  }
}
