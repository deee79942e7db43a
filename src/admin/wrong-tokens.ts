import { Guesses } from "../senders/guesses.ts"
import { rarely } from "../clock/lasting.ts"
import type { Logger } from "../telemetry/log.ts"

export type WrongTokens = ReturnType<typeof wrongTokenCounter>

/** Logs wrong admin tokens, and slows down who guesses them. A right token is not slowed down. */
export function wrongTokenCounter(log: Pick<Logger, "warn">) {
  const guesses = new Guesses()
  let newest = ""
  const report = rarely(60_000, (count) =>
    log.warn(
      { remote_address: newest, wrong_tokens: count },
      "wrong token for the admin listener; further ones are counted, and logged once a minute",
    ),
  )
  return {
    /** Counts a wrong token. @returns 0: refuse it; else the seconds to wait before the next, after a delay */
    async count(address: string): Promise<number> {
      newest = address
      report()
      const waitS = guesses.count(address)
      if (waitS > 0) await guesses.delay()
      return waitS
    },
    close: () => guesses.close(),
  }
}
