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
