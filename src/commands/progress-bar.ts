import { steadyMs } from "../clock/clock.ts"

const LONGEST = 40
const REDRAWN_MS = 100

/**
 * The text after the percentage.
 *
 * @param timing `12 s, 3 min 20 s to go`
 */
export type ProgressText = (value: number, timing: string) => string

/** A progress bar on standard error, so that the summary can be piped; undefined if that is no terminal. */
export function startProgressBar(total: number, text?: ProgressText): ProgressBar | undefined {
  return process.stderr.isTTY ? new ProgressBar(total, text) : undefined
}

/** A line of the terminal that is drawn again as work advances. It is drawn by its calls alone and holds no timer. */
export class ProgressBar implements Disposable {
  readonly #total: number
  readonly #text: ProgressText
  readonly #startedMs = steadyMs()
  #value = 0
  #drawnMs = 0
  #isStopped = false

  constructor(total: number, text: ProgressText = (value, timing) => `${value} of ${total} | ${timing}`) {
    this.#total = total
    this.#text = text
    this.#draw()
  }

  increment(by = 1): void {
    this.update(this.#value + by)
  }

  update(value: number): void {
    this.#value = value
    if (steadyMs() - this.#drawnMs >= REDRAWN_MS) this.#draw()
  }

  /** Leaves the bar as it is last; what is printed next has a line of its own. */
  stop(): void {
    if (this.#isStopped) return
    this.#isStopped = true
    this.#draw()
    process.stderr.write("\n")
  }

  [Symbol.dispose](): void {
    this.stop()
  }

  #draw(): void {
    this.#drawnMs = steadyMs()
    const share = this.#total === 0 ? 1 : Math.min(1, this.#value / this.#total)
    const text = ` ${Math.floor(share * 100)}% | ${this.#text(this.#value, this.#timing(share))}`
    // a line that wraps could not be drawn over
    const room = (process.stderr.columns || 80) - 1
    const width = Math.max(0, Math.min(LONGEST, room - text.length))
    const done = Math.round(share * width)
    const line = `${"█".repeat(done)}${"░".repeat(width - done)}${text}`.slice(0, room)
    process.stderr.write(`\r${line}\u001b[K`)
  }

  #timing(share: number): string {
    const elapsedMs = this.#drawnMs - this.#startedMs
    const left = share === 0 ? "-" : toSpan((elapsedMs / share) * (1 - share))
    return `${toSpan(elapsedMs - (elapsedMs % 1000))}, ${left} to go`
  }
}

/** `45 s`, `3 min 20 s`, `2 h 5 min` */
export function toSpan(ms: number): string {
  const seconds = Math.ceil(ms / 1000)
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  return minutes < 60
    ? `${minutes} min ${seconds % 60} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
