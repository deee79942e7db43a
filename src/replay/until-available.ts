import { pause } from "../clock/clock.ts"
import { HooklineError } from "../errors.ts"

export interface Awaiting {
  /** Called with the reason of each wait, and with undefined when it ends. */
  readonly notes?: { note(reason: string | undefined): void }
  readonly signal: AbortSignal
  readonly everyMs?: number
  /** Whether an error may pass; by default, `unavailable` may. */
  readonly mayPass?: (error: HooklineError) => boolean
  /** Called before each wait. */
  readonly beforeWait?: (error: HooklineError) => Promise<void> | void
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
      await beforeWait(error)
      notes?.note(error.message)
      await pause(everyMs, signal)
    }
  }
  return undefined
}
