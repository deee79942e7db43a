// Hot path: every event of a pipeline with an embedded store is looked up here.
import { HooklineError } from "../errors.ts"
import { BUSY_RETRY_MS, type ThreadAnswer, type Failure } from "../storage/serve-database.ts"
import type { KeyClaim } from "./key-store.ts"

/*
 * Lookups of keys in the file, one request at a time:
 *
 *   idle       nothing is to be looked up.
 *   gathering  until the end of the event loop's turn, whose lookups are one request.
 *   asking     the thread has a request; the next one gathers meanwhile.
 *   retrying   the file is locked by another process: the request is repeated, with what has come since.
 *   held       the journal of a log is read, or can't be: all wait.
 *
 * At its deadline a lookup is rejected in any state. When the file or the journal fails, those that wait are.
 */

interface Lookup {
  readonly key: string
  readonly deadlineMs: number
  readonly resolve: (claim: KeyClaim) => void
  readonly reject: (error: HooklineError) => void
}

export interface LookupDependencies {
  /** The store, for errors. */
  readonly title: string
  /** Asks the thread until when keys are known, in milliseconds since 1970; undefined: not in the file. */
  readonly find: (
    keys: readonly string[],
    then: (answer: ThreadAnswer<readonly (number | undefined)[]>) => void,
  ) => void
  /** @param untilMs of the key in the file; 0: it has none */
  readonly conclude: (key: string, untilMs: number) => KeyClaim
}

export class KeyLookups {
  readonly #deps: LookupDependencies
  #waiting: Lookup[] = []
  /** In the thread. */
  #asked: Lookup[] = []
  #isHeld = false

  constructor(deps: LookupDependencies) {
    this.#deps = deps
  }

  claim(key: string, deadlineMs: number): Promise<KeyClaim> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.push({ key, deadlineMs, resolve, reject }) === 1) setImmediate(this.#ask)
    })
  }

  hold(): void {
    this.#isHeld = true
  }

  resume(): void {
    this.#isHeld = false
    this.#ask()
  }

  /** Rejects those that wait; the thread's answer decides about the others. */
  rejectAll(error: HooklineError): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error)
  }

  /** Rejects what is past its deadline. @returns whether anything is left */
  expire(nowMs: number): boolean {
    let isLeft = false
    for (const { deadlineMs, reject } of [...this.#waiting, ...this.#asked]) {
      if (deadlineMs > nowMs) isLeft = true
      else reject(new HooklineError("unavailable", `${this.#deps.title} did not answer in time`))
    }
    this.#waiting = this.#waiting.filter(({ deadlineMs }) => deadlineMs > nowMs)
    return isLeft
  }

  readonly #ask = (): void => {
    const lookups = this.#waiting
    if (lookups.length === 0 || this.#asked.length > 0 || this.#isHeld) return
    this.#waiting = []
    this.#asked = lookups
    const { find, conclude } = this.#deps
    const keys = lookups.map(({ key }) => key)
    find(keys, (answer) => {
      this.#asked = []
      if (answer.kind === "busy") return this.#retry(lookups)
      for (const [at, { key, resolve, reject }] of lookups.entries()) {
        if (answer.kind === "failed") reject(unavailable(answer))
        else resolve(conclude(key, answer.value[at] ?? 0))
      }
      if (this.#waiting.length > 0) this.#ask()
    })
  }

  #retry(lookups: readonly Lookup[]): void {
    this.#waiting = [...lookups, ...this.#waiting]
    setTimeout(this.#ask, BUSY_RETRY_MS)
  }
}

/** Why a store whose file is closed claims no key. */
export const unavailable = ({ reason, cause }: Failure): HooklineError =>
  new HooklineError("unavailable", reason, { cause })
