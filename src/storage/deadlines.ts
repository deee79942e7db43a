/** How late a deadline may be noticed. */
const SWEEP_MS = 10

/** Looks at deadlines every few milliseconds, as long as anything waits for its own. */
export class DeadlineSweep {
  readonly #expire: () => boolean
  #timer: Timer | undefined

  /** @param expire rejects what is past its deadline; returns whether anything still waits */
  constructor(expire: () => boolean) {
    this.#expire = expire
  }

  /** Something waits. */
  start(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      if (this.#expire()) this.start()
    }, SWEEP_MS)
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }
}
