import { mock, spyOn } from "bun:test"

/** The steady clock and timers of this process, moved by a test from one timer to the next, until its disposal. */
export class VirtualTime implements Disposable {
  nowMs: number
  readonly #timers = new Map<Timer, { readonly atMs: number; readonly run: () => void }>()

  constructor(startMs: number) {
    this.nowMs = startMs
    const start = <T extends unknown[]>(run: (...given: T) => void, ms = 0, ...given: T): Timer => {
      const timer = { unref: () => timer } as Timer
      this.#timers.set(timer, { atMs: this.nowMs + ms, run: () => run(...given) })
      return timer
    }
    spyOn(performance, "now").mockImplementation(() => this.nowMs - performance.timeOrigin)
    spyOn(globalThis, "setTimeout").mockImplementation(start as typeof setTimeout)
    spyOn(globalThis, "setImmediate").mockImplementation(((run: () => void) => start(run)) as never)
    spyOn(globalThis, "clearTimeout").mockImplementation((timer) => void this.#timers.delete(timer as Timer))
  }

  /** Runs the next timer. @returns false: none is due by then */
  next(byMs: number): boolean {
    const [next] = [...this.#timers].toSorted(([, a], [, b]) => a.atMs - b.atMs)
    if (next === undefined || next[1].atMs > byMs) return false
    const [timer, { atMs, run }] = next
    this.#timers.delete(timer)
    this.nowMs = Math.max(this.nowMs, atMs)
    run()
    return true
  }

  [Symbol.dispose](): void {
    mock.restore()
  }
}
