import { Lasting } from "../clock/lasting.ts"
import { HOUR_MS } from "./certificate.ts"
import type { Logger } from "../telemetry/log.ts"
import type { Ledger } from "./ledger.ts"
import type { SenderApi } from "./sender-api.ts"

interface Watched {
  readonly id: string
  readonly api: SenderApi
  readonly ledger: Ledger
  /** Whether a URL may lead to the pipeline. */
  readonly target: { isAt(url: string): boolean }
  readonly log: Pick<Logger, "warn" | "error">
  readonly signal: AbortSignal
}

/** Checks the endpoint as the sender has it configured. */
export class EndpointWatch {
  readonly #of: Watched
  readonly #lines = new Lasting({ remindMs: 24 * HOUR_MS })
  /** What is wrong with it. */
  problem: string | undefined

  constructor(watched: Watched) {
    this.#of = watched
  }

  /** A failure is logged; the pass continues. */
  async look(): Promise<void> {
    const { log, id, signal } = this.#of
    try {
      await this.#look()
    } catch (error) {
      signal.throwIfAborted()
      log.warn({ reconcile: id, problem: (error as Error).message }, "can't look at the sender's endpoint")
    }
  }

  async #look(): Promise<void> {
    const { api, ledger, log, id, target } = this.#of
    const found = await api.endpoint()
    if (found === undefined) return
    const { endpoint: before } = await ledger.do("progress")
    const now = `${found.url ?? ""} ${found.events ?? ""}`
    if (before !== undefined && before !== now)
      log.warn({ reconcile: id, before, now }, "the sender's endpoint has another URL or other events")
    if (before !== now) await ledger.do("save", { endpoint: now })
    const problems = []
    if (!found.isActive)
      problems.push(
        `is disabled${found.last === undefined ? "" : ` (${found.last})`}; enable it, or run hookline reconcile ${id} --enable`,
      )
    if (found.url !== undefined && !target.isAt(found.url))
      problems.push(`sends to ${found.url}, which is not this pipeline's URL`)
    this.problem = problems.length === 0 ? undefined : `the endpoint ${problems.join(", and ")}`
    if (this.problem === undefined) this.#lines.ended()
    else if (this.#lines.began(this.problem) !== undefined)
      log.error({ reconcile: id, endpoint: this.problem }, "the sender's endpoint needs action")
  }
}
