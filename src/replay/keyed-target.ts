// Hot path: each record that is delivered passes here.
import type { StoredRecord } from "../brokers/broker.ts"
import { Backoff, doubled } from "../clock/backoff.ts"
import { steadyMs } from "../clock/clock.ts"
import { jittered, ATTEMPT_RETRY_MS, type Attempt, type AttemptOptions, type Patience } from "./attempt.ts"
import type { AttemptTarget, ReplayTarget, Sent } from "./target.ts"

/*
 * Records are attempted in order within a key, up to `concurrency` at once across keys; one without a key has an order of
 * its own. Its states:
 *
 *   accepting  the last answer was an acceptance, or there was none. A record that failed is attempted again after a pause of
 *              its own; others are not held up.
 *   in doubt   a record failed, and none was accepted since. Only the first records in order are attempted, each once a
 *              round, with growing pauses between rounds. An acceptance ends it.
 *
 * This tells a target that fails one record from one that fails all: while it accepts others, a record that it keeps
 * failing is refused for good (`Patience`); where it fails all, they wait. What was accepted after a failing record stays in
 * the window, so the last of it is spared: while a record fails and the window has no other that was not attempted yet, it
 * grows by one record a round.
 */

interface Entry {
  readonly record: StoredRecord
  readonly number: number
  readonly resolve: (sent: Sent) => void
  readonly lane: string | undefined
  /** How many records of its partition were sent before it. */
  readonly sent: number
  attempts: number
  refusals: number
  /** When it was first refused. */
  refusedMs: number | undefined
  /** How often it failed although others had been accepted since its previous failure. */
  failedAlone: number
  /** The number of acceptances at its last failure; undefined: it has not failed. */
  accepted: number | undefined
  notBeforeMs: number
}

interface Doubt {
  /** Attempted in this round. */
  readonly tried: Set<Entry>
  /** A record after the first ones, to find out whether those fail alone; undefined: not chosen in this round. */
  probe: Entry | undefined
  /** Rounds begun, including this one. */
  rounds: number
  /** Until the next round; 0: no record has failed in this one. */
  pauseMs: number
  /** Why the last one failed. */
  reason: string
}

const MOST_BYTES = 16 * 1024 * 1024
const SPARED = 8

export class KeyedTarget implements AttemptTarget {
  /** The window, none of it spared. */
  readonly largest: ReplayTarget["window"]
  readonly #options: AttemptOptions
  readonly #patience: Patience
  readonly #concurrency: number
  /** Aborts the attempts under way. */
  readonly #stop = new AbortController()
  /** No further attempt begins. */
  #isEnded = false
  /** Records that may be attempted next: not in flight, and the first of their key. */
  readonly #heads = new Set<Entry>()
  /** Records of a key, by key: the first is a head or under way. */
  readonly #lanes = new Map<string, Entry[]>()
  #number = 0
  /** How many records were sent, by partition. */
  readonly #sent = new Map<number, number>()
  /** Records that have failed, and are neither accepted nor refused. */
  readonly #failing = new Set<Entry>()
  /** How many of the spared records were needed for these. */
  #needed = 0
  #active = 0
  #isHeld = false
  #accepted = 0
  /** undefined: accepting. */
  #doubt: Doubt | undefined
  readonly #rounds = new Backoff(ATTEMPT_RETRY_MS)
  #timer: { readonly timer: Timer; readonly atMs: number } | undefined

  constructor(options: AttemptOptions & { readonly concurrency: number }) {
    const { concurrency, patience = { refusals: 1 } } = options
    this.#options = options
    this.#concurrency = concurrency
    this.#patience = patience
    this.largest = { records: Math.max(16, 8 * concurrency), bytes: MOST_BYTES }
  }

