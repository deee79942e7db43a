// Hot path where pipelines verify: each request asks `isWatching`.
import { steadyMs } from "../steady-clock.ts"
import { senderKey } from "./addresses.ts"

/** Senders that are remembered at most, up to 3 MB; beyond them the one that was refused longest ago is forgotten. */
const MOST_SENDERS = 20_000
/** For so long a sender is remembered, and who has sent something verified is not kept out. */
const REMEMBERED_MS = 60_000

interface Sender {
  tokens: number
  filledMs: number
  /** When it last sent something verified, if that is known. */
  verifiedMs: number
}

/**
 * Lets so many requests a second of each sender be refused for want of verification; then the sender has to wait, whatever
 * it sends. Requests that are verified cost it nothing. Nor is it kept out in the minute after one of them: strangers may
 * share its address, as all do behind a proxy that `trusted_proxies` does not name.
 *
 * A sender is an address, or an IPv6 network of 64 bits. While nobody has used half of what is let through, nothing is
 * looked at but that.
 */
export class UnverifiedLimit {
  readonly #perSecond: number
  readonly #burst: number
  readonly #most: number
  readonly #now: () => number
  /** Those refused of late, the latest last. */
  readonly #senders = new Map<string, Sender>()
  /** Until when somebody may have to wait, or may come to. */
  #watchedUntilMs = -1

  /** @param now a clock that is never set, in milliseconds */
  constructor({
    perSecond,
    most = MOST_SENDERS,
    now = steadyMs,
  }: {
    perSecond: number
    most?: number
    now?: () => number
  }) {
    this.#perSecond = perSecond
    this.#burst = Math.max(1, Math.ceil(perSecond))
    this.#most = most
    this.#now = now
  }

  /** Whether `wait` and `verified` are to be asked and told. */
  get isWatching(): boolean {
    return this.#watchedUntilMs >= 0
  }

  /** How many senders are remembered. */
  get size(): number {
    return this.#senders.size
  }

  /** @returns 0, or the whole seconds that an address has to wait */
  wait(address: string): number {
    const nowMs = this.#now()
    if (nowMs > this.#watchedUntilMs) this.#watchedUntilMs = -1
    const sender = this.#senders.get(senderKey(address))
    if (sender === undefined || nowMs - sender.verifiedMs < REMEMBERED_MS) return 0
    this.#fill(sender, nowMs)
    return sender.tokens >= 1 ? 0 : Math.ceil((1 - sender.tokens) / this.#perSecond)
  }

  /** A request of an address was verified. */
  verified(address: string): void {
    const sender = this.#senders.get(senderKey(address))
    if (sender !== undefined) sender.verifiedMs = this.#now()
  }

  /** A request of an address was refused, or answered, and was not verified. */
  refused(address: string): void {
    const nowMs = this.#now()
    const key = senderKey(address)
    const known = this.#senders.get(key)
    const sender = known ?? { tokens: this.#burst, filledMs: nowMs, verifiedMs: Number.NEGATIVE_INFINITY }
    this.#fill(sender, nowMs)
    sender.tokens = Math.max(0, sender.tokens - 1)
    if (sender.tokens <= this.#burst / 2) this.#watchedUntilMs = nowMs + this.#rememberedMs
    this.#senders.delete(key)
    this.#forget(nowMs)
    this.#senders.set(key, sender)
  }

  /** Until who uses nothing may use all again, and a minute at least. */
  get #rememberedMs(): number {
    return Math.max(REMEMBERED_MS, (this.#burst / this.#perSecond) * 1000)
  }

  #fill(sender: Sender, nowMs: number): void {
    const gained = ((nowMs - sender.filledMs) / 1000) * this.#perSecond
    sender.tokens = Math.min(this.#burst, sender.tokens + gained)
    sender.filledMs = nowMs
  }

  /** Makes room for one more, and lets go of those that nothing is to be known of any more. */
  #forget(nowMs: number): void {
    for (const [key, { filledMs }] of this.#senders) {
      if (this.#senders.size < this.#most && nowMs - filledMs < this.#rememberedMs) break
      this.#senders.delete(key)
    }
  }
}
