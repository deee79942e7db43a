import type { Broker, StoredRecord, YieldingBroker } from "../brokers/broker.ts"
import { pause } from "../clock/clock.ts"
import { TOPIC_NAME } from "../pipeline/topic-name.ts"
import { HooklineError, PublishError } from "../errors.ts"
import type { Record } from "../pipeline/record.ts"
import type { ReplayTarget, Sent } from "./target.ts"

export interface BrokerTargetOptions {
  /** One that can cancel records must have no other user: all of the topic's are cancelled when one fails. */
  readonly broker: Broker | YieldingBroker
  readonly topic: string
  /** Partitions of the topic that the records come from. */
  readonly partitions: number
  /** Whether records get the time of their arrival there, and not the one they had. */
  readonly newTimes?: boolean | undefined
}

/** Records that are sent and not acknowledged: the most that are repeated after a crash. */
const WINDOW = { records: 1000, bytes: 8 * 1024 * 1024 }
const RETRY_MS = 500
const POLL_MS = 50

interface Pending {
  readonly record: Record
  readonly resolve: (sent: Sent) => void
  readonly reject: (error: unknown) => void
}

/**
 * A topic of a broker. Records are published in order, a window of them at once.
 *
 * When one fails that may succeed later, those after it are cancelled where the broker can do that. Once all have an
 * answer, what is not acknowledged is published again in order; while held, it waits.
 */
export class BrokerTarget implements ReplayTarget {
  readonly window = WINDOW
  readonly #options: BrokerTargetOptions
  /** In order. */
  readonly #pending = new Set<Pending>()
  readonly #stop = new AbortController()
  /** Calls of `publish` without an answer. */
  #open = 0
  #isFailing = false
  #isHeld = false
  /** The last failure, until a record is acknowledged. */
  #failure: string | undefined

  /** @throws HooklineError `usage`: an embedded log would take any name, which Kafka's clients could not read */
  constructor(options: BrokerTargetOptions) {
    if (!TOPIC_NAME.pattern.test(options.topic))
      throw new HooklineError("usage", `${JSON.stringify(options.topic)} is not ${TOPIC_NAME.form}`)
    this.#options = options
    // under way while the first records are read
    options.broker.prepare([options.topic])
  }

  send(record: StoredRecord): Promise<Sent> {
    return new Promise((resolve, reject) => {
      const pending = { record: this.#toRecord(record), resolve, reject }
      this.#pending.add(pending)
      if (!this.#isFailing) void this.#publish(pending)
    })
  }

  hold(isHeld: boolean): void {
    this.#isHeld = isHeld
  }

  problem(): string | undefined {
    if (this.#failure !== undefined) return this.#failure
    const ready = this.#pending.size === 0 || this.#options.broker.ready()
    return ready === true ? undefined : ready
  }

  stop(): void {
    this.#stop.abort()
    for (const { resolve } of this.#pending) resolve("stopped")
    if (this.#pending.size > 0) this.#cancel()
    this.#pending.clear()
  }

  #toRecord({ key, value, headers, partition, timestampMs }: StoredRecord): Record {
    const { topic, partitions, newTimes } = this.#options
    return {
      topic,
      key,
      value,
      headers,
      sourcePartition: { number: partition, of: partitions },
      timestampMs: newTimes === true ? undefined : timestampMs,
    }
  }

  async #publish(pending: Pending): Promise<void> {
    this.#open++
    try {
      await this.#options.broker.publish(pending.record, Number.POSITIVE_INFINITY)
      this.#failure = undefined
      this.#settle(pending, "delivered")
    } catch (error) {
      if (!(error instanceof PublishError)) {
        this.#pending.delete(pending)
        pending.reject(error)
      } else if (error.retryHelps) {
        if (!this.#isFailing) this.#failing(error.message)
      } else this.#settle(pending, { reason: error.message, code: error.code })
    } finally {
      if (--this.#open === 0 && this.#isFailing) void this.#publishAgain()
    }
  }

  #failing(reason: string): void {
    this.#isFailing = true
    this.#failure = reason
    this.#cancel()
  }

  #cancel(): void {
    const { broker, topic } = this.#options
    if ("cancel" in broker) broker.cancel(topic)
  }

  async #publishAgain(): Promise<void> {
    const { signal } = this.#stop
    const { broker } = this.#options
    await pause(RETRY_MS, signal)
    while (!signal.aborted && (broker.ready() !== true || this.#isHeld)) await pause(POLL_MS, signal)
    if (signal.aborted) return
    this.#isFailing = false
    for (const pending of this.#pending) void this.#publish(pending)
  }

  #settle(pending: Pending, sent: Sent): void {
    this.#pending.delete(pending)
    pending.resolve(sent)
  }
}
