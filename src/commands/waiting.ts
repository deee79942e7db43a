import { say } from "./say.ts"

/** Says on standard error when something is waited for, each reason once, and when the command continues. */
export class WaitingNotes {
  #reason: string | undefined

  /** @param reason undefined: nothing is waited for */
  note(reason: string | undefined): void {
    if (reason === this.#reason) return
    this.#reason = reason
    say(reason === undefined ? "continuing" : `waiting: ${reason}`)
  }
}
