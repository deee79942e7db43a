/** Concurrent fetches from one host. */
const MOST_FETCHES = 4
const MOST_QUEUED = 64

interface Queued<T> {
  callers: number
  readonly run: () => Promise<T>
  readonly done: PromiseWithResolvers<T | undefined>
}

/**
 * Fetches from one host, a few at a time, each name once for all callers. The queue favours names with most callers, and a
 * full one evicts the oldest name with a single caller: strangers name a new URL each time, the provider's own requests all
 * the same one.
 */
export class FetchSlots<T> {
  readonly #running = new Map<string, Promise<T>>()
  readonly #queued = new Map<string, Queued<T>>()

  /** Resolves with undefined if the queue is full. */
  fetch(name: string, run: () => Promise<T>): Promise<T | undefined> {
    const running = this.#running.get(name)
    if (running !== undefined) return running
    const queued = this.#queued.get(name)
    if (queued !== undefined) {
      queued.callers++
      return queued.done.promise
    }
    if (this.#running.size < MOST_FETCHES) return this.#run(name, run)
    if (this.#queued.size >= MOST_QUEUED && !this.#evict()) return Promise.resolve(undefined)
    const done = Promise.withResolvers<T | undefined>()
    this.#queued.set(name, { callers: 1, run, done })
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

  /** @returns whether a name was evicted */
  #evict(): boolean {
    for (const [name, { callers, done }] of this.#queued) {
      if (callers > 1) continue
      this.#queued.delete(name)
      done.resolve(undefined)
      return true
    }
    return false
  }

  #next(): void {
    let most: [string, Queued<T>] | undefined
    for (const entry of this.#queued)
      if (most === undefined || entry[1].callers > most[1].callers) most = entry
    if (most === undefined) return
    const [name, { run, done }] = most
    this.#queued.delete(name)
    this.#run(name, run).then(done.resolve, done.reject)
  }
}
