import { steadyMs } from "../clock/clock.ts"
import { HooklineError } from "../errors.ts"
import { releaseKey, renewKey, type RedisLink } from "./redis-client.ts"

/*
 * A key of Redis that one process holds. It expires some time after its holder last renewed it; only who has its value renews
 * or deletes it.
 */
const LEASE_MS = 30_000
const CONNECTED_WITHIN_MS = 3000

export class RedisLease {
  readonly #link: RedisLink
  readonly #key: string
  readonly #value: string
  readonly #leaseMs: number
  #renewals: Timer | undefined

  /** @param value no other process's */
  constructor(link: RedisLink, key: string, value: string, leaseMs = LEASE_MS) {
    this.#link = link
    this.#key = key
    this.#value = value
    this.#leaseMs = leaseMs
  }

  /**
   * Becomes the one that holds it.
   *
   * @returns a signal that aborts once another process may hold it; or the value of the one that does
   * @throws HooklineError `unavailable`
   */
  async hold(): Promise<AbortSignal | string> {
    const untilMs = steadyMs() + CONNECTED_WITHIN_MS
    while (this.#link.ready() !== true && steadyMs() < untilMs) await Bun.sleep(20)
    let renewedMs = steadyMs()
    const set = await this.#link.send("SET", [this.#key, this.#value, "NX", "PX", `${this.#leaseMs}`])
    // the reply to an earlier one may have been lost
    if (set === null && !(await this.#renew()))
      return String((await this.#link.send("GET", [this.#key])) ?? "")
    const lost = new AbortController()
    const abort = (): void => {
      clearInterval(this.#renewals)
      lost.abort(
        new HooklineError(
          "unavailable",
          "the lease in Redis could not be renewed, and another process of the service may have taken over",
        ),
      )
    }
    clearInterval(this.#renewals)
    this.#renewals = setInterval(async () => {
      const sentMs = steadyMs()
      // before another one can begin
      if (sentMs - renewedMs > (2 / 3) * this.#leaseMs) return abort()
      const isHeld = await this.#renew().catch(() => undefined)
      if (isHeld === true) renewedMs = sentMs
      if (isHeld === false) abort()
    }, this.#leaseMs / 6)
    return lost.signal
  }

  /** Gives it up, if it is held. */
  async release(): Promise<void> {
    const isHeld = this.#renewals !== undefined
    clearInterval(this.#renewals)
    this.#renewals = undefined
    // or it expires
    if (isHeld) await releaseKey(this.#link, this.#key, this.#value).catch(() => {})
  }

  #renew(): Promise<boolean> {
    return renewKey(this.#link, this.#key, this.#value, this.#leaseMs)
  }
}
