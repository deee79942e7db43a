import { toShownUrl } from "../../outgoing/shown-url.ts"
import { pause, steadyMs } from "../../clock/clock.ts"
import { Lasting } from "../../clock/lasting.ts"
import { HooklineError } from "../../errors.ts"
import { HOUR_MS, type Certificate } from "./certificate.ts"
import { KEPT_MS, MOST_ATTEMPTS, type MissingEvent } from "./ledger-database.ts"
import { LogAgreement } from "./log-agreement.ts"
import { NO_PASS, type Reconciliation, type ReconcileState } from "./reconciliation.ts"
import { LostAnswer, SenderRefusal } from "./sender-api.ts"

/*
 * A pass over a sender's list:
 *
 *   compares   the ledger with the log, and takes back what the log no longer has; so it does between passes
 *   looks      at the endpoint, as the sender has it
 *   lists      page by page into the ledger; continued after a crash. What has an outcome there needs nothing more
 *   searches   the index of outcomes, where the list does not say what the sender got
 *   asks       for what is missing, once a pass and at most three times in all, unless the pipeline accepts no events now
 *   awaits     what it has asked for: lists again, until it arrived or a time is over
 *   certifies  the hours with nothing left to ask for
 *
 * Times are the sender's: its clock is read from its answers.
 */

/** Missing events that one query reads. */
const BATCH = 20
/** Listings overlap by this many times the sender's latency, so that an event that is listed late is found. */
const OVERLAP = 15
/** An unfinished pass is continued within this time. */
const CONTINUED_MS = HOUR_MS
/** The ledger is compared with the log this often. */
const COMPARED_MS = 10_000
/** A pass waits this many times the sender's latency for the events that it has asked for. */
const PATIENCE = 3
const MOST_PAGES = 10_000

export class Reconciler {
  readonly #of: Reconciliation
  readonly #agreement: LogAgreement
  readonly #failing = new Lasting({ remindMs: HOUR_MS })
  readonly #misconfigured = new Lasting({ remindMs: 24 * HOUR_MS })
  /** When the last complete listing began, or this was opened; by the steady clock. */
  #listedMs = steadyMs()
  #state = NO_PASS

  constructor(reconciliation: Reconciliation) {
    this.#of = reconciliation
    this.#agreement = new LogAgreement(reconciliation)
  }

  get state(): ReconcileState {
    return { ...this.#state, setBack: this.#agreement.setBack }
  }

  /** 0: what is missing can only be reported. */
  get #mostAttempts(): number {
    const { api, target } = this.#of
    return api.listing.redeliver === undefined && target.inject === undefined ? 0 : MOST_ATTEMPTS
  }

  /** Makes a pass every `everyMs` until the signal aborts. Never rejects. */
  async run(): Promise<void> {
    const { signal, everyMs, log } = this.#of
    while (!signal.aborted) {
      const problem = await this.pass().then(
        () => this.#state.problem,
        (error: Error) => error.message,
      )
      if (signal.aborted) return
      this.#state = { ...this.#state, problem }
      if (problem === undefined) {
        const lastedMs = this.#failing.ended()
        if (lastedMs !== undefined) log.info({ lasted_ms: lastedMs }, "reconciling again")
      } else if (this.#failing.began(problem) !== undefined) log.error({ problem }, "can't reconcile")
      await this.#pause(everyMs)
    }
  }

  /** Waits for the next pass, and compares the ledger with the log meanwhile. */
  async #pause(ms: number): Promise<void> {
    const { signal } = this.#of
    const untilMs = steadyMs() + ms
    for (let leftMs = ms; leftMs > 0 && !signal.aborted; leftMs = untilMs - steadyMs()) {
      await pause(Math.min(leftMs, COMPARED_MS), signal)
      // the next pass says why
      await this.#agreement.compareIfReady().catch(() => undefined)
    }
  }

  async close(): Promise<void> {
    await this.#agreement.compare().catch(() => undefined)
    await this.#of.ledger.close()
  }

