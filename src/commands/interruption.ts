import { constants } from "node:os"
import { steadyMs } from "../clock/clock.ts"

/**
 * How long a signal that comes again is the same one: npm passes on the Ctrl-C that the terminal has sent to npm's children
 * too.
 */
const SAME_SIGNAL_MS = 2000

/** SIGINT and SIGTERM while a command works: the first aborts `signal`, a second one ends the process. */
export class Interruption implements Disposable {
  readonly #stop = new AbortController()
  readonly #beforeExit: (name: NodeJS.Signals) => void
  #first: { readonly name: NodeJS.Signals; readonly atMs: number } | undefined
  readonly signal = this.#stop.signal

  /** @param beforeExit called with a second signal, before it ends the process */
  constructor(beforeExit: (name: NodeJS.Signals) => void = () => {}) {
    this.#beforeExit = beforeExit
    process.on("SIGINT", this.interrupt)
    process.on("SIGTERM", this.interrupt)
  }

  /** The first signal; undefined: none came. */
  get name(): NodeJS.Signals | undefined {
    return this.#first?.name
  }

  /** The exit status for the first signal. */
  get status(): number | undefined {
    return this.name && statusOf(this.name)
  }

  /** Does what the signal does: for a key, or a terminal that was closed. */
  readonly interrupt = (name: NodeJS.Signals): void => {
    const first = this.#first
    if (first === undefined) {
      this.#first = { name, atMs: steadyMs() }
      this.#stop.abort()
    } else if (name !== first.name || steadyMs() - first.atMs >= SAME_SIGNAL_MS) {
      this.#beforeExit(name)
      process.exit(statusOf(name))
    }
  };

  [Symbol.dispose](): void {
    process.off("SIGINT", this.interrupt)
    process.off("SIGTERM", this.interrupt)
  }
}

const statusOf = (name: NodeJS.Signals): number => 128 + constants.signals[name]

let hasHungUp = false
const hungUp = (): void => void (hasHungUp = true)

/** SIGHUP asks `run` for a reload. While it starts, there is nothing to reload yet: it must not end the process either. */
export const holdHangups = (): void => void process.on("SIGHUP", hungUp)

/** Ends that. @returns whether there was one, which is due now */
export function releaseHangups(): boolean {
  process.off("SIGHUP", hungUp)
  return hasHungUp
}
