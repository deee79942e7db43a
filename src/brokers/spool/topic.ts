import { PublishError } from "../../errors.ts"
import type { Receipt, Record } from "../../pipeline/record.ts"
import { pause, steadyMs, within } from "../../clock/clock.ts"
import type { YieldingBroker } from "../broker.ts"
import { forwardTopic, type SpoolParts } from "./forwarder.ts"
import type { WatchedTopic } from "./progress-watch.ts"

/*
 * The states of a topic before which a spool stands:
 *
 *   direct     nothing of the topic is spooled. Events go to the broker, which has their time but for FILE_MS.
 *   switching  another broker replaces the one before, which settles what it has; new events wait for that. Then they go to
 *              the other one: `direct`. What fails meanwhile leads to `cancelling`; so does an event that has waited for as
 *              long as the broker may take.
 *   cancelling the broker is not ready, or a publish failed in a way that a retry may mend. What is at the broker is
 *              cancelled; it comes back in this turn of the event loop, and new events wait for that. Then all of them go
 *              into the file, in the order in which they came: `spooling`. What had been sent and not acknowledged may be at
 *              the broker all the same, and appears twice in the end; what had not been sent is not.
 *   spooling   every event goes into the file and is acknowledged when it is durable there. As soon as the broker is ready,
 *              the oldest records are forwarded, a window after the other: published without deadlines, in order, and
 *              deleted when the broker has acknowledged the window. After a kill -9 the last window may be doubled.
 *   returning  the window being forwarded is the last. New events wait for its end, then go to the broker: `direct`. When
 *              one of them has waited for as long as the broker may take, they go into the file: `spooling`.
 *
 * Order per key is kept, since a topic's events are either at the broker or in the file, and each change waits for the
 * other side to be empty.
 */
type State = "direct" | "switching" | "cancelling" | "spooling" | "returning"

interface PendingRecord {
  readonly record: Record
  readonly deadlineMs: number
  /** When it came, in milliseconds since 1970. */
  readonly cameAtMs: number
  readonly resolve: (receipt: Receipt) => void
  readonly reject: (error: unknown) => void
  /** Its number among those sent to the broker. */
  sequence: number
}

/** What is kept for the file of the time of an event, which may take as long where a disk is slow; half of it at most. */
const FILE_MS = 1000
/** How much of the milliseconds that an event has left belongs to the broker. */
const brokersMs = (leftMs: number): number => leftMs - Math.min(FILE_MS, leftMs / 2)

const SPOOLED: Receipt = { partition: -1, offset: -1 }
/** Pause after an error of this program, before its repeat. */
const FAULT_PAUSE_MS = 1000
const NOT_SETTLED = "the broker that was replaced has not answered"
/** How long the end waits for forwarding: a disk may not answer. */
const LEAVE_MS = 1000

export class SpooledTopic implements WatchedTopic {
  progress = 0
  trouble: string | undefined
  readonly #name: string
  readonly #parts: SpoolParts
  #state: State = "direct"
  #sequence = 0
  /** The broker that has what was sent. */
  #sentTo: YieldingBroker | undefined
  /** How many are at the broker, and how many on their way into the file. */
  #sent = 0
  #storing = 0
  /** Those that came back from the broker, to be spooled. */
  #failed: PendingRecord[] = []
  /** Those that came while `switching`, `cancelling` or `returning`. */
  #held: PendingRecord[] = []
  /** Ends `switching` or `returning` when one that is held has waited for as long as the broker may take. */
  #holding: Timer | undefined
  #holdingUntilMs = Number.POSITIVE_INFINITY
  #forwarding: Promise<void> | undefined
  #whenSettled: (() => void)[] = []

  constructor(name: string, parts: SpoolParts) {
    this.#name = name
    this.#parts = parts
  }

