import { pause } from "../clock/clock.ts"
import { HooklineError } from "../errors.ts"
import { escapeControls } from "../telemetry/escape-controls.ts"

const RETRY_MS = 1000

/** Says on standard error when something is waited for, each reason once, and when it goes on. */
export class WaitingNotes {
  #reason: string | undefined

  /** @param reason undefined: nothing is waited for */
  note(reason: string | undefined): void {
    if (reason === this.#reason) return
    this.#reason = reason
    console.error(reason === undefined ? "continuing" : escapeControls(`waiting: ${reason}`))
  }
}

/**
 * Repeats what needs a broker until it is available.
 *
 * @returns undefined when the signal aborted
 * @throws HooklineError, but `unavailable`
 */
export async function untilAvailable<T>(
  action: () => Promise<T>,
  notes: WaitingNotes,
  signal: AbortSignal,
): Promise<T | undefined> {
  while (!signal.aborted) {
    try {
      const result = await action()
      notes.note(undefined)
      return result
    } catch (error) {
      if (!(error instanceof HooklineError) || error.code !== "unavailable") throw error
      notes.note(error.message)
      await pause(RETRY_MS, signal)
    }
  }
  return undefined
}
