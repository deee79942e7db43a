/** SIGINT and SIGTERM while a command works: the first aborts `signal`, a second one ends the process. */
export class Interruption implements Disposable {
  readonly #stop = new AbortController()
  readonly signal = this.#stop.signal
  /** The exit status for it; undefined: it was not interrupted. */
  status: 130 | 143 | undefined
  readonly #interrupt = (signal: NodeJS.Signals): void => {
    const status = signal === "SIGINT" ? 130 : 143
    if (this.status !== undefined) process.exit(status)
    this.status = status
    this.#stop.abort()
  }

  constructor() {
    process.on("SIGINT", this.#interrupt)
    process.on("SIGTERM", this.#interrupt)
  }

  [Symbol.dispose](): void {
    process.off("SIGINT", this.#interrupt)
    process.off("SIGTERM", this.#interrupt)
  }
}
