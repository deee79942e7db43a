import { HooklineError, PublishError } from "../errors.ts"
import type { Receipt, Record } from "../record.ts"
import { steadyMs } from "../steady-clock.ts"
import type { Logger } from "../telemetry/log.ts"
import type { SpoolMetrics } from "../telemetry/metrics.ts"
import type { Broker, Impairment, SpoolState, YieldingBroker } from "./broker.ts"
import { describeFailure } from "./embedded-file.ts"
import { LogStore } from "./embedded-store.ts"
import { spoolAt, type Contents, type SpoolWriter } from "./spool-file.ts"
import { SpoolDestination } from "./spool-destination.ts"
import type { SpoolParts } from "./spool-forwarder.ts"
import { SpoolRoom } from "./spool-room.ts"
import { SpooledTopic } from "./spool-topic.ts"
import { SpoolWatch } from "./spool-watch.ts"

/*
 * A spool stands before a broker and takes events while the broker does not. Each topic has states of its own, so that
 * one that can't be published to holds up no other:
 *
 *   direct     nothing of the topic is spooled. Events go to the broker, which has half of their time.
 *   changing   another broker takes the place of the one before, which settles what it has; new events wait for that.
 *              Then they go to the other one: `direct`. What fails meanwhile leads to `turning`.
 *   turning    the broker is not ready, or a publish failed in a way that a retry may mend. What is at the broker is
 *              taken back; it comes back in this turn of the event loop, and new events wait for that. Then all of them
 *              go into the file, in the order in which they came. What had been sent and not acknowledged may be at the
 *              broker all the same, and is there twice in the end; what had not been sent is not.
 *   spooling   every event goes into the file and is acknowledged when it is durable there. As soon as the broker is
 *              ready, the oldest records are forwarded, a window after the other: published without deadlines, in order,
 *              and deleted when the broker has acknowledged the window. After a kill -9 the last window may be doubled.
 *   returning  the window being forwarded is the last. New events wait for its end, then go to the broker: `direct`.
 *              When the first of them has waited for half of its time, they go into the file: `spooling`.
 *
 * A record that the broker refuses for good (too large by now, not authorized) is set aside in the file, counted and
 * logged, and holds up nothing. `hookline spool drain` tries those again.
 *
 * Order per key is kept, since a topic's events are either at the broker or in the file, and each change waits for the
 * other side to be empty. What was set aside lost its place. Of two brokers the first gets SETTLE_MS
 * (spool-destination.ts) to settle what it has, before the second gets what comes later. What is taken from it then,
 * sent and not acknowledged, may be in its log and goes to the second as well.
 *
 * A start with a file that is not empty begins with `spooling`. Where readers keep the file from being recovered, no
 * event is taken until they let go of it.
 */

export interface SpoolOptions {
  readonly file: string
  /** How many bytes of keys, values and headers it takes. */
  readonly maxBytes: number
  /** Whether what was set aside is tried again. */
  readonly retrySetAside?: boolean
}

export interface SpoolDependencies {
  readonly log: Logger
  readonly metrics: SpoolMetrics
}

/** A spool and the broker behind it. */
export interface SpooledBroker extends Broker {
  spool(): SpoolState
  impaired(): readonly Impairment[]
  /** Has events go to this broker from now on. The one before gets a moment to settle what it was given. */
  use(broker: YieldingBroker): void
  /** Resolves when a broker gets nothing any more and can be closed: another has its place, or the spool is closed. */
  left(broker: YieldingBroker): Promise<void>
  /** Takes another `maxBytes`. */
  limit(maxBytes: number): void
  /** Whether all of it is forwarded, and no event is on its way into the file. */
  isIdle(): boolean
  /** Refuses from now on what the broker does not take, so that the file stays as it is. `use` ends that. */
  retire(): void
}

