import { Backoff } from "../clock/backoff.ts"
import { steadyMs } from "../clock/clock.ts"
import { Lasting } from "../clock/lasting.ts"
import { HooklineError, namesOf } from "../errors.ts"
import type { Logger } from "../telemetry/log.ts"
import { isDamage } from "./damage.ts"
import type { DatabaseLocation } from "./database-file.ts"
import type { Failure } from "./serve-database.ts"

/** Pause before a file that was open is opened again. */
const AGAIN_MS = 500
/** The same for one that was not open yet. */
const FIRST_MS = { first: 500, longest: 2000 }
/** How often the reason is logged again while it stays the same. */
const REMIND_MS = 600_000

/** Damage that is met again within this time is believed. */
const SUSPECTED_MS = 600_000

/**
 * The attempts to open a file: when they are made, what is logged of them, and when there are no more, since it is damaged.
 *
 * A read error of a moment can look like damage. So the file is opened and checked again when damage is met, and it is
 * believed if it is met again.
 */
export class OpeningAttempts {
  readonly #location: DatabaseLocation
  readonly #log: Logger
  #timer: Timer | undefined
  readonly #pauses = new Backoff(FIRST_MS)
  #wasOpen = false
  readonly #failure = new Lasting({ remindMs: REMIND_MS })
  /** When damage was met last. */
  #suspectedMs = Number.NEGATIVE_INFINITY

  constructor(location: DatabaseLocation, log: Logger) {
    this.#location = location
    this.#log = log
  }

  next(open: () => void): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(open, this.#wasOpen ? AGAIN_MS : this.#pauses.failed())
  }

  /** Logs a reason that has changed, or was logged long ago. @returns the failure, which is damage only if that is believed */
  failed(failure: Failure, problem: "can't be written" | "can't be opened yet"): Failure {
    const judged = this.judged(failure)
    const { reason, cause } = judged
    const { file, title } = this.#location
    const line = this.#failure.began(reason)
    const [error] = namesOf(new HooklineError("log_io", reason, { cause }))
    if (line !== undefined)
      this.#log[line === "first" || judged.isDamaged === true ? "error" : "warn"](
        { file, error, err: cause },
        `${title} ${problem}: ${reason}`,
      )
    return judged
  }

  /** A failure, which is no damage yet where that was not met before. */
  judged(failure: Failure): Failure {
    const { isDamaged, ...rest } = failure
    if (isDamaged !== true) return failure
    const isMetAgain = steadyMs() - this.#suspectedMs < SUSPECTED_MS
    this.#suspectedMs = steadyMs()
    return isMetAgain ? failure : { ...rest, reason: failure.suspicion! }
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

/** Opens a file, and once more if it seems to be damaged. */
export function unlessSuspected(open: () => void): void {
  try {
    open()
  } catch (error) {
    if (!isDamage(error)) throw error
    open()
  }
}
