import type { Service } from "../admin/service.ts"
import type { Silence } from "../telemetry/gauges.ts"
import type { Logger } from "../telemetry/log.ts"
import type { Plan } from "./plan/plan.ts"
import type { Transaction } from "./resources.ts"

/** How often counters are compared. */
const SAMPLED_MS = 10_000

/** Watches the plan's pipelines that have `expect_every`, from the commit on. */
export function acquireSilences(
  plan: Plan,
  transaction: Transaction,
  service: Pick<Service, "activity">,
  log: Pick<Logger, "warn" | "info">,
): Silences {
  const silences = transaction.acquire({
    name: "silences",
    open: () => new Silences(service, log),
    close: (it) => it.close(),
  })
  transaction.onCommit(() =>
    silences.expect(
      plan.pipelines.flatMap(({ id, source }) => {
        const everyMs: unknown = source.values["expect_every"]
        return typeof everyMs === "number" ? [[id, everyMs] as const] : []
      }),
    ),
  )
  return silences
}

/** Notices pipelines to which no event has come for longer than is expected. Accepted and dropped events count. */
export class Silences {
  readonly #service: Pick<Service, "activity">
  readonly #log: Pick<Logger, "warn" | "info">
  #watched = new Map<string, { readonly expectedMs: number; sinceMs: number; isLogged: boolean }>()
  /** By series. */
  readonly #counts = new Map<string, number>()
  #timer: Timer | undefined
  #isClosed = false

  constructor(service: Pick<Service, "activity">, log: Pick<Logger, "warn" | "info">) {
    this.#service = service
    this.#log = log
  }

  /** @param expected milliseconds by pipeline, in place of those before */
  expect(expected: readonly (readonly [pipeline: string, everyMs: number])[]): void {
    const before = this.#watched
    const begun = { sinceMs: Date.now(), isLogged: false }
    this.#watched = new Map(
      expected.map(([id, expectedMs]) => [id, { ...(before.get(id) ?? begun), expectedMs }]),
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