/** Small enough for the reserve of a full disk, see spool-room.ts. */
const BATCH_BYTES = 1024 * 1024
const CLOSING_POLL_MS = 20
/** How soon after the file is open events are taken. */
const RESUME_MS = 50
/** Forwarding that has got nowhere for so long is not waited for at the end. */
const STUCK_MS = 1000

/**
 * Opens a spool. Until it is given a broker it keeps what it gets.
 *
 * @throws HooklineError `log_locked`, `log_io`
 */
export function openSpool(options: SpoolOptions, deps: SpoolDependencies): SpooledBroker {
  return new Spool(options, deps)
}

class Spool implements SpooledBroker {
  readonly #destination = new SpoolDestination()
  readonly #log: Logger
  readonly #store: LogStore<SpoolWriter>
  readonly #room: SpoolRoom
  readonly #parts: SpoolParts
  readonly #watch: SpoolWatch
  readonly #topics = new Map<string, SpooledTopic>()
  /** Topics that will be published to. */
  #prepared: readonly string[] = []
  readonly #stop = new AbortController()
  readonly #retrySetAside: boolean
  /** What an earlier run left is being forwarded. */
  #isResumed = false
  #resuming: Timer | undefined
  #isRetired = false
  #contents: Contents = { records: 0, bytes: 0, oldestMs: undefined, setAside: 0 }
  #closing: Promise<void> | undefined

