// Hot path where pipelines verify: each request asks `isWatching`.
import { steadyMs } from "../clock/clock.ts"
import { senderKey } from "./addresses.ts"

/** Senders remembered, up to 3 MB; beyond them the least recently refused one, or verified one, is forgotten. */
const MAX_SENDERS = 20_000
/** How long a sender is remembered, and exempt after a verified request. */
const REMEMBERED_MS = 60_000
/** How often a sender that goes on sending verified requests is noted. */
const NOTED_MS = 1000

interface Sender {
  tokens: number
  filledMs: number
}

/**
 * Limits each sender's unverified requests per second, where large and slow ones count as several. Verified requests cost
 * nothing, and those that are noted exempt the sender for a minute, whether it was refused before or not: others may share
 * its address, as all do behind a proxy that `trusted_proxies` does not list.
 *
 * A sender is an IPv4 address or an IPv6 /64. Until one has used half of its limit, no sender is looked up.
 */
export class UnverifiedLimit {
  readonly #perSecond: number
  readonly #burst: number
  readonly #max: number
  readonly #now: () => number
  /** The refused ones, most recent last. */
  readonly #senders = new Map<string, Sender>()
  /** When each last sent a verified request, the most recent last. */
  readonly #verified = new Map<string, number>()
  /** Until when a sender may have to wait, or come to. */
  #watchedUntilMs = -1

  /** @param now a monotonic clock, in milliseconds */
  constructor(limit: { perSecond: number; burst?: number; max?: number; now?: () => number }) {
    const { perSecond, burst = Math.max(1, Math.ceil(perSecond)), max = MAX_SENDERS, now = steadyMs } = limit
    this.#perSecond = perSecond
    this.#burst = burst
    this.#max = max
    this.#now = now
  }

  /** Whether `wait` needs to be called. */
  get isWatching(): boolean {
    return this.#watchedUntilMs >= 0
  }

  get size(): number {
    return this.#senders.size
  }

  /** @returns 0, or the whole seconds to wait */
  wait(address: string): number {
    const nowMs = this.#now()
    if (nowMs > this.#watchedUntilMs) this.#watchedUntilMs = -1
    const key = senderKey(address)
    const sender = this.#senders.get(key)
    if (sender === undefined || nowMs - this.#verifiedMs(key) < REMEMBERED_MS) return 0
    this.#fill(sender, nowMs)
    return sender.tokens >= 1 ? 0 : Math.ceil((1 - sender.tokens) / this.#perSecond)
  }

  /** Exempts the sender for a minute. */
  verified(address: string): void {
    const nowMs = this.#now()
    const key = senderKey(address)
    if (nowMs - this.#verifiedMs(key) < NOTED_MS) return
    this.#verified.delete(key)
    for (const [oldest, verifiedMs] of this.#verified) {
      if (this.#verified.size < this.#max && nowMs - verifiedMs < REMEMBERED_MS) break
      this.#verified.delete(oldest)
    }
    this.#verified.set(key, nowMs)
  }

  /** Records a request that was refused or answered unverified, as that many. */
  refused(address: string, cost = 1): void {
    const nowMs = this.#now()
    const key = senderKey(address)
    const known = this.#senders.get(key)
    const sender = known ?? { tokens: this.#burst, filledMs: nowMs }
    this.#fill(sender, nowMs)
    sender.tokens = Math.max(0, sender.tokens - cost)
    if (sender.tokens <= this.#burst / 2) this.#watchedUntilMs = nowMs + this.#rememberedMs
    this.#senders.delete(key)
    this.#forget(nowMs)
    this.#senders.set(key, sender)
  }

  #verifiedMs(key: string): number {
    return this.#verified.get(key) ?? Number.NEGATIVE_INFINITY
  }

  /** Until an idle sender's limit is full again, and at least a minute. */
  get #rememberedMs(): number {
    return Math.max(REMEMBERED_MS, (this.#burst / this.#perSecond) * 1000)
  }

  #fill(sender: Sender, nowMs: number): void {
    const gained = ((nowMs - sender.filledMs) / 1000) * this.#perSecond
    sender.tokens = Math.min(this.#burst, sender.tokens + gained)
    sender.filledMs = nowMs
  }

  /** Forgets expired senders, and the oldest one if the table is full. */
  #forget(nowMs: number): void {
    for (const [key, { filledMs }] of this.#senders) {
      if (this.#senders.size < this.#max && nowMs - filledMs < this.#rememberedMs) break
      this.#senders.delete(key)
    }
  }
}
