import { steadyMs } from "../../src/clock/clock.ts"
import { KeptConnection, type Answer } from "./kept-connection.ts"
import { withheldMs } from "./starvation.ts"

/** Pause after which a sender continues where it got 503, or nobody listens. */
const BACK_OFF_MS = 100

/** A numbered event and what became of it; times by the steady clock. */
export interface Posted {
  readonly number: number
  /** Undefined: it has none. */
  readonly key: string | undefined
  readonly startedMs: number
  readonly answeredMs: number
  readonly answer: Answer
  /** For how much of the wait the machine let neither the sender nor Hookline run. */
  readonly withheldMs: number
}

/** Where events are posted, and the process that answers. */
export interface Target {
  readonly url: string
  readonly pid: number
}

export interface Sending {
  /** How many senders post events of a key of their own: k0, k1, …; 32 unless given. Or the keys. */
  readonly keys?: number | readonly string[]
  /** How many post events without a key. */
  readonly keyless?: number
  /** Between an answer and the next event of a sender. */
  readonly pauseMs?: number
  /** By how much each event is longer than its number and key; nothing unless given. */
  readonly padBytes?: number
  /** The number of the first event; 0 unless given. To be set where two of these post to one topic. */
  readonly firstNumber?: number
}

/**
 * Senders that post numbered events, `{"n":1,"k":"k0"}`, until stopped, each one after the other, and remember every
 * answer. No number is posted twice: what is refused is not sent again. What could not be sent, since nobody listened, does
 * not count. Disposing of them stops them.
 */
export class NumberedSenders implements AsyncDisposable {
  readonly posted: Posted[] = []
  readonly keys: readonly string[]
  /** The process that answers; to be set where another takes its place. */
  pid: number
  readonly #url: string
  readonly #pauseMs: number
  readonly #padBytes: number
  readonly #working: readonly Promise<void>[]
  #waiting: (() => void)[] = []
  #next: number
  #stopped = false

  constructor({ url, pid }: Target, sending: Sending = {}) {
    const { keys = 32, keyless = 0, pauseMs = 10, padBytes = 0, firstNumber = 0 } = sending
    this.#url = url
    this.pid = pid
    this.#pauseMs = pauseMs
    this.#padBytes = padBytes
    this.#next = firstNumber
    this.keys = typeof keys === "number" ? Array.from({ length: keys }, (_, n) => `k${n}`) : keys
    const each = [...this.keys, ...Array.from({ length: keyless }, () => undefined)]
    this.#working = each.map((key) => this.#work(key))
  }

  /** Resolves with the first event, answered already or later, that passes. */
  async first(passes: (posted: Posted) => boolean): Promise<Posted> {
    for (let seen = 0; ;) {
      for (; seen < this.posted.length; seen++) if (passes(this.posted[seen]!)) return this.posted[seen]!
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
  }

  /** Resolves with the first event that is posted from now on and acknowledged. */
  acknowledged(passes: (posted: Posted) => boolean = () => true): Promise<Posted> {
    const nowMs = steadyMs()
    return this.first((it) => it.startedMs >= nowMs && isAcknowledged(it) && passes(it))
  }

  /** How long after a time the first event that passes was acknowledged. */
  async backAfterMs(fromMs = steadyMs(), passes: (posted: Posted) => boolean = () => true): Promise<number> {
    const back = await this.first((it) => isAcknowledged(it) && it.answeredMs > fromMs && passes(it))
    return back.answeredMs - fromMs
  }

  /** Resolves when an event was answered 503, and then one that was posted after that. */
  async unavailable(): Promise<void> {
    const first = await this.first(({ answer }) => answer === 503)
    await this.first((it) => it.startedMs > first.answeredMs && it.answer === 503)
  }

  /** Resolves when that many more were acknowledged. */
  async many(count: number): Promise<void> {
    const fromMs = steadyMs()
    let left = count
    await this.first((it) => it.answeredMs >= fromMs && isAcknowledged(it) && --left === 0)
  }

  /** Posts one event, and remembers what became of it if it was sent. */
  async post(
    connection: KeptConnection,
    { number, key }: Pick<Posted, "number" | "key">,
    body: string,
  ): Promise<Answer> {
    const startedMs = steadyMs()
    const withheldBeforeMs = this.#withheldMs()
    const answer = await connection.post(body)
    if (answer === "refused") return answer
    // Less than nothing where the process is another one by now.
    const withheldMs = Math.max(0, this.#withheldMs() - withheldBeforeMs)
    this.posted.push({ number, key, startedMs, answeredMs: steadyMs(), answer, withheldMs })
    for (const wake of this.#waiting.splice(0)) wake()
    return answer
  }

  /** Posts an event for each of some keys, all at once, and waits for the answers. */
  async round(keys: readonly string[], padBytes = 0): Promise<void> {
    await Promise.all(
      keys.map(async (key) => {
        using connection = new KeptConnection(this.#url)
        await this.#postNext(connection, key, padBytes)
      }),
    )
  }

  /** Ends the load, and waits for every answer. */
  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all(this.#working)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  #withheldMs(): number {
    return withheldMs(process.pid) + withheldMs(this.pid)
  }

  #postNext(connection: KeptConnection, key: string | undefined, padBytes: number): Promise<Answer> {
    const number = this.#next++
    const pad = padBytes === 0 ? undefined : "x".repeat(padBytes)
    return this.post(connection, { number, key }, JSON.stringify({ n: number, k: key, pad }))
  }

  async #work(key: string | undefined): Promise<void> {
    using connection = new KeptConnection(this.#url)
    while (!this.#stopped) {
      const answer = await this.#postNext(connection, key, this.#padBytes)
      await Bun.sleep(answer === "refused" || answer === 503 ? BACK_OFF_MS : this.#pauseMs)
    }
  }
}

export const isAcknowledged = ({ answer }: Posted): boolean =>
  typeof answer === "number" && answer >= 200 && answer < 300
