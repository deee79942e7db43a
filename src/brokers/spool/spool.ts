import { PublishError } from "../../errors.ts"
import type { Receipt, Record } from "../../pipeline/record.ts"
import { steadyMs } from "../../clock/clock.ts"
import type { WriterDependencies } from "../../storage/durable-writer.ts"
import type { Broker, Impairment, SpoolState, YieldingBroker } from "../broker.ts"
import { SpoolDestination } from "./destination.ts"
import type { SpoolParts } from "./forwarder.ts"
import { SpoolStore, type SpoolOptions } from "./store.ts"
import { SpooledTopic } from "./topic.ts"
import { SpoolWatch } from "./progress-watch.ts"

/*
 * A spool stands before a broker and takes events while the broker does not. Each topic has states of its own (topic.ts), so
 * that one that can't be published to holds up no other.
 *
 * A record that the broker refuses for good (too large by now, not authorized) is quarantined in the file, counted and logged,
 * and holds up nothing, but loses its place in the order. `hookline spool drain` tries those again.
 *
 * A broker that is replaced gets SETTLE_MS (destination.ts) to settle what it has, before the next gets what comes later.
 * What is cancelled then, sent and not acknowledged, may be in its log and goes to the next one as well.
 *
 * A start with a file that is not empty begins with `spooling`. While the file can't be opened, no event is accepted: those in
 * it come first.
 */

export interface SpoolDependencies
  extends Pick<SpoolParts, "log" | "metrics">, Pick<WriterDependencies, "unopened"> {
  readonly settleMs?: number
  readonly stuckMs?: number
}

const CLOSING_POLL_MS = 20
/** How long a close waits for forwarding that makes no progress. */
const STUCK_MS = 1000

/** A spool and the broker that it forwards to. Until it has one it keeps what it gets. */
export class SpooledBroker implements Broker {
  readonly #destination: SpoolDestination
  readonly #store: SpoolStore
  readonly #parts: SpoolParts
  readonly #watch: SpoolWatch
  readonly #topics = new Map<string, SpooledTopic>()
  #prepared: readonly string[] = []
  readonly #stop = new AbortController()
  #isRetired = false
  #closing: Promise<void> | undefined

  /** @throws HooklineError `log_locked`, `log_io` */
  constructor(options: SpoolOptions, { log, unopened, metrics, settleMs, stuckMs }: SpoolDependencies) {
    this.#destination = new SpoolDestination(settleMs)
    this.#store = new SpoolStore(options, { log, unopened }, () => this.#resume())
    this.#parts = {
      destination: this.#destination,
      store: this.#store,
      log,
      metrics,
      isRetired: () => this.#isRetired,
      signal: this.#stop.signal,
    }
    this.#watch = new SpoolWatch(
      { log, broker: () => this.#destination.broker, topics: this.#spooledTopics, stuckMs },
      steadyMs,
    )
    if (!this.#store.isUnopened) this.#resume()
  }

  publish(record: Record, deadlineMs: number): Promise<Receipt> {
    if (this.#closing !== undefined)
      return Promise.reject(new PublishError("closing", "the connection is closing"))
    if (this.#store.isUnopened)
      return Promise.reject(
        new PublishError("unavailable", this.#store.problem ?? "the spool is not open yet"),
      )
    return this.#topic(record.topic).publish(record, deadlineMs)
  }

  prepare(topics: readonly string[]): void {
    this.#prepared = topics
    this.#destination.broker.prepare(topics)
  }

  /** Has events go to this broker from now on. The one before gets a moment to settle what it was given. */
  use(broker: YieldingBroker): void {
    this.#isRetired = false
    if (broker === this.#destination.broker) return
    broker.prepare(this.#prepared)
    for (const topic of this.#topics.values()) topic.brokerChanged()
    this.#destination.change(broker, (before) => {
      for (const topic of this.#topics.keys()) before.cancel(topic)
    })
  }

  /** As SpoolDestination. */
  left(broker: YieldingBroker): Promise<void> {
    return this.#destination.left(broker)
  }

  limit(maxBytes: number): void {
    this.#store.capacity.limit(maxBytes)
  }

  /** Whether all of it is forwarded, and no event is on its way into the file. */
  isIdle(): boolean {
    return !this.#store.isUnopened && this.#isDirect && this.#store.contents.records === 0
  }

  /** Refuses from now on what the broker does not take, so that the file stays as it is. `use` ends that. */
  retire(): void {
    this.#isRetired = true
  }

  ready(): true | string {
    if (this.#closing !== undefined) return "the connection is closing"
    const outage = this.#destination.broker.ready()
    const { problem, isUnopened } = this.#store
    if (problem === undefined || (outage === true && !isUnopened && this.#isDirect)) return true
    return outage === true ? problem : `${problem}; ${outage}`
  }

  spool(): SpoolState {
    const { records, bytes, oldestMs, quarantined } = this.#store.contents
    const outage = this.#destination.broker.ready()
    return {
      records,
      bytes,
      maxBytes: this.#store.capacity.maxBytes,
      oldestMs,
      quarantined,
      outage: outage === true ? undefined : outage,
      problem: this.#store.problem,
      stuckTopics: this.#watch.impaired().length,
    }
  }

  /** Topics that are stuck, or that the broker has a problem with: their events are accepted all the same. */
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

  /** Those that hold events; undefined: the file can't be read now. */
  readonly #spooledTopics = (): ReadonlyMap<string, SpooledTopic> | undefined =>
    this.#store.fileProblem === undefined
      ? new Map(this.#store.contents.topics.map((name) => [name, this.#topic(name)]))
      : undefined

  get #isDirect(): boolean {
    return this.#topics.values().every(({ isDirect }) => isDirect)
  }

  #topic(name: string): SpooledTopic {
    return this.#topics.getOrInsertComputed(name, () => new SpooledTopic(name, this.#parts))
  }

  /** Begins with what an earlier run left. Until the file is open no event is accepted: it would overtake. */
  #resume(): void {
    const { log } = this.#parts
    const { records, bytes, oldestMs, quarantined, topics } = this.#store.contents
    if (quarantined > 0) log.warn({ records: quarantined }, "spool holds quarantined events")
    if (topics.length === 0) return
    const oldest = oldestMs === undefined ? undefined : new Date(oldestMs).toISOString()
    log.info({ records, bytes, oldest, topics }, "spool has events to forward")
    for (const name of topics) this.#topic(name).resume()
  }

  async #end(untilMs: number): Promise<void> {
    await this.#forwardUntil(untilMs)
    this.#watch.close()
    this.#stop.abort()
    await Promise.all([...this.#topics.values()].map((topic) => topic.end()))
    const { records } = this.#store.contents
    if (records > 0) this.#parts.log.info({ records }, "spool keeps these events for the next start")
    else this.#store.shrink()
    await this.#store.close()
  }

  /** Lets forwarding continue as long as it makes progress. */
  async #forwardUntil(untilMs: number): Promise<void> {
    let { records } = this.#store.contents
    let movedMs = steadyMs()
    while (!this.#isDirect && this.#destination.broker.ready() === true) {
      const nowMs = steadyMs()
      if (nowMs >= untilMs || nowMs - movedMs > STUCK_MS) return
      await Bun.sleep(CLOSING_POLL_MS)
      const left = this.#store.contents.records
      if (left !== records) movedMs = nowMs
      records = left
    }
  }
}