  constructor(options: SpoolOptions, { log, metrics }: SpoolDependencies) {
    const place = spoolAt(options.file)
    this.#log = log
    this.#room = new SpoolRoom(place, options.maxBytes, log)
    this.#store = new LogStore<SpoolWriter>(place, {
      log,
      open: this.#room.open,
      batchBytes: BATCH_BYTES,
      committed: this.#changed,
      failed: this.#room.diskFailed,
      recovered: this.#changed,
      now: Date.now,
    })
    this.#parts = {
      broker: () => this.#destination.broker,
      store: this.#store,
      room: this.#room,
      log,
      metrics,
      taking: this.#destination.taking,
      isRetired: () => this.#isRetired,
      signal: this.#stop.signal,
      changed: this.#changed,
    }
    try {
      this.#room.begin()
    } catch (error) {
      void this.#store.close()
      throw new HooklineError("log_io", describeFailure(error, place), { cause: error })
    }
    this.#retrySetAside = options.retrySetAside === true
    this.#watch = new SpoolWatch(
      { log, broker: () => this.#destination.broker, topics: this.#holding },
      steadyMs,
    )
    this.#resume()
  }

  publish(record: Record, deadlineMs: number): Promise<Receipt> {
    if (this.#closing !== undefined)
      return Promise.reject(new PublishError("closing", "the connection is closing"))
    if (!this.#isResumed)
      return Promise.reject(new PublishError("unavailable", this.#problem ?? "the spool is not open yet"))
    return this.#topic(record.topic).publish(record, deadlineMs)
  }

  prepare(topics: readonly string[]): void {
    this.#prepared = topics
    this.#destination.broker.prepare(topics)
  }

  use(broker: YieldingBroker): void {
    this.#isRetired = false
    if (broker === this.#destination.broker) return
    broker.prepare(this.#prepared)
    for (const topic of this.#topics.values()) topic.brokerChanged()
    this.#destination.change(broker, (before) => {
      for (const topic of this.#topics.keys()) before.withdraw(topic)
    })
  }

  left(broker: YieldingBroker): Promise<void> {
    return this.#destination.left(broker)
  }

  limit(maxBytes: number): void {
    this.#room.limit(maxBytes)
  }

  isIdle(): boolean {
    return this.#isResumed && this.#isDirect && this.spool().records === 0
  }

  retire(): void {
    this.#isRetired = true
  }

  ready(): true | string {
    if (this.#closing !== undefined) return "the connection is closing"
    const outage = this.#destination.broker.ready()
    const problem = this.#problem
    if (problem === undefined || (outage === true && this.#isResumed && this.#isDirect)) return true
    return outage === true ? problem : `${problem}; ${outage}`
  }

  spool(): SpoolState {
    this.#contents = this.#store.attempt((writer) => writer.contents()) ?? this.#contents
    const outage = this.#destination.broker.ready()
    return {
      ...this.#contents,
      outage: outage === true ? undefined : outage,
      problem: this.#problem,
      stuckTopics: this.#watch.impaired().length,
    }
  }

  /** What is stuck, and what the broker has a problem with: of those topics events are taken all the same. */
  impaired(): readonly Impairment[] {
    const { broker } = this.#destination
    const stuck = this.#watch.impaired()
    const behind = broker.ready() === true ? (broker.impaired?.() ?? []) : []
    const others = behind.filter(({ topic }) => stuck.every((it) => it.topic !== topic))
    return [...stuck, ...others.map((it) => ({ ...it, isWhole: false }))]
  }

  close(untilMs = 0): Promise<void> {
    return (this.#closing ??= this.#end(untilMs).finally(() => this.#destination.close()))
  }

  /** The topics that hold events. */
  readonly #holding = (): ReadonlyMap<string, SpooledTopic> | undefined => {
    const names = this.#store.attempt((writer) => writer.extents().map(({ topic }) => topic))
    return names && new Map(names.map((name) => [name, this.#topic(name)]))
  }

  get #problem(): string | undefined {
    return this.#room.problem ?? this.#store.problem
  }

  get #isDirect(): boolean {
    return this.#topics.values().every(({ isDirect }) => isDirect)
  }

  #topic(name: string): SpooledTopic {
    let topic = this.#topics.get(name)
    if (topic === undefined) {
      topic = new SpooledTopic(name, this.#parts)
      this.#topics.set(name, topic)
    }
    return topic
  }

  readonly #changed = (): void => {
    const bytes = this.#store.attempt((writer) => writer.bytes())
    if (bytes !== undefined) this.#room.uses(bytes)
  }

  /** Begins with what an earlier run left. Where the file can't be opened yet, no event is taken: it would overtake. */
  #resume(): void {
    if (this.#retrySetAside) while (this.#store.attempt((writer) => writer.putBack()) === true);
    this.#changed()
    const names = this.#store.attempt((writer) => writer.extents().map(({ topic }) => topic))
    if (names === undefined) {
      this.#resuming = setTimeout(() => this.#resume(), RESUME_MS)
      return
    }
    this.#isResumed = true
    const { records, bytes, oldestMs, setAside } = this.spool()
    if (setAside > 0)
      this.#log.warn({ records: setAside }, "the spool holds events that the broker refused for good")
    if (names.length === 0) return
    const oldest = oldestMs === undefined ? undefined : new Date(oldestMs).toISOString()
    this.#log.info({ records, bytes, oldest, topics: names }, "the spool has events to forward")
    for (const name of names) this.#topic(name).resume()
  }

  async #end(untilMs: number): Promise<void> {
    clearTimeout(this.#resuming)
    await this.#forwardUntil(untilMs)
    this.#watch.close()
    this.#stop.abort()
    await Promise.all([...this.#topics.values()].map((topic) => topic.ended()))
    const { records } = this.spool()
    if (records > 0) this.#log.info({ records }, "the spool keeps these events for the next start")
    else this.#store.attempt((writer) => writer.shrink())
    this.#room.close()
    await this.#store.close()
  }

  /** Lets forwarding go on as long as it gets on. */
  async #forwardUntil(untilMs: number): Promise<void> {
    let { records } = this.spool()
    let movedMs = steadyMs()
    while (!this.#isDirect && this.#destination.broker.ready() === true) {
      const nowMs = steadyMs()
      if (nowMs >= untilMs || nowMs - movedMs > STUCK_MS) return
      await Bun.sleep(CLOSING_POLL_MS)
      const left = this.spool().records
      if (left !== records) movedMs = nowMs
      records = left
    }
  }
}