  send(record: StoredRecord): Promise<Sent> {
    if (this.#isEnded) return Promise.resolve("stopped")
    return new Promise((resolve) => {
      const lane = record.key && Buffer.from(record.key).toString("latin1")
      const entry: Entry = {
        record,
        number: this.#number++,
        resolve,
        lane,
        sent: this.#sent.get(record.partition) ?? 0,
        attempts: 0,
        refusals: 0,
        refusedMs: undefined,
        failedAlone: 0,
        accepted: undefined,
        notBeforeMs: 0,
      }
      this.#sent.set(record.partition, entry.sent + 1)
      const before = lane === undefined ? undefined : this.#lanes.get(lane)
      if (before === undefined) this.#heads.add(entry)
      if (before !== undefined) before.push(entry)
      else if (lane !== undefined) this.#lanes.set(lane, [entry])
      this.#pump()
    })
  }

  get window(): ReplayTarget["window"] {
    const { records, bytes } = this.largest
    const spared = SPARED - this.#needed
    // half of the bytes at most, so that each spared record has a place, too, where records are large
    return { records: records - spared, bytes: bytes * (1 - spared / (2 * SPARED)) }
  }

  hold(isHeld: boolean): void {
    this.#isHeld = isHeld
    this.#pump()
  }

  problem(): string | undefined {
    return this.#doubt?.reason
  }

  end(): void {
    this.#isEnded = true
    clearTimeout(this.#timer?.timer)
    for (const [, ...others] of this.#lanes.values()) for (const { resolve } of others) resolve("stopped")
    for (const { resolve } of this.#heads) resolve("stopped")
  }

  stop(): void {
    this.end()
    this.#stop.abort()
  }

  /** Records attempted now. */
  get active(): number {
    return this.#active
  }

  /** Whether a further record is attempted to find out if a failing one fails alone. */
  get #probes(): boolean {
    const { parkAfterMs, retries } = this.#patience
    return parkAfterMs !== undefined || retries !== undefined
  }

  /** Begins the attempts that may begin now. */
  #pump(): void {
    if (this.#isEnded || this.#isHeld) return
    const nowMs = steadyMs()
    let nextMs = Number.POSITIVE_INFINITY
    for (const entry of this.#candidates()) {
      if (this.#active >= this.#concurrency) return
      if (entry.notBeforeMs <= nowMs || this.#doubt !== undefined) void this.#attempt(entry)
      else nextMs = Math.min(nextMs, entry.notBeforeMs)
    }
    const doubt = this.#doubt
    if (doubt !== undefined && this.#active === 0 && doubt.tried.size > 0) nextMs = nowMs + doubt.pauseMs
    if (nextMs < (this.#timer?.atMs ?? Number.POSITIVE_INFINITY)) this.#wakeAt(nextMs, nowMs)
  }

  #candidates(): Iterable<Entry> {
    if (this.#doubt === undefined) return this.#heads
    const doubt = this.#doubt
    const heads = [...this.#heads].toSorted(byNumber)
    // those under way have been tried, or will have been
    const first = heads.splice(0, Math.max(0, this.#concurrency - this.#active))
    if (this.#probes) doubt.probe ??= heads.find(({ accepted }) => accepted === undefined) ?? heads[0]
    const probe = doubt.probe !== undefined && this.#heads.has(doubt.probe) ? [doubt.probe] : []
    return [...first, ...probe].filter((it) => !doubt.tried.has(it))
  }

  #wakeAt(atMs: number, nowMs: number): void {
    clearTimeout(this.#timer?.timer)
    const wake = (): void => {
      this.#timer = undefined
      const doubt = this.#doubt
      if (doubt !== undefined) {
        this.#doubt = { ...doubt, tried: new Set(), rounds: doubt.rounds + 1, pauseMs: 0, probe: undefined }
        const hasUntried = this.#heads.values().some(({ accepted }) => accepted === undefined)
        if (!hasUntried && this.#needed < SPARED) this.#needed++
      }
      this.#pump()
    }
    this.#timer = { timer: setTimeout(wake, atMs - nowMs), atMs }
  }

  async #attempt(entry: Entry): Promise<void> {
    this.#heads.delete(entry)
    this.#active++
    const { signal } = this.#stop
    entry.attempts++
    const attempt = await this.#options.attempt(entry.record, signal, entry)
    this.#active--
    if (this.#isEnded && attempt.outcome === "unavailable") return entry.resolve("stopped")
    if (attempt.outcome === "delivered") {
      this.#options.attempted?.(entry.record, attempt, undefined)
      this.#accept()
      this.#settle(entry, "delivered")
    } else this.#fail(entry, attempt)
    this.#pump()
  }

  #accept(): void {
    this.#accepted++
    if (this.#doubt === undefined) return
    const { rounds } = this.#doubt
    this.#endDoubt()
    const heads = [...this.#heads].toSorted(byNumber)
    this.#heads.clear()
    for (const head of heads) {
      this.#heads.add(head)
      // after an outage all are attempted at once; otherwise a refused one, to see whether it is refused alone
      if (rounds > 1 || (head.refusals > 0 && this.#patience.parkAfterMs !== undefined)) head.notBeforeMs = 0
    }
  }

  #beginDoubt(reason: string): Doubt {
    // the timer of a record that fails alone
    clearTimeout(this.#timer?.timer)
    this.#timer = undefined
    return (this.#doubt = { tried: new Set(), rounds: 1, pauseMs: 0, reason, probe: undefined })
  }

  #endDoubt(): void {
    this.#doubt = undefined
    this.#rounds.reset()
  }

  #fail(entry: Entry, attempt: Attempt): void {
    const { attempted } = this.#options
    const { outcome, reason, status } = attempt
    if (outcome === "refused") {
      entry.refusals++
      entry.refusedMs ??= steadyMs()
    }
    this.#failing.add(entry)
    if (entry.accepted !== undefined && entry.accepted < this.#accepted) entry.failedAlone++
    entry.accepted = this.#accepted
    if (this.#isFinal(entry, attempt)) {
      attempted?.(entry.record, attempt, undefined)
      if (this.#doubt?.tried.size === 0) this.#endDoubt()
      this.#settle(entry, { reason, status })
      if (this.#options.stops === true) this.end()
      return
    }
    if (this.#isEnded) return entry.resolve("stopped")
    const doubt = this.#doubt ?? this.#beginDoubt(reason)
    if (doubt.pauseMs === 0) doubt.pauseMs = jittered(this.#rounds.failed())
    const { retryAfterMs } = attempt
    // up to an hour, see post.ts
    if (retryAfterMs !== undefined) doubt.pauseMs = Math.max(retryAfterMs, ATTEMPT_RETRY_MS.first)
    doubt.reason = reason
    doubt.tried.add(entry)
    const ownMs = retryAfterMs ?? jittered(doubled(ATTEMPT_RETRY_MS, entry.attempts - 1))
    entry.notBeforeMs = steadyMs() + ownMs
    attempted?.(entry.record, attempt, doubt.pauseMs)
    this.#heads.add(entry)
  }

  #isFinal({ attempts, refusals, refusedMs, failedAlone }: Entry, { outcome }: Attempt): boolean {
    const { refusals: most, parkAfterMs, retries = Number.POSITIVE_INFINITY } = this.#patience
    if (outcome === "unavailable") {
      // once the spared ones are used up, no others can be accepted in between
      const alone = this.#needed < SPARED ? retries : Math.min(retries, SPARED)
      return attempts > retries && failedAlone >= Math.max(1, alone)
    }
    if (parkAfterMs === undefined) return refusals >= most
    return (refusals > 1 && failedAlone > 0) || steadyMs() - refusedMs! >= parkAfterMs
  }

  #settle(entry: Entry, sent: Sent): void {
    const { lane, resolve } = entry
    resolve(sent)
    if (this.#failing.delete(entry) && this.#failing.size === 0) this.#needed = 0
    if (lane === undefined) return
    const entries = this.#lanes.get(lane)!
    entries.shift()
    if (entries.length === 0) this.#lanes.delete(lane)
    else this.#heads.add(entries[0]!)
  }
}

const byNumber = (a: Entry, b: Entry): number => a.number - b.number
