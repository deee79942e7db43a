import { PublishError } from "../errors.ts"
import { steadyMs } from "../steady-clock.ts"
import type { YieldingBroker } from "./broker.ts"

/** For so long it is believed that the broker is ready. */
const TAKING_MS = 20
/** For so long a broker whose place another takes may settle what it was given; the rest goes to the other. */
const SETTLE_MS = 1000
const NOT_YET = "the broker is not connected yet"

/** Takes nothing. */
const NOWHERE: YieldingBroker = {
  publish: () => Promise.reject(new PublishError("unavailable", NOT_YET)),
  prepare() {},
  withdraw() {},
  ready: () => NOT_YET,
  close: () => Promise.resolve(),
}

/** Where a spool's events go: to one broker, until another takes its place; at first nowhere. */
export class SpoolDestination {
  #broker = NOWHERE
  #takingUntilMs = 0
  /** When brokers that have left are no longer waited for. */
  readonly #leaving = new Map<YieldingBroker, Timer>()
  readonly #closed = Promise.withResolvers<void>()

  get broker(): YieldingBroker {
    return this.#broker
  }

  /** Whether the broker takes events, as far as is known; if not, why. It is not asked for each event. */
  readonly taking = (): true | string => {
    const nowMs = steadyMs()
    if (nowMs < this.#takingUntilMs) return true
    const ready = this.#broker.ready()
    if (ready === true) this.#takingUntilMs = nowMs + TAKING_MS
    return ready
  }

  /**
   * Puts another broker in the place of the one before.
   *
   * @param takeBack takes from the one before what it has not settled: at once when it takes nothing anyway, else after
   *   SETTLE_MS
   */
  change(broker: YieldingBroker, takeBack: (before: YieldingBroker) => void): void {
    const before = this.#broker
    this.#broker = broker
    this.#takingUntilMs = 0
    clearTimeout(this.#leaving.get(broker))
    if (before.ready() === true)
      this.#leaving.set(
        before,
        setTimeout(() => takeBack(before), SETTLE_MS),
      )
    else takeBack(before)
  }

  /** Resolves when a broker gets nothing any more: another has its place, or there is an end to it all. */
  left(broker: YieldingBroker): Promise<void> {
    return broker === this.#broker ? this.#closed.promise : Promise.resolve()
  }

  close(): void {
    for (const timer of this.#leaving.values()) clearTimeout(timer)
    this.#closed.resolve()
  }
}
