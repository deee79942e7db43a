import { steadyMs } from "../clock/clock.ts"
import { inSlices } from "../clock/slices.ts"
import { History, type ActivitySample } from "./history.ts"
import { ProblemList } from "./problems/problem-list.ts"
import { findProblems } from "./problems/subjects.ts"
import type { Replica } from "./replicas.ts"
import type { Service } from "./service.ts"

/** The other replicas, as far as they are known. */
interface OtherReplicas {
  readonly known: readonly Replica[]
  /** Like `known`, but not older than a round. */
  fresh(): Promise<readonly Replica[]>
}

/** The pause between two samples, in milliseconds; of thousands of pipelines, sampling takes at most a twentieth of the time. */
const SAMPLED_MS = 1000
const MOST_SHARE = 20
/** How old what someone asks for may be, in milliseconds. */
const FRESH_MS = 100

type SampledService = Pick<
  Service,
  "activity" | "configuration" | "readiness" | "pipelines" | "forwards" | "extensions"
>

/** Samples the counters of all replicas each second, and when someone asks, and finds the problems by them. */
export class Sampler {
  readonly history = new History(steadyMs())
  readonly problems = new ProblemList()
  /** The last ones. */
  samples: readonly ActivitySample[] = []
  /** undefined: this is the only one. */
  replicas: OtherReplicas | undefined
  readonly #service: SampledService
  readonly #failed: (error: unknown) => void
  #timer: Timer | undefined
  #sampling: Promise<void> | undefined
  #sampledMs = Number.NEGATIVE_INFINITY
  #tookMs = 0
  #isStarted = false

  /** @param failed called with a fault, after which sampling continues */
  constructor(service: SampledService, failed: (error: unknown) => void) {
    this.#service = service
    this.#failed = failed
  }

  start(): void {
    this.#isStarted = true
    void this.sample()
  }

  close(): void {
    this.#isStarted = false
    clearTimeout(this.#timer)
  }

  /** The history, brought up to date. */
  async fresh(): Promise<History> {
    if (steadyMs() - this.#sampledMs >= FRESH_MS) {
      await this.replicas?.fresh()
      await this.sample()
    }
    return this.history
  }

  /** Joins a sampling that is under way. */
  sample(): Promise<void> {
    return (this.#sampling ??= this.#sample().finally(() => {
      this.#sampling = undefined
      this.#wait()
    }))
  }

  async #sample(): Promise<void> {
    const startMs = steadyMs()
    try {
      const others = (this.replicas?.known ?? []).flatMap((it) => it.activity ?? [])
      const samples = [await this.#service.activity(), ...others]
      const nowMs = steadyMs()
      await inSlices(this.history.take(samples, nowMs, Date.now()))
      this.samples = samples
      this.#sampledMs = nowMs
      // before it is started not all is open
      if (this.#isStarted) this.#findProblems()
    } catch (error) {
      this.#failed(error)
    }
    this.#tookMs = steadyMs() - startMs
  }

  #findProblems(): void {
    const service = this.#service
    const nowMs = Date.now()
    let pipelines: ReadonlyMap<string, ReturnType<Service["pipelines"]>[number]> | undefined
    const findings = findProblems({
      readiness: service.readiness(),
      configuration: service.configuration(),
      history: this.history,
      // there may be thousands, and most of the time none is looked up
      pipeline: (id) => (pipelines ??= new Map(service.pipelines().map((it) => [it.id, it]))).get(id),
      forwards: service.forwards(),
      extensions: service.extensions(),
      replicas: this.replicas?.known ?? [],
      nowMs,
    })
    this.problems.take(findings, nowMs)
  }

  #wait(): void {
    clearTimeout(this.#timer)
    if (!this.#isStarted) return
    const waitMs = Math.max(SAMPLED_MS, this.#tookMs * MOST_SHARE)
    this.#timer = setTimeout(() => void this.sample(), waitMs).unref()
  }
}
