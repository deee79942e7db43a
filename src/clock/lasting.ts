import { steadyMs } from "./clock.ts"

/**
 * A state that may last, such as an outage. Tells when it is to be logged: once, again when its reason changes, rarely while
 * it stays the same, and when it ends.
 */
export class Lasting {
  readonly #afterMs: number
  readonly #remindMs: number
  #sinceMs: number | undefined
  #logged: { readonly reason: string; readonly ms: number } | undefined

  /**
   * @param times `afterMs` is how long it lasts before it is logged, at once unless set; `remindMs` how often it is logged
   *   while its reason stays the same, never unless set
   */
  constructor({ afterMs = 0, remindMs = Number.POSITIVE_INFINITY } = {}) {
    this.#afterMs = afterMs
    this.#remindMs = remindMs
  }

  /** How long it has lasted, in milliseconds; undefined: it does not. */
  get ms(): number | undefined {
    return this.#sinceMs === undefined ? undefined : steadyMs() - this.#sinceMs
  }

  /** It begins, or lasts. @returns the line that is due: the first one, or another; undefined: none */
  began(reason = ""): "first" | "again" | undefined {
    const nowMs = steadyMs()
    this.#sinceMs ??= nowMs
    const logged = this.#logged
    if (nowMs - this.#sinceMs < this.#afterMs) return undefined
    if (logged?.reason === reason && nowMs - logged.ms < this.#remindMs) return undefined
    this.#logged = { reason, ms: nowMs }
    return logged === undefined ? "first" : "again"
  }

  /** It is over. @returns how long it lasted, in whole milliseconds; undefined: it was not logged */
  ended(): number | undefined {
    const ms = this.#logged === undefined ? undefined : Math.round(this.ms!)
    this.#sinceMs = undefined
    this.#logged = undefined
    return ms
  }
}

/**
 * Writes at once, then at most once in a period.
 *
 * @param write gets the number of calls since the last line, this one included
 */
export function rarely(periodMs: number, write: (times: number) => void): () => void {
  let times = 0
  let writtenMs = Number.NEGATIVE_INFINITY
  return () => {
    times++
    if (steadyMs() - writtenMs < periodMs) return
    writtenMs = steadyMs()
    write(times)
    times = 0
  }
}
