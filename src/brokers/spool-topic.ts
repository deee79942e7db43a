import { PublishError } from "../errors.ts"
import type { Receipt, Record } from "../record.ts"
import { steadyMs } from "../steady-clock.ts"
import type { YieldingBroker } from "./broker.ts"
import { forwardTopic, type SpoolParts } from "./spool-forwarder.ts"
import type { WatchedTopic } from "./spool-watch.ts"

/** An event's record between `publish` and its answer. */
interface Waiting {
  readonly record: Record
  readonly deadlineMs: number
  /** When it came, in milliseconds since 1970. */
  readonly cameAtMs: number
  readonly resolve: (receipt: Receipt) => void
  readonly reject: (error: unknown) => void
  /** Its turn among those sent to the broker. */
  turn: number
}

/** One topic of a spool; its states are told in spool.ts. */
export class SpooledTopic implements WatchedTopic {
  progress = 0
  trouble: string | undefined
  readonly #name: string
  readonly #parts: SpoolParts
  #state: "direct" | "changing" | "turning" | "spooling" | "returning" = "direct"
  #turns = 0
  /** The broker that has what was sent. */
  #at: YieldingBroker | undefined
  /** How many are at the broker, and how many on their way into the file. */
  #sent = 0
  #storing = 0
  /** Those that came back from the broker, to be spooled. */
  #failed: Waiting[] = []
  /** Those that came while `changing`, `turning` or `returning`. */
  #held: Waiting[] = []
  #holding: Timer | undefined
  #forwarding: Promise<void> | undefined
  #forwarded = 0
  #whenSettled: (() => void)[] = []

  constructor(name: string, parts: SpoolParts) {
    this.#name = name
    this.#parts = parts
  }

  // A hot path where a spool is configured.
  publish(record: Record, deadlineMs: number): Promise<Receipt> {
    return new Promise((resolve, reject) => {
      const one: Waiting = { record, deadlineMs, cameAtMs: Date.now(), resolve, reject, turn: 0 }
      switch (this.#state) {
        case "direct": {
          const taking = this.#parts.taking()
          if (taking === true) return void this.#send(one)
          if (this.#parts.isRetired()) return reject(new PublishError("unavailable", taking))
          this.#held.push(one)
          return this.#turn(taking)
        }
        case "changing":
        case "turning":
          this.#held.push(one)
          return
        case "spooling":
          return void this.#store(one)
        case "returning":
          this.#hold(one)
      }
    })
  }

  /** Begins with what an earlier run left in the file. */
  resume(): void {
    this.#state = "spooling"
    this.#forward()
  }

  /** Resolves when nothing of it is under way any more, after the signal to end was given. */
  async ended(): Promise<void> {
    await this.#forwarding
    if (this.#state === "returning") this.#spoolOn()
    while (this.#sent + this.#storing > 0) await this.#settled()
  }

  get isDirect(): boolean {
    return this.#state === "direct"
  }

  /** Another broker has taken the place of the one before. What is forwarded changes over by itself. */
  brokerChanged(): void {
    if (this.#state === "direct" && this.#sent > 0) this.#state = "changing"
  }

  /** Half of the time that is left belongs to the broker, so that the other half is there for the file. */
  async #send(one: Waiting): Promise<void> {
    one.turn = this.#turns++
    this.#sent++
    this.#at = this.#parts.broker()
    const nowMs = steadyMs()
    try {
      one.resolve(await this.#at.publish(one.record, nowMs + (one.deadlineMs - nowMs) / 2))
    } catch (error) {
      if (error instanceof PublishError && error.retryHelps && !this.#parts.isRetired()) {
        this.#failed.push(one)
        if (this.#state === "direct" || this.#state === "changing") this.#turn(error.message)
      } else one.reject(error)
    }
    this.#cameBack()
  }

  #cameBack(): void {
    this.#sent--
    if (this.#sent === 0 && this.#state === "turning") this.#turned()
    if (this.#sent === 0 && this.#state === "changing") this.#changed()
    this.#tellSettled()
  }

  /** changing -> direct, or on to the file when the other broker takes nothing yet. */
  #changed(): void {
    this.#state = "direct"
    const taking = this.#parts.taking()
    if (taking !== true) return this.#turn(taking)
    for (const one of this.#held.splice(0)) void this.#send(one)
  }

  /** direct, changing -> turning: all that is at the broker is taken back, so that its order can be kept. */
  #turn(reason: string): void {
    this.#state = "turning"
    const { log } = this.#parts
    log.warn({ topic: this.#name, reason }, "the broker does not take this topic's events: they are spooled")
    this.#at?.withdraw(this.#name)
    if (this.#sent === 0) this.#turned()
  }

  /** turning -> spooling */
  #turned(): void {
    this.#state = "spooling"
    this.#failed.sort((a, b) => a.turn - b.turn)
    for (const one of this.#failed.splice(0)) void this.#store(one)
    for (const one of this.#held.splice(0)) void this.#store(one)
    this.#forward()
  }

  async #store(one: Waiting): Promise<void> {
    const { room, store, metrics } = this.#parts
    const record = { ...one.record, timestampMs: one.cameAtMs }
    const refusal = room.take(record)
    if (refusal !== undefined) return one.reject(refusal)
    this.#storing++
    try {
      await store.publish(record, one.deadlineMs)
      metrics.spooled(1)
      one.resolve(SPOOLED)
    } catch (error) {
      one.reject(error)
    }
    room.taken(record)
    this.#storing--
    this.#tellSettled()
  }

  #hold(one: Waiting): void {
    this.#held.push(one)
    // The first has the least time, but for pipelines whose delivery_timeout differs: there is one a connection.
    this.#holding ??= setTimeout(() => this.#spoolOn(), (one.deadlineMs - steadyMs()) / 2)
  }

  /** returning -> spooling: the last of the file takes too long, so what was held goes behind it. */
  #spoolOn(): void {
    clearTimeout(this.#holding)
    this.#holding = undefined
    this.#state = "spooling"
    for (const one of this.#held.splice(0)) void this.#store(one)
  }

  /** returning -> direct */
  #returned(): void {
    clearTimeout(this.#holding)
    this.#holding = undefined
    this.#state = "direct"
    this.#parts.log.info(
      { topic: this.#name, forwarded: this.#forwarded },
      "what was spooled is forwarded: events go to the broker again",
    )
    this.#forwarded = 0
    this.#parts.store.attempt((writer) => writer.shrink())
    for (const one of this.#held.splice(0)) void this.#send(one)
  }

  #forward(): void {
    this.#forwarding = this.#forwardAll()
  }

  async #forwardAll(): Promise<void> {
    const isEmpty = await forwardTopic(this.#name, this.#parts, {
      last: () => {
        if (this.#state === "spooling") this.#state = "returning"
      },
      delayed: () => {
        if (this.#state === "returning") this.#spoolOn()
      },
      stored: () => (this.#storing > 0 ? this.#settled() : undefined),
      forwarded: (records) => {
        this.#forwarded += records
      },
      moved: () => {
        this.progress++
        this.trouble = undefined
      },
      failed: (reason) => {
        this.trouble = reason
      },
    })
    if (isEmpty) this.#returned()
  }

  /** Resolves when something that is under way has come to its end. */
  #settled(): Promise<void> {
    return new Promise((resolve) => this.#whenSettled.push(resolve))
  }

  #tellSettled(): void {
    for (const resolve of this.#whenSettled.splice(0)) resolve()
  }
}

const SPOOLED: Receipt = { partition: -1, offset: -1 }
