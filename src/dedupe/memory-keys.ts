import { MachineClock } from "../clock/machine-clock.ts"
import { rarely } from "../clock/lasting.ts"
import type { Logger } from "../telemetry/log.ts"
import type { KeyClaim, KeyStore } from "./key-store.ts"

/** In about 60 MB. */
const MOST_KEYS = 200_000
const WARN_EVERY_MS = 60_000

/** Keeps keys in memory, bounded in number. */
export class MemoryKeys implements KeyStore {
  /** A queue for each window, in which keys expire in order of addition. */
  readonly #queues = new Map<number, KeyQueue>()
  readonly #machine: Pick<MachineClock, "now">
  readonly #most: number
  readonly #warnFull: () => void

  /**
   * @param options beyond `most` keys those that expire next are forgotten before they do, which is logged unless `forgets` is
   *   true: for keys whose repetition does no harm
   */
  constructor({
    log,
    most = MOST_KEYS,
    forgets = false,
    machine = new MachineClock(),
  }: {
    log: Logger
    most?: number
    forgets?: boolean
    machine?: Pick<MachineClock, "now">
  }) {
    this.#most = most
    this.#machine = machine
    const text = "the memory of published events is full: the oldest are forgotten before their window"
    this.#warnFull = forgets ? () => {} : rarely(WARN_EVERY_MS, () => log.warn({ most }, text))
  }

  claim(key: string): KeyClaim {
    const nowMs = this.#machine.now()
    for (const queue of this.#queues.values())
      if ((queue.untilMs.get(key) ?? Number.NEGATIVE_INFINITY) >= nowMs) return "duplicate"
    return "first"
  }

  add(key: string, windowMs: number): true {
    const nowMs = this.#machine.now()
    for (const queue of this.#queues.values()) queue.delete(key)
    this.#queues.getOrInsertComputed(windowMs, () => new KeyQueue()).add(key, nowMs + windowMs)
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const [first, untilMs] = next.first!
      const isEarly = untilMs >= nowMs
      if (isEarly && this.#size <= this.#most) return true
      next.delete(first)
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

  get #size(): number {
    let size = 0
    for (const { untilMs } of this.#queues.values()) size += untilMs.size
    return size
  }

  /** The queue whose first key expires next. */
  #next(): KeyQueue | undefined {
    let next: KeyQueue | undefined
    for (const queue of this.#queues.values())
      if (queue.first !== undefined && (next === undefined || queue.first[1] < next.first![1])) next = queue
    return next
  }
}

/** Keys of one window. */
class KeyQueue {
  /** In order of addition, and of expiry. */
  readonly untilMs = new Map<string, number>()
  #entries = this.untilMs.entries()
  #first: readonly [key: string, untilMs: number] | undefined

  add(key: string, untilMs: number): void {
    this.untilMs.set(key, untilMs)
  }

  delete(key: string): void {
    if (this.#first?.[0] === key) this.#first = undefined
    this.untilMs.delete(key)
  }

  /** The oldest key. A new iterator each time would walk over all deleted ones, which took 130 us with 200,000 keys. */
  get first(): readonly [key: string, untilMs: number] | undefined {
    while (this.#first === undefined) {
      const { value, done } = this.#entries.next()
      if (done === true) {
        this.#entries = this.untilMs.entries()
        return undefined
      }
      this.#first = value
    }
    return this.#first
  }
}