  // A hot path where a spool is configured.
  publish(record: Record, deadlineMs: number): Promise<Receipt> {
    return new Promise((resolve, reject) => {
      const one: PendingRecord = { record, deadlineMs, cameAtMs: Date.now(), resolve, reject, sequence: 0 }
      if (this.#state === "spooling") return void this.#store(one)
      if (this.#state !== "direct") return this.#hold(one)
      const ready = this.#parts.destination.ready()
      if (ready === true) return void this.#send(one)
      if (this.#parts.isRetired()) return reject(new PublishError("unavailable", ready))
      this.#hold(one)
      this.#cancel(ready)
    })
  }

  /** Begins with what an earlier run left in the file. */
  resume(): void {
    this.#setState("spooling")
  }

  /** Ends forwarding, after the signal for it. Resolves when nothing of it is under way any more. */
  async end(): Promise<void> {
    if (this.#forwarding !== undefined) this.#parts.destination.broker.cancel(this.#name)
    if (this.#forwarding !== undefined) await within(LEAVE_MS, this.#forwarding, () => {})
    if (this.#state === "returning") this.#setState("spooling")
    while (this.#sent + this.#storing > 0) await this.#settled()
  }

  get isDirect(): boolean {
    return this.#state === "direct"
  }

  /** Another broker has replaced the one before. What is forwarded goes to it by itself. */
  brokerChanged(): void {
    if (this.#state === "direct" && this.#sent > 0) this.#setState("switching")
  }

  /** The only place where the state changes. */
  #setState(state: State): void {
    clearTimeout(this.#holding)
    this.#holdingUntilMs = Number.POSITIVE_INFINITY
    this.#state = state
    if (state === "direct") for (const one of this.#held.splice(0)) void this.#send(one)
    if (state !== "spooling") return
    this.#failed.sort((a, b) => a.sequence - b.sequence)
    for (const one of [...this.#failed.splice(0), ...this.#held.splice(0)]) void this.#store(one)
    this.#forwarding ??= this.#forward()
  }

  /** direct, switching -> cancelling, and on when nothing is at the broker */
  #cancel(reason: string): void {
    this.#setState("cancelling")
    this.#parts.log.warn(
      { topic: this.#name, reason },
      "broker does not accept the topic's events; spooling them",
    )
    this.#sentTo?.cancel(this.#name)
    if (this.#sent === 0) this.#setState("spooling")
  }

  /** switching -> direct, or on to the file when the other broker takes nothing yet */
  #switched(): void {
    const ready = this.#parts.destination.ready()
    if (ready === true) this.#setState("direct")
    else this.#cancel(ready)
  }

  /** returning -> direct */
  #returned(forwarded: number): void {
    this.#parts.log.info(
      { topic: this.#name, forwarded },
      "spooled events are forwarded; publishing to the broker again",
    )
    this.#parts.store.shrink()
    this.#setState("direct")
  }

  async #send(one: PendingRecord): Promise<void> {
    one.sequence = this.#sequence++
    this.#sent++
    this.#sentTo = this.#parts.destination.broker
    const nowMs = steadyMs()
    try {
      one.resolve(await this.#sentTo.publish(one.record, nowMs + brokersMs(one.deadlineMs - nowMs)))
    } catch (error) {
      if (error instanceof PublishError && error.retryHelps && !this.#parts.isRetired()) {
        this.#failed.push(one)
        if (this.#state === "direct" || this.#state === "switching") this.#cancel(error.message)
      } else one.reject(error)
    }
    this.#sent--
    if (this.#sent === 0 && this.#state === "cancelling") this.#setState("spooling")
    if (this.#sent === 0 && this.#state === "switching") this.#switched()
    this.#notifySettled()
  }

  async #store(one: PendingRecord): Promise<void> {
    const { store, metrics } = this.#parts
    this.#storing++
    try {
      await store.publish({ ...one.record, timestampMs: one.cameAtMs }, one.deadlineMs)
      metrics.spooled(1)
      one.resolve(SPOOLED)
    } catch (error) {
      one.reject(error)
    }
    this.#storing--
    this.#notifySettled()
  }

  #hold(one: PendingRecord): void {
    this.#held.push(one)
    if (this.#state !== "switching" && this.#state !== "returning") return
    // one that waited for another event of its dedupe key has less time left than those before it
    const nowMs = steadyMs()
    const leftMs = brokersMs(one.deadlineMs - nowMs)
    const untilMs = nowMs + leftMs
    if (untilMs >= this.#holdingUntilMs) return
    clearTimeout(this.#holding)
    this.#holdingUntilMs = untilMs
    this.#holding = setTimeout(() => {
      if (this.#state === "switching") this.#cancel(NOT_SETTLED)
      else this.#setState("spooling")
    }, leftMs)
  }

  /** An error of this program does not end it: the window is forwarded again, and may be doubled. */
  async #forward(): Promise<void> {
    const { log, signal } = this.#parts
    for (;;) {
      try {
        const forwarded = await this.#forwardAll()
        if (forwarded !== undefined) this.#returned(forwarded)
        this.#forwarding = undefined
        return
      } catch (error) {
        log.error(
          { topic: this.#name, err: error },
          "unhandled error while forwarding spooled events; retrying",
        )
        this.trouble = String(error)
        if (this.#state === "returning") this.#setState("spooling")
        await pause(FAULT_PAUSE_MS, signal)
      }
    }
  }

  #forwardAll(): Promise<number | undefined> {
    return forwardTopic(this.#name, this.#parts, {
      last: () => {
        if (this.#state === "spooling") this.#setState("returning")
      },
      delayed: (reason) => {
        this.trouble = reason ?? this.trouble
        if (this.#state === "returning") this.#setState("spooling")
      },
      stored: () => (this.#storing > 0 ? this.#settled() : this.#parts.store.committing),
      progressed: () => {
        this.progress++
        this.trouble = undefined
      },
    })
  }

  #settled(): Promise<void> {
    return new Promise((resolve) => this.#whenSettled.push(resolve))
  }

  #notifySettled(): void {
    for (const resolve of this.#whenSettled.splice(0)) resolve()
  }
}
