import { pause, steadyMs } from "../clock/clock.ts"
import { Lasting } from "../clock/lasting.ts"
import { HooklineError } from "../errors.ts"
import type { Logger } from "../telemetry/log.ts"
import type { Ledger } from "./ledger.ts"
import type { Certificate } from "./certificate.ts"
import { MOST_ATTEMPTS, type MissingEvent, type Progress } from "./ledger-database.ts"
import type { OutcomeIndex } from "./outcome-index.ts"
import type { SenderApi } from "./sender-api.ts"

/*
 * A pass over a sender's list:
 *
 *   looks      at the endpoint, as the sender has it
 *   lists      page by page into the ledger; continued after a crash. What has an outcome there needs nothing more
 *   searches   the index of outcomes, where the list does not say what the sender got
 *   asks       for what is missing, once a pass and at most three times in all, unless the pipeline accepts no events now
 *   awaits     what it has asked for: lists again, until it arrived or a time is over
 *   certifies  the hours of which nothing is left to ask for
 *
 * Times are the sender's: its clock is read from its answers.
 */

/** Asked for until it is looked again whether the pipeline accepts events. */
const BATCH = 20
/** Listings overlap by so much: what is listed late is found. */
const OVERLAP_MS = 15 * 60_000
/** An unfinished pass is continued within this time. */
const CONTINUED_MS = 3_600_000
/** Times the sender's latency that a pass waits for what it has asked for. */
const PATIENCE = 3
const MOST_PAGES = 10_000

/** The pipeline that the sender's events go to. */
export interface Target {
  /** Why it accepts no events; undefined: it does. */
  problem(): Promise<string | undefined>
  /** Publishes a listed event; undefined: not without `inject`. @returns its outcome; undefined with a reason: none for good */
  readonly inject: ((body: string) => Promise<Injected>) | undefined
  /** Whether a URL may lead to it. */
  isAt(url: string): boolean
}

export interface Injected {
  readonly outcome: string | undefined
  readonly reason: string
}

export interface Reconciliation {
  readonly id: string
  readonly pipeline: string
  readonly provider: string
  readonly api: SenderApi
  readonly ledger: Ledger
  /** undefined: the list says what the sender got. */
  readonly index: OutcomeIndex | undefined
  readonly target: Target
  readonly windowMs: number
  readonly everyMs: number
  readonly certified: (certificate: Certificate) => Promise<void>
  readonly log: Pick<Logger, "info" | "warn" | "error">
  readonly signal: AbortSignal
}

/** What is known of a reconcile, for the page and the metrics. */
export interface ReconcileState {
  /** Milliseconds since 1970; undefined: no pass has read the whole list yet. */
  readonly completeAtMs: number | undefined
  /** Why the last pass failed. */
  readonly problem: string | undefined
  /** What is wrong with the endpoint. */
  readonly endpoint: string | undefined
  /** The window that the last pass read. */
  readonly window: Certificate | undefined
  /** The newest first. */
  readonly certificates: readonly Certificate[]
}

export class Reconciler {
  readonly #of: Reconciliation
  readonly #failing = new Lasting({ remindMs: 3_600_000 })
  readonly #endpointLines = new Lasting({ remindMs: 24 * 3_600_000 })
  state: ReconcileState = {
    completeAtMs: undefined,
    problem: undefined,
    endpoint: undefined,
    window: undefined,
    certificates: [],
  }

  constructor(reconciliation: Reconciliation) {
    this.#of = reconciliation
  }

