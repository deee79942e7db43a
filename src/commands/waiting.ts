import { pause } from "../clock/clock.ts"
import { HooklineError } from "../errors.ts"
import { escapeControls } from "../telemetry/escape-controls.ts"

/** Says on standard error when something is waited for, each reason once, and when the command continues. */
export class WaitingNotes {
  #reason: string | undefined

  /** @param reason undefined: nothing is waited for */
  note(reason: string | undefined): void {
    if (reason === this.#reason) return
    this.#reason = reason
    console.error(reason === undefined ? "continuing" : escapeControls(`waiting: ${reason}`))
  }
}

export interface Awaiting {
  readonly notes?: WaitingNotes
  readonly signal: AbortSignal
  readonly everyMs?: number
  /** Whether an error may pass; by default, `unavailable` may. */
  readonly mayPass?: (error: HooklineError) => boolean
  /** Called before each wait. */
  readonly beforeWait?: (error: HooklineError) => void
}

/**
 * Repeats what needs a broker, a log or a topic until it is available.
 *
 * @returns undefined when the signal aborted
 * @throws HooklineError, unless it may pass
 */
export async function untilAvailable<T>(
  action: () => Promise<T>,
  {
    notes,
    signal,
    everyMs = 1000,
    mayPass = ({ code }) => code === "unavailable",
    beforeWait = () => {},
  }: Awaiting,
): Promise<T | undefined> {
  while (!signal.aborted) {
    try {
      const result = await action()
      notes?.note(undefined)
      return result
    } catch (error) {
      if (!(error instanceof HooklineError) || !mayPass(error)) throw error
      beforeWait(error)
      notes?.note(error.message)
      await pause(everyMs, signal)
    }
  }
  return undefined
}
