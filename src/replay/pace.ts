import { pause, steadyMs } from "../clock/clock.ts"

/** After a wait for something else, what was missed for longer than this is not made up for. */
const LATE_MS = 50

/** Spreads a number of records a second evenly. */
export class RecordPace {
  readonly #intervalMs: number
  #nextMs = 0

  constructor(perSecond: number) {
    this.#intervalMs = 1000 / perSecond
  }

  /** Resolves when it is the next one's turn, at once when the signal aborts. */
  async turn(signal: AbortSignal): Promise<void> {
    const nowMs = steadyMs()
    this.#nextMs = Math.max(this.#nextMs, nowMs - LATE_MS)
    const waitMs = this.#nextMs - nowMs
    this.#nextMs += this.#intervalMs
    if (waitMs > 0) await pause(waitMs, signal)
  }
}

/** Window over which a count is averaged. */
const SPAN_MS = 5000
const LEAST_MS = 200

/** How fast a counter grows now. */
export class Speed {
  #marks: { readonly atMs: number; readonly count: number }[] = []

  /** @param count so far */
  note(count: number, nowMs = steadyMs()): void {
    if (nowMs - (this.#marks.at(-1)?.atMs ?? Number.NEGATIVE_INFINITY) < LEAST_MS) return
    this.#marks.push({ atMs: nowMs, count })
    while (this.#marks.length > 1 && this.#marks[1]!.atMs < nowMs - SPAN_MS) this.#marks.shift()
  }

  /** After a pause, which does not count. */
  reset(): void {
    this.#marks = []
  }

  /** @param count so far */
  perSecond(count: number, nowMs = steadyMs()): number {
    const first = this.#marks[0]
    if (first === undefined || nowMs - first.atMs < LEAST_MS) return 0
    return ((count - first.count) / (nowMs - first.atMs)) * 1000
  }
}
