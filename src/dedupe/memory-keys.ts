import { rarely } from "../clock/lasting.ts"
import type { Logger } from "../telemetry/log.ts"
import type { KeyClaim, KeyStore } from "./key-store.ts"

/** In about 60 MB. */
const MOST_KEYS = 200_000
const WARN_EVERY_MS = 60_000

/** Keeps keys in memory, bounded in number. */
export class MemoryKeys implements KeyStore {
  /** In order of addition, which is about that of expiry. */
  readonly #until = new Map<string, number>()
  #entries = this.#until.entries()
  #first: readonly [key: string, untilMs: number] | undefined
  readonly #most: number
  readonly #warnFull: () => void

  /**
   * @param options beyond `most` keys the oldest are forgotten before they expire, which is logged unless `forgets` is true:
   *   for keys whose repetition does no harm
   */
  constructor({ log, most = MOST_KEYS, forgets = false }: { log: Logger; most?: number; forgets?: boolean }) {
    this.#most = most
    const text = "the memory of published events is full: the oldest are forgotten before their window"
    this.#warnFull = forgets ? () => {} : rarely(WARN_EVERY_MS, () => log.warn({ most }, text))
  }

  claim(key: string): KeyClaim {
    const until = this.#until.get(key)
    return until !== undefined && until >= Date.now() ? "duplicate" : "first"
  }

  add(key: string, untilMs: number): true {
    const now = Date.now()
    if (this.#first?.[0] === key) this.#first = undefined
    this.#until.delete(key)
    this.#until.set(key, untilMs)
    for (let oldest = this.#oldest(); oldest !== undefined; oldest = this.#oldest()) {
      const [first, until] = oldest
      const isEarly = until >= now
      if (isEarly && this.#until.size <= this.#most) return true
      this.#until.delete(first)
      if (isEarly) this.#warnFull()
    }
    return true
  }

  release(): void {}

  ready(): true {
    return true
  }

  close(): Promise<void> {
    return Promise.resolve()
  }

  /** The oldest key. A new iterator each time would walk over all deleted ones, which took 130 us with 200,000 keys. */
  #oldest(): readonly [key: string, untilMs: number] | undefined {
    while (this.#first === undefined || !this.#until.has(this.#first[0])) {
      const { value, done } = this.#entries.next()
      if (done === true) {
        this.#entries = this.#until.entries()
        this.#first = undefined
        return undefined
      }
      this.#first = value
    }
    return this.#first
  }
}
