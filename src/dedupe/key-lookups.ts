// Hot path: every event of a pipeline with an embedded store is looked up here.
import { DeadlineQueue } from "../clock/deadlines.ts"
import { HooklineError } from "../errors.ts"
import type { DurableWriter } from "../storage/durable-writer.ts"
import { BUSY_RETRY_MS, type Failure } from "../storage/serve-database.ts"
import type { KeyDatabase } from "./key-database.ts"
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

export class KeyLookups {
  readonly #writer: DurableWriter<KeyDatabase>
  readonly #title: string
  readonly #conclude: (key: string, untilMs: number) => KeyClaim
  readonly #waiting = new DeadlineQueue<Lookup>((one) => this.#refuse(one))
  /** In the thread. */
  #asked: readonly Lookup[] = []
  #isHeld = false

  /** @param conclude gets a key's expiry in the file; 0: it does not exist */
  constructor(
    writer: DurableWriter<KeyDatabase>,
    title: string,
    conclude: (key: string, untilMs: number) => KeyClaim,
  ) {
    this.#writer = writer
    this.#title = title
    this.#conclude = conclude
  }

  claim(key: string, deadlineMs: number): Promise<KeyClaim> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ key, deadlineMs, resolve, reject })
      if (this.#waiting.length === 1) setImmediate(this.#ask)
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
    for (const { reject } of this.#waiting.take()) reject(error)
  }

  /** Rejects what is past its deadline. @returns whether anything is left */
  expire(nowMs: number): boolean {
    this.#waiting.expire(nowMs)
    const late = this.#asked.filter(({ deadlineMs }) => deadlineMs <= nowMs)
    for (const one of late) this.#refuse(one)
    return this.#waiting.length > 0 || late.length < this.#asked.length
  }

  #refuse({ reject }: Lookup): void {
    reject(new HooklineError("unavailable", `${this.#title} did not answer in time`))
  }

  readonly #ask = (): void => {
    if (this.#waiting.length === 0 || this.#asked.length > 0 || this.#isHeld) return
    const lookups = (this.#asked = this.#waiting.take())
    this.#writer.do("untilOf", [lookups.map(({ key }) => key)], (answer) => {
      this.#asked = []
      if (answer.kind === "busy") {
        this.#waiting.putBack(lookups)
        return void setTimeout(this.#ask, BUSY_RETRY_MS)
      }
      for (const [at, { key, resolve, reject }] of lookups.entries()) {
        if (answer.kind === "failed") reject(storeUnavailable(answer))
        else resolve(this.#conclude(key, answer.value[at] ?? 0))
      }
      this.#ask()
    })
  }
}

/** Why a store whose file is closed claims no key. */
export const storeUnavailable = ({ reason, cause }: Failure): HooklineError =>
  new HooklineError("unavailable", reason, { cause })
