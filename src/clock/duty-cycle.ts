/** How long a thread works before it sleeps, unless a piece of work takes longer. */
const WORK_MS = 20

/** Keeps synchronous work to a share of the time: the thread sleeps between pieces of it. */
export class DutyCycle {
  readonly #restPerWork: number
  readonly #clock: { readonly now: () => number; readonly sleep: (ms: number) => void }
  #startedMs: number

  /** @param share from 0 to 1, of the time */
  constructor(
    share: number,
    clock = { now: () => performance.now(), sleep: (ms: number) => Bun.sleepSync(ms) },
  ) {
    this.#restPerWork = (1 - share) / share
    this.#clock = clock
    this.#startedMs = clock.now()
  }

  /** Whether it never sleeps. */
  get isWhole(): boolean {
    return this.#restPerWork === 0
  }

  /** Sleeps if enough work was done. Called between two pieces. */
  rest(): void {
    const { now, sleep } = this.#clock
    const workedMs = now() - this.#startedMs
    if (workedMs < WORK_MS) return
    if (!this.isWhole) sleep(workedMs * this.#restPerWork)
    this.#startedMs = now()
  }
}
