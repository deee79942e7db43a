import { PublishError } from "../../errors.ts"
import { steadyMs } from "../../clock/clock.ts"
import type { YieldingBroker } from "../broker.ts"

/** How long an answer of `ready` is reused. */
const READY_MS = 20
/** How long a replaced broker may settle what it was given; the rest goes to the other. */
const SETTLE_MS = 1000
const NOT_YET = "the broker is not connected yet"

const NO_BROKER: YieldingBroker = {
  publish: () => Promise.reject(new PublishError("unavailable", NOT_YET)),
  prepare() {},
  cancel() {},
  ready: () => NOT_YET,
  close: () => Promise.resolve(),
}

/** Where a spool's events go: to one broker, until another replaces it; at first nowhere. */
export class SpoolDestination {
  broker = NO_BROKER
  #readyUntilMs = 0
  /** Until the pending records of replaced brokers are cancelled. */
  readonly #leaving = new Map<YieldingBroker, Timer>()
  readonly #closed = Promise.withResolvers<void>()
  readonly #settleMs: number

  constructor(settleMs = SETTLE_MS) {
    this.#settleMs = settleMs
  }

  /** As Broker. Not asked of the broker for each event. */
  readonly ready = (): true | string => {
    const nowMs = steadyMs()
    if (nowMs < this.#readyUntilMs) return true
    const ready = this.broker.ready()
    if (ready === true) this.#readyUntilMs = nowMs + READY_MS
    return ready
  }

  /** @param cancel cancels what the one before has not settled: at once when it takes nothing anyway, else after SETTLE_MS */
  change(broker: YieldingBroker, cancel: (before: YieldingBroker) => void): void {
    const before = this.broker
    this.broker = broker
    this.#readyUntilMs = 0
    clearTimeout(this.#leaving.get(broker))
    if (before.ready() !== true) return cancel(before)
    this.#leaving.set(before, setTimeout(cancel, this.#settleMs, before))
  }

  /** Resolves when a broker gets nothing any more: another has replaced it, or the spool is closed. */
  left(broker: YieldingBroker): Promise<void> {
    return broker === this.broker ? this.#closed.promise : Promise.resolve()
  }

  close(): void {
    for (const timer of this.#leaving.values()) clearTimeout(timer)
    this.#closed.resolve()
  }
}
