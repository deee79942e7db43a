import { Backoff } from "../clock/backoff.ts"
import { Lasting } from "../clock/lasting.ts"
import { HooklineError, namesOf } from "../errors.ts"
import type { Logger } from "../telemetry/log.ts"
import type { DatabaseLocation } from "./database-file.ts"
import type { Failure } from "./serve-database.ts"

/** Pause before a file that was open is opened again. */
const AGAIN_MS = 500
/** The same for one that was not open yet. */
const FIRST_MS = { first: 500, longest: 2000 }
/** How often the reason is logged again while it stays the same. */
const REMIND_MS = 600_000

/** The attempts to open a file: when they are made, and what is logged of them. */
export class OpeningAttempts {
  readonly #location: DatabaseLocation
  readonly #log: Logger
  #timer: Timer | undefined
  readonly #pauses = new Backoff(FIRST_MS)
  #wasOpen = false
  readonly #failure = new Lasting({ remindMs: REMIND_MS })

  constructor(location: DatabaseLocation, log: Logger) {
    this.#location = location
    this.#log = log
  }

  next(open: () => void): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(open, this.#wasOpen ? AGAIN_MS : this.#pauses.failed())
  }

  /** Logs a reason that has changed, or was logged long ago. */
  failed({ reason, cause }: Failure, problem: "can't be written" | "can't be opened yet"): void {
    const { file, title } = this.#location
    const line = this.#failure.began(reason)
    const [error] = namesOf(new HooklineError("log_io", reason, { cause }))
    if (line !== undefined)
      this.#log[line === "first" ? "error" : "warn"](
        { file, error, err: cause },
        `${title} ${problem}: ${reason}`,
      )
  }

  /** @param isAgain after a failure */
  succeeded(isAgain: boolean): void {
    const { file, title } = this.#location
    this.#wasOpen = true
    this.#failure.ended()
    if (isAgain) this.#log.info({ file }, `${title} can be written again`)
  }

  end(): void {
    clearTimeout(this.#timer)
  }
}
