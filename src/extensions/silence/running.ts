import type { PipelineState } from "../../admin/api/shapes.ts"
import type { ExtensionState } from "../../admin/extension-state.ts"
import type { Finding } from "../../admin/problems/finding.ts"
import { ageOf } from "../../clock/age.ts"
import type { Host, HostService } from "../host.ts"
import type { Expectation } from "./plan.ts"
import { SILENT } from "./problems.ts"

/** How often counters are compared. */
const SAMPLED_MS = 10_000

/** Watches the planned pipelines from the commit on, in place of those before. */
export function open(planned: readonly Expectation[], host: Host): Silences {
  const silences = host.acquire({
    name: "silences",
    open: () => new Silences(host),
    close: (it) => it.close(),
  })
  host.onCommit(() => silences.expect(planned))
  return silences
}

/** How long no event has come to a pipeline. */
interface Silence {
  /** Since its last event, or since it is watched. */
  readonly ms: number
  readonly expectedMs: number
}

/** Notices pipelines to which no event has come for longer than is expected. Accepted and dropped events count. */
export class Silences implements ExtensionState {
  readonly #service: Pick<HostService, "activity">
  readonly #log: Host["log"]
  #watched = new Map<string, { readonly expectedMs: number; sinceMs: number; isLogged: boolean }>()
  /** By series. */
  readonly #counts = new Map<string, number>()
  #timer: Timer | undefined
  #isClosed = false

  constructor({ service, log }: Pick<Host, "service" | "log">) {
    this.#service = service
    this.#log = log
  }

  /** Watches these pipelines, in place of those before. */
  expect(expected: readonly Expectation[]): void {
    const before = this.#watched
    const begun = { sinceMs: Date.now(), isLogged: false }
    this.#watched = new Map(
      expected.map(({ pipeline, everyMs: expectedMs }) => [
        pipeline,
        { ...(before.get(pipeline) ?? begun), expectedMs },
      ]),
    )
    if (expected.length > 0 && this.#timer === undefined) void this.#sample()
  }

  all(): (readonly [pipeline: string, silence: Silence])[] {
    const nowMs = Date.now()
    return [...this.#watched].map(([id, { expectedMs, sinceMs }]) => [
      id,
      { ms: nowMs - sinceMs, expectedMs },
    ])
  }

  *problems(): Iterable<Finding> {
    const nowMs = Date.now()
    for (const [pipeline, { ms, expectedMs }] of this.all()) {
      if (ms < expectedMs) continue
      const cause = `No event of ${pipeline} for ${ageOf(ms)}; one is expected every ${ageOf(expectedMs)}.`
      yield { kind: SILENT, subject: pipeline, pipeline, cause, sinceMs: nowMs - ms }
    }
  }

  pipelineStates(): ReadonlyMap<string, PipelineState | undefined> {
    const nowMs = Date.now()
    return new Map(
      this.all().map(([pipeline, { ms, expectedMs }]) => {
        const words = `an event is expected every ${ageOf(expectedMs)}`
        const state = { name: "silent" as const, words, since: nowMs - ms }
        return [pipeline, ms >= expectedMs ? state : undefined]
      }),
    )
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  async #sample(): Promise<void> {
    const { events } = await this.#service.activity()
    const nowMs = Date.now()
    for (const { pipeline, outcome, reason, count } of events) {
      if (outcome === "rejected" || !this.#watched.has(pipeline)) continue
      const series = JSON.stringify([pipeline, outcome, reason])
      if (count > (this.#counts.get(series) ?? 0)) this.#ended(pipeline, nowMs)
      this.#counts.set(series, count)
    }
    for (const [pipeline, it] of this.#watched) {
      if (it.isLogged || nowMs - it.sinceMs < it.expectedMs) continue
      it.isLogged = true
      const line = { pipeline, since: new Date(it.sinceMs).toISOString(), expect_every_ms: it.expectedMs }
      this.#log.warn(line, "no event has come for longer than expect_every")
    }
    const least = Math.min(...[...this.#watched.values()].map(({ expectedMs }) => expectedMs / 10))
    const waitMs = Math.max(100, Math.min(SAMPLED_MS, least))
    this.#timer = undefined
    if (!this.#isClosed && this.#watched.size > 0)
      this.#timer = setTimeout(() => void this.#sample(), waitMs).unref()
  }

  #ended(pipeline: string, nowMs: number): void {
    const it = this.#watched.get(pipeline)!
    if (it.isLogged) this.#log.info({ pipeline, silent_ms: nowMs - it.sinceMs }, "events come again")
    it.sinceMs = nowMs
    it.isLogged = false
  }
}
