import { steadyMs } from "../clock/clock.ts"
import { inSlices } from "../clock/slices.ts"
import { History, type ActivitySample } from "./history.ts"
import { STEP_MS } from "./pipeline-history.ts"
import type { Readiness } from "./service.ts"

/** What is sampled, of all replicas. */
interface Sampled {
  activity(): Promise<readonly ActivitySample[]>
  readiness(): Readiness
}

/** How old what someone asks for may be, in milliseconds. */
const FRESH_MS = 100

/** Samples the counters and the state of connections at a slow pace, and when someone asks. */
export class Sampler {
  readonly history = new History(steadyMs())
  readonly outages = new Outages()
  /** The last ones. */
  samples: readonly ActivitySample[] = []
  readonly #sampled: Sampled
  readonly #failed: (error: unknown) => void
  #timer: Timer | undefined
  #sampling: Promise<void> | undefined
  #sampledMs = Number.NEGATIVE_INFINITY
  #isClosed = false

  /** @param failed called with a fault, after which sampling continues */
  constructor(sampled: Sampled, failed: (error: unknown) => void) {
    this.#sampled = sampled
    this.#failed = failed
    void this.sample()
  }

  /** The history, brought up to date. */
  async fresh(): Promise<History> {
    if (steadyMs() - this.#sampledMs >= FRESH_MS) await this.sample()
    return this.history
  }

  /** Joins a sampling that is under way. */
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
      const samples = await this.#sampled.activity()
      const nowMs = steadyMs()
      await inSlices(this.history.take(samples, nowMs, Date.now()))
      this.samples = samples
      this.#sampledMs = nowMs
      this.outages.see(this.#sampled.readiness().connections, Date.now())
    } catch (error) {
      this.#failed(error)
    }
  }

  #wait(): void {
    clearTimeout(this.#timer)
    if (this.#isClosed) return
    this.#timer = setTimeout(() => void this.sample(), STEP_MS).unref()
  }
}

/** Since when connections can't be published to, by what each sampling found. */
export class Outages {
  readonly #since = new Map<string, number>()

  /** @param connections with their problems; undefined: usable @param nowMs in milliseconds since 1970 */
  see(connections: Iterable<readonly [id: string, problem: string | undefined]>, nowMs: number): void {
    const problems = new Map(connections)
    for (const id of this.#since.keys()) if (problems.get(id) === undefined) this.#since.delete(id)
    for (const [id, problem] of problems)
      if (problem !== undefined && !this.#since.has(id)) this.#since.set(id, nowMs)
  }

  /** The beginning of an outage in milliseconds since 1970; undefined: the connection could be published to at the last sampling. */
  since(id: string): number | undefined {
    return this.#since.get(id)
  }
}
