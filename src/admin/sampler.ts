import { inSlices, steadyMs } from "../clock.ts"
import { History, STEP_MS } from "./history.ts"
import type { Service } from "./service.ts"

/** While someone looks. */
const WATCHED_MS = 1000

/** Samples the counters: at a slow pace, or each second while someone looks. */
export class Sampler {
  readonly history = new History(steadyMs())
  readonly #service: Pick<Service, "activity">
  readonly #failed: (error: unknown) => void
  #timer: Timer | undefined
  #sampling: Promise<void> | undefined
  #sampledMs = Number.NEGATIVE_INFINITY
  #watchers = 0
  #isClosed = false

  /** @param failed called with a fault, after which sampling goes on */
  constructor(service: Pick<Service, "activity">, failed: (error: unknown) => void) {
    this.#service = service
    this.#failed = failed
    void this.sample()
  }

  /** Samples each second until the returned function is called. */
  watch(): () => void {
    if (this.#watchers++ === 0) this.#wait()
    return () => void this.#watchers--
  }

  /** Brings the history up to date, where it is more than a second old. */
  async fresh(): Promise<History> {
    if (steadyMs() - this.#sampledMs >= WATCHED_MS) await this.sample()
    return this.history
  }

  /** Samples now; joins a sampling that is under way. */
  sample(): Promise<void> {
    return (this.#sampling ??= this.#sample().finally(() => {
      this.#sampling = undefined
      this.#wait()
    }))
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  async #sample(): Promise<void> {
    try {
      const samples = await this.#service.activity()
      const nowMs = steadyMs()
      await inSlices(this.history.take(samples, nowMs, Date.now()))
      this.#sampledMs = nowMs
    } catch (error) {
      this.#failed(error)
    }
  }

  #wait(): void {
    clearTimeout(this.#timer)
    if (this.#isClosed) return
    const ms = this.#watchers > 0 ? WATCHED_MS : STEP_MS
    this.#timer = setTimeout(() => void this.sample(), ms).unref()
  }
}