  /** 0: what is missing can only be reported. */
  get #mostAttempts(): number {
    const { api, target } = this.#of
    return api.listing.redeliver === undefined && target.inject === undefined ? 0 : MOST_ATTEMPTS
  }

  /** Makes a pass every `everyMs` until the signal aborts. Never rejects. */
  async run(): Promise<void> {
    const { signal, everyMs, log, id } = this.#of
    while (!signal.aborted) {
      try {
        await this.pass()
        const lastedMs = this.#failing.ended()
        if (lastedMs !== undefined) log.info({ reconcile: id, lasted_ms: lastedMs }, "reconciling again")
      } catch (error) {
        if (signal.aborted) return
        const problem = (error as Error).message
        this.state = { ...this.state, problem }
        if (this.#failing.began(problem) !== undefined)
          log.error({ reconcile: id, problem }, "can't reconcile")
      }
      await pause(everyMs, signal)
    }
  }

  /**
   * @param how `sinceMs`: from when it lists; undefined: from where the last one was complete, or `window`. `isDryRun`: it asks
   *   for nothing, and certifies nothing
   * @throws HooklineError `unavailable`, `refused`, `log_io`
   */
  async pass(how: { sinceMs?: number | undefined; isDryRun?: boolean } = {}): Promise<Certificate> {
    const { sinceMs, isDryRun = false } = how
    const { api, ledger, id, log, target } = this.#of
    await this.#look()
    const { startedMs, fromMs } = await this.#list(sinceMs)
    await this.#search(fromMs)
    const asked = isDryRun ? 0 : await this.#ask(startedMs)
    if (asked > 0) {
      log.info(
        { reconcile: id, events: asked },
        `${target.inject && !api.listing.redeliver ? "published" : "asked for"} missing events`,
      )
      await this.#await(fromMs, startedMs)
    }
    const window = await ledger.do("count", fromMs, startedMs, this.#mostAttempts)
    if (!isDryRun) await this.#certify(startedMs)
    await ledger.do("trim", startedMs - 2 * Math.max(this.#of.windowMs, startedMs - fromMs))
    const certificates = await ledger.do("certificates", 24)
    this.state = { ...this.state, completeAtMs: Date.now(), problem: undefined, window, certificates }
    const { listed, missing, recovered, open, unrecoverable } = window
    if (asked > 0) log.info({ reconcile: id, listed, missing, recovered, open, unrecoverable }, "reconciled")
    return window
  }

  /** Looks at the endpoint. What fails here keeps nothing from being listed. */
  async #look(): Promise<void> {
    const { api, ledger, log, id, target } = this.#of
    try {
      const found = await api.endpoint()
      if (found === undefined) return
      const progress = await this.#progress()
      const now = `${found.url ?? ""} ${found.events ?? ""}`
      const before = progress.endpoint
      if (before !== undefined && before !== now)
        log.warn({ reconcile: id, before, now }, "the sender's endpoint has another URL or other events")
      if (before !== now) await ledger.do("save", { ...progress, endpoint: now })
      const problems = [
        found.isActive
          ? undefined
          : `is disabled${found.last === undefined ? "" : ` (${found.last})`}; enable it, or run hookline reconcile ${id} --enable`,
        found.url === undefined || target.isAt(found.url)
          ? undefined
          : `sends to ${found.url}, which is not this pipeline's URL`,
      ].filter((it) => it !== undefined)
      const endpoint = problems.length === 0 ? undefined : `the endpoint ${problems.join(", and ")}`
      this.state = { ...this.state, endpoint }
      if (endpoint === undefined) this.#endpointLines.ended()
      else if (this.#endpointLines.began(endpoint) !== undefined)
        log.error({ reconcile: id, endpoint }, "the sender's endpoint needs action")
    } catch (error) {
      this.#of.signal.throwIfAborted()
      log.warn({ reconcile: id, problem: (error as Error).message }, "can't look at the sender's endpoint")
    }
  }

  async #progress(): Promise<Progress> {
    return (await this.#of.ledger.do("progress")) ?? { sinceMs: 0, completeMs: 0 }
  }

  /** Reads the list. @returns from when it listed, and the sender's time when it began */
  async #list(sinceMs?: number): Promise<{ readonly startedMs: number; readonly fromMs: number }> {
    const { api, ledger, provider, windowMs } = this.#of
    const progress = await this.#progress()
    const nowMs = api.nowMs()
    const { completeMs } = progress
    const wantedMs = sinceMs ?? nowMs - windowMs
    const lastMs = completeMs === 0 ? wantedMs : Math.min(wantedMs, completeMs - OVERLAP_MS)
    const fromMs = Math.max(sinceMs === undefined ? lastMs : wantedMs, nowMs - api.listing.keptMs)
    const isContinued =
      sinceMs === undefined && progress.pass !== undefined && nowMs - progress.pass.startedMs < CONTINUED_MS
    let pass = isContinued ? progress.pass! : { startedMs: nowMs, fromMs, next: "" }
    for (let pages = 0; ; pages++) {
      if (pages === MOST_PAGES)
        throw new HooklineError("refused", `its list has more than ${MOST_PAGES} pages`)
      const page = await api.page(pass.fromMs, pass.next === "" ? undefined : pass.next)
      const read = await ledger.do("page", provider, page, { ...(await this.#progress()), pass })
      if (typeof read === "string") throw new HooklineError("refused", `${api.listing.title}: ${read}`)
      if (read.next === undefined) break
      pass = { ...pass, next: read.next }
    }
    const before = await this.#progress()
    // what the sender no longer lists is certified by nothing
    const isContinuous = pass.fromMs <= before.completeMs
    const since = isContinuous ? Math.min(before.sinceMs, pass.fromMs) : pass.fromMs
    await ledger.do("save", { ...before, pass: undefined, sinceMs: since, completeMs: pass.startedMs })
    return pass
  }

  async #search(fromMs: number): Promise<void> {
    const { index, ledger } = this.#of
    if (index === undefined) return
    const oldestMs = await ledger.do("seek")
    if (oldestMs === undefined) return
    for await (const lines of index.read(Math.min(oldestMs, fromMs) - OVERLAP_MS))
      await ledger.do("found", lines)
  }

  /** @returns how many events were asked for, or published */
  async #ask(startedMs: number): Promise<number> {
    const { api, ledger, target, log, id } = this.#of
    const { latencyMs } = api.listing
    if (this.#mostAttempts === 0) return 0
    const passMs = Date.now()
    let asked = 0
    for (;;) {
      const missing = await ledger.do("missing", startedMs - latencyMs, passMs, BATCH)
      if (missing.length === 0) return asked
      const problem = await target.problem()
      if (problem !== undefined) {
        log.warn({ reconcile: id, problem }, "missing events are asked for once the pipeline accepts events")
        return asked
      }
      for (const event of missing) {
        await ledger.do("attempt", event.id, Date.now())
        await this.#recover(event)
      }
      asked += missing.length
    }
  }

  async #recover({ id, delivery, body }: MissingEvent): Promise<void> {
    const { api, ledger, target } = this.#of
    if (api.listing.redeliver === undefined) {
      const { outcome, reason } = await target.inject!(body ?? "")
      return ledger.do("settle", id, outcome ?? null, reason)
    }
    try {
      await api.redeliver(delivery)
    } catch (error) {
      if (!(error instanceof HooklineError) || error.code !== "refused") throw error
      await ledger.do("settle", id, null, error.message)
    }
  }

  /** Lists again until everything that was asked for has ended here for good, or the patience is over. */
  async #await(fromMs: number, startedMs: number): Promise<void> {
    const { api, ledger, signal } = this.#of
    const { latencyMs, redeliver } = api.listing
    if (redeliver === undefined) return
    const untilMs = steadyMs() + PATIENCE * latencyMs
    for (let waitMs = latencyMs / 12; steadyMs() < untilMs; waitMs = Math.min(waitMs * 2, latencyMs)) {
      await pause(waitMs, signal)
      signal.throwIfAborted()
      await this.#list(fromMs)
      await this.#search(fromMs)
      if ((await ledger.do("waiting", startedMs)) === 0) return
    }
  }

  async #certify(startedMs: number): Promise<void> {
    const { ledger, api, certified, log, id } = this.#of
    const { sinceMs } = await this.#progress()
    const from = Math.max(sinceMs, startedMs - Math.max(this.#of.windowMs, 3_600_000 * 2))
    const settledMs = startedMs - api.listing.latencyMs
    for (const certificate of await ledger.do("due", from, settledMs, this.#mostAttempts)) {
      const { fromMs, toMs, ids, ...counts } = certificate
      const line = {
        reconcile: id,
        to: new Date(toMs).toISOString(),
        from: new Date(fromMs).toISOString(),
        ...counts,
      }
      if (counts.unrecoverable > 0)
        log.error({ ...line, ids: ids.unrecoverable.slice(0, 20) }, "certificate: events are missing")
      else log.info(line, "certificate: nothing is missing")
      await certified(certificate)
      await ledger.do("certify", certificate)
    }
  }
}
