/** Fetches at once from one host. */
const MOST_FETCHES = 4
/** Different things that wait for their turn, for one host. */
const MOST_WAITING = 64

interface Waiting<T> {
  /** How many want it. */
  wanted: number
  readonly run: () => Promise<T>
  readonly done: PromiseWithResolvers<T | undefined>
}

/**
 * Fetches from one host, a few at a time, each thing once for all who want it. The next one is what most are waiting for,
 * and what one alone has waited for longest gives way: anybody can name a URL, each time another one, and the provider's
 * own requests all name the same.
 */
export class FetchSlots<T> {
  readonly #running = new Map<string, Promise<T>>()
  readonly #waiting = new Map<string, Waiting<T>>()

  /** Resolves with undefined when its turn does not come: too much is waiting. */
  fetch(name: string, run: () => Promise<T>): Promise<T | undefined> {
    const running = this.#running.get(name)
    if (running !== undefined) return running
    const waiting = this.#waiting.get(name)
    if (waiting !== undefined) {
      waiting.wanted++
      return waiting.done.promise
    }
    if (this.#running.size < MOST_FETCHES) return this.#run(name, run)
    if (this.#waiting.size >= MOST_WAITING && !this.#makeRoom()) return Promise.resolve(undefined)
    const done = Promise.withResolvers<T | undefined>()
    this.#waiting.set(name, { wanted: 1, run, done })
    return done.promise
  }

  #run(name: string, run: () => Promise<T>): Promise<T> {
    const running = run().finally(() => {
      this.#running.delete(name)
      this.#next()
    })
    this.#running.set(name, running)
    return running
  }

  /** @returns whether there is room now */
  #makeRoom(): boolean {
    for (const [name, { wanted, done }] of this.#waiting) {
      if (wanted > 1) continue
      this.#waiting.delete(name)
      done.resolve(undefined)
      return true
    }
    return false
  }

  #next(): void {
    let most: [string, Waiting<T>] | undefined
    for (const entry of this.#waiting)
      if (most === undefined || entry[1].wanted > most[1].wanted) most = entry
    if (most === undefined) return
    const [name, { run, done }] = most
    this.#waiting.delete(name)
    this.#run(name, run).then(done.resolve, done.reject)
  }
}