  /**
   * Makes one pass. `state.problem` then says why it could not ask for events.
   *
   * @param how `sinceMs`: from when it lists; undefined: from where the last one was complete, or `window`. `isDryRun`: it asks
   *   for nothing, and certifies nothing
   * @throws HooklineError `unavailable`, `refused`, `log_io`
   */
  async pass(how: { sinceMs?: number | undefined; isDryRun?: boolean } = {}): Promise<Certificate> {
    const { sinceMs, isDryRun = false } = how
    const { api, ledger, log, target, shared, windowMs } = this.#of
    await this.#look()
    await this.#agreement.compareIfReady()
    const { startedMs, fromMs } = await this.#list(sinceMs)
    await this.#search()
    const asked = isDryRun ? undefined : await this.#ask(startedMs)
    if (asked !== undefined && asked.events > 0) {
      const did = target.inject && !api.listing.redeliver ? "published" : "asked for"
      log.info({ events: asked.events }, `${did} missing events`)
      await this.#await(fromMs, asked.round)
    }
    const openMs = await ledger.do("oldestOpen", this.#mostAttempts)
    const window = await ledger.do("count", Math.min(openMs ?? fromMs, fromMs), startedMs, this.#mostAttempts)
    this.#state = { ...this.#state, completeAtMs: Date.now(), problem: asked?.problem, window }
    if (!isDryRun) {
      await this.#certify(startedMs)
      await ledger.do("trim", startedMs - KEPT_MS, startedMs - 2 * Math.max(windowMs, startedMs - fromMs))
      await shared?.saveFrom(Math.min(openMs ?? startedMs, startedMs))
    }
    this.#state = { ...this.#state, certificates: await ledger.do("certificates", 24) }
    const { listed, missing, recovered, open, unrecoverable } = window
    if ((asked?.events ?? 0) > 0) log.info({ listed, missing, recovered, open, unrecoverable }, "reconciled")
    return window
  }

  /** Checks the endpoint as the sender has it configured. Where its API fails, that is logged, and the pass continues. */
  async #look(): Promise<void> {
    const { api, ledger, log, id, target, signal } = this.#of
    const found = await api.endpoint().catch((error: Error) => {
      signal.throwIfAborted()
      log.warn({ problem: error.message }, "can't check the sender's endpoint")
    })
    if (!found) return
    const { isActive, url, events, last } = found
    const shown = url && toShownUrl(url)
    const { endpoint: before } = await ledger.do("progress")
    const now = `${shown ?? ""} ${events ?? ""}`
    if (before !== undefined && before !== now)
      log.warn({ before, now }, "the sender's endpoint has another URL or other events")
    if (before !== now) await ledger.do("save", { endpoint: now })
    const why = last === undefined ? "" : ` (${last})`
    const disabled = `is disabled${why}; enable it, or run hookline reconcile ${id} --enable`
    const elsewhere = `sends to ${shown}, which is not this pipeline's URL`
    const isElsewhere = url !== undefined && !target.isAt(url)
    const problems = [...(isActive ? [] : [disabled]), ...(isElsewhere ? [elsewhere] : [])]
    const endpoint = problems.length === 0 ? undefined : `the endpoint ${problems.join(", and ")}`
    this.#state = { ...this.#state, endpoint }
    if (endpoint === undefined) this.#misconfigured.ended()
    else if (this.#misconfigured.began(endpoint) !== undefined)
      log.error({ endpoint }, "the sender's endpoint needs action")
  }

  /** Reads the list. @returns from when it listed, and the sender's time when it began */
  async #list(sinceMs?: number): Promise<{ readonly startedMs: number; readonly fromMs: number }> {
    const { api, provider, ledger } = this.#of
    const nowMs = api.nowMs()
    const beganMs = steadyMs()
    const fromMs = Math.max(sinceMs ?? (await this.#from(nowMs)), nowMs - api.listing.keptMs)
    const unfinished = sinceMs === undefined ? (await ledger.do("progress")).pass : undefined
    const anew = { startedMs: nowMs, fromMs, next: "" }
    let pass = unfinished !== undefined && nowMs - unfinished.startedMs < CONTINUED_MS ? unfinished : anew
    let wasExpired = false
    for (let pages = 0; ; pages++) {
      if (pages === MOST_PAGES)
        throw new HooklineError("refused", `its list has more than ${MOST_PAGES} pages`)
      const page = await api.page(pass.fromMs, pass.next || undefined).catch((error: unknown) => {
        if (pass.next === "" || wasExpired || !(error instanceof SenderRefusal)) throw error
        return undefined
      })
      // senders forget a page's cursor after some time
      wasExpired ||= page === undefined
      pass = page === undefined ? { ...pass, startedMs: nowMs, next: "" } : pass
      if (page === undefined) continue
      const read = await ledger.do("page", provider, page, pass)
      if (typeof read === "string") throw new HooklineError("refused", `${api.listing.title}: ${read}`)
      if (read.next === undefined) break
      pass = { ...pass, next: read.next }
    }
    this.#listedMs = beganMs
    const before = await ledger.do("progress")
    // what the sender no longer lists is certified by nothing
    const isContinuous = before.sinceMs > 0 && pass.fromMs <= before.completeMs
    const since = isContinuous ? Math.min(before.sinceMs, pass.fromMs) : pass.fromMs
    await ledger.do("save", { pass: undefined, sinceMs: since, completeMs: pass.startedMs })
    return pass
  }

  /** From when it must list: since the last complete pass, and since the oldest event that this process or the last holder left open. */
  async #from(nowMs: number): Promise<number> {
    const { windowMs, shared, ledger, api } = this.#of
    const { completeMs } = await ledger.do("progress")
    // includes the time in which no list could be read, even if the clock was set
    const wantedMs = nowMs - windowMs - (steadyMs() - this.#listedMs)
    if (completeMs === 0) await ledger.do("save", { completeMs: wantedMs })
    const openMs = await ledger.do("oldestOpen", this.#mostAttempts)
    const knownMs = [completeMs, openMs ?? 0, (await shared?.from()) ?? 0].filter((it) => it > 0)
    return Math.min(wantedMs, ...knownMs.map((it) => it - OVERLAP * api.listing.latencyMs))
  }

  async #search(): Promise<void> {
    const { index, ledger, api } = this.#of
    const oldestMs = index && (await ledger.do("oldestOpen", Number.POSITIVE_INFINITY))
    if (oldestMs === undefined) return
    // the index has times of this machine
    const sinceMs = oldestMs - (api.nowMs() - Date.now()) - OVERLAP * api.listing.latencyMs
    for await (const lines of index!.read(Math.floor(sinceMs / HOUR_MS))) await ledger.do("found", lines)
  }

  /** Asks for missing events, or publishes them. @returns its round, the number of events, and why it ended early */
  async #ask(startedMs: number) {
    const { api, ledger, target, signal } = this.#of
    const round = await ledger.do("round")
    let events = 0
    if (this.#mostAttempts === 0) return { round, events }
    for (;;) {
      const missing = await ledger.do("missing", startedMs - api.listing.latencyMs, round, BATCH)
      if (missing.length === 0) return { round, events }
      for (const event of missing)
        try {
          const problem = await target.problem()
          if (problem !== undefined)
            throw new HooklineError("unavailable", `the pipeline accepts no events to ask for: ${problem}`)
          if (await this.#recover(event, round)) events++
        } catch (error) {
          if (signal.aborted || !(error instanceof HooklineError)) throw error
          if (error instanceof LostAnswer) events++
          return { round, events, problem: error.message }
        }
    }
  }

  /** Counts an attempt first, so that a crash leads to no extra one; takes it back if it was not made. @returns false: none is left */
  async #recover({ id, delivery, body, attempts: before }: MissingEvent, round: number): Promise<boolean> {
    const { api, ledger, target, shared, log, signal } = this.#of
    const attempts = (await shared?.attempt(id, 1)) ?? before + 1
    await ledger.do("attempt", id, round, attempts, api.nowMs())
    if (attempts > MOST_ATTEMPTS) return false
    try {
      if (api.listing.redeliver === undefined) {
        const outcome = await target.inject!(body ?? "")
        if (outcome !== undefined) await ledger.do("settle", id, outcome)
      } else {
        const problem = await api.redeliver(delivery)
        if (problem !== undefined)
          log.warn({ event: id, problem }, "the sender refuses to redeliver an event")
      }
      return true
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof LostAnswer) throw error
      await shared?.attempt(id, -1)
      await ledger.do("attempt", id, round, attempts - 1, api.nowMs())
      throw error
    }
  }

  /** Lists again until every event that was asked for has an outcome, or the wait is over. */
  async #await(fromMs: number, round: number): Promise<void> {
    const { api, ledger, signal } = this.#of
    const { latencyMs, redeliver } = api.listing
    if (redeliver === undefined) return
    const untilMs = steadyMs() + PATIENCE * latencyMs
    for (let waitMs = latencyMs / 12; steadyMs() < untilMs; waitMs = Math.min(waitMs * 2, latencyMs)) {
      await pause(waitMs, signal)
      signal.throwIfAborted()
      await this.#list(fromMs)
      await this.#search()
      if ((await ledger.do("waiting", round)) === 0) return
    }
  }

  async #certify(startedMs: number): Promise<void> {
    const { ledger, api, certified, log, shared, windowMs } = this.#of
    const { sinceMs } = await ledger.do("progress")
    const againFromMs = startedMs - Math.max(windowMs, 2 * HOUR_MS)
    const endMs = startedMs - api.listing.latencyMs
    const since = Math.max(sinceMs, startedMs - KEPT_MS)
    for (const found of await ledger.do("due", since, againFromMs, endMs, this.#mostAttempts)) {
      const last = await shared?.certificate(found.from)
      // replicas differ in what each has recovered itself
      if (last && (["listed", "pending", "unrecoverable"] as const).every((it) => last[it] === found[it])) {
        await ledger.do("certify", last)
        continue
      }
      const certificate = { ...found, revision: Math.max(found.revision, (last?.revision ?? 0) + 1) }
      await certified(certificate)
      await shared?.certify(certificate)
      await ledger.do("certify", certificate)
      const { ids, accounted: _, ...line } = certificate
      const missing = { ...line, ids: ids.unrecoverable.slice(0, 20) }
      if (line.unrecoverable > 0) log.error(missing, "certificate: events are missing")
      else if (line.pending > 0) log.info(line, "certificate: the sender is still trying to deliver events")
      else log.info(line, "certificate: nothing is missing")
    }
  }
}
