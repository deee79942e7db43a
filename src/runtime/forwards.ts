import type { ForwardInfo, Service } from "../admin/service.ts"
import type { ReadGroup, StoredRecord } from "../brokers/broker.ts"
import type { Connection } from "../brokers/define-connection.ts"
import { OwnRecords } from "../brokers/own-records.ts"
import { parseCondition } from "../brokers/record-filter.ts"
import { pause, whenAborted, within } from "../clock/clock.ts"
import { Lasting } from "../clock/lasting.ts"
import { ERRORS } from "../components/broker-sink/dead-letter-record.ts"
import { reopenConfig } from "../config/options/reloading.ts"
import { FORWARD } from "../config/sections/forward.ts"
import { parseTopicPlace } from "../config/declarations.ts"
import { HooklineError, PublishError } from "../errors.ts"
import type { Record, RecordHeader } from "../pipeline/record.ts"
import { Forward, type ForwardAbout, type ForwardOptions } from "../replay/forward.ts"
import type { DeliveryTarget } from "../replay/handler.ts"
import { GroupPositions } from "../replay/group-positions.ts"
import {
  positionsInMemory,
  type PositionFile,
  type PositionStore,
  type PositionTables,
} from "../replay/position-tables.ts"
import { PositionCalls } from "../replay/position-database.ts"
import { toShownTarget } from "../replay/request-of-record.ts"
import type { AttemptTarget, Refusal } from "../replay/target.ts"
import { handlerSpec, sectionSpec, setForwardPaused, type ForwardSpec } from "./forward-specs.ts"
import { makeFolderOf, type DatabaseLocation } from "../storage/database-file.ts"
import type { Logger } from "../telemetry/log.ts"
import { OwnedSection } from "../extensions/owned-section.ts"
import type { Plan } from "./plan/plan.ts"
import type { Transaction } from "./resources.ts"

/** Pause before a refused record is published to the dead-letter topic again. */
const RETRY_MS = 5000
/** How long nothing is delivered before that is logged, and how often while it lasts. */
const PROBLEM = { afterMs: 5000, remindMs: 10 * 60_000 }
/** How long the line that nothing is delivered waits for the number of records. */
const MEASURE_MS = 2000
/** How often records are counted while a refusal has stopped it. */
const MEASURED_EVERY_MS = 10_000

/** Opens the forwards and handlers of the plan, or keeps them; they begin with the commit. Nothing here fails a start or a reload. */
export function acquireForwards(
  plan: Plan,
  transaction: Transaction,
  service: Service,
  log: Logger,
): readonly RunningForward[] {
  const acquire = (kind: string, spec: ForwardSpec, config: unknown): RunningForward => {
    const { connection: id } = parseTopicPlace(spec.from)
    const connection = plan.connections.get(id)!
    return transaction.acquire({
      name: `${kind} ${spec.id}`,
      config: [config, connection.kind, reopenConfig(connection.kind, connection.values)],
      open: () => {
        const location = spec.locate(connection, plan.baseDir)
        const its = log.child({ [kind]: spec.id })
        const running = new RunningForward(spec, { location, connection }, service, its)
        transaction.onCommit(() => running.start())
        return running
      },
      close: (it) => it.close(),
    })
  }
  return [
    ...plan.forwards.map((it) => acquire("forward", sectionSpec(it), reopenConfig(FORWARD, it.values))),
    ...plan.handlers.map((it) => acquire("handler", handlerSpec(it), [it.from, it.handler, it.options])),
  ]
}

interface ForwardPlace {
  readonly location: DatabaseLocation
  readonly connection: Connection
}

/** One `[forward:<id>]` section or handler of this service. The writer lock of its position lets only one process run it. */
export class RunningForward extends OwnedSection {
  readonly #spec: ForwardSpec
  readonly #place: ForwardPlace
  readonly #service: Service
  readonly #about: ForwardAbout
  readonly #problemLog = new Lasting(PROBLEM)
  /** Resolves when the lines of that are written. */
  #written: Promise<void> = Promise.resolve()
  /** A new one begins with records from then on. */
  readonly #sinceMs: number
  #forward: Forward | undefined
  #target: AttemptTarget | undefined
  /** By earlier runs of it. */
  #setBack = 0
  readonly #deadLetters: OwnRecords
  /** Where the log is one in memory. */
  readonly #inMemory: PositionTables<ForwardAbout> | undefined

  constructor(spec: ForwardSpec, place: ForwardPlace, service: Service, log: Logger) {
    super(log, "not forwarding")
    this.#spec = spec
    this.#place = place
    this.#service = service
    const { from, url, begin } = spec
    this.#deadLetters = new OwnRecords(() => service.openBroker(this.#about.connection))
    this.#about = { ...parseTopicPlace(from), ...(url !== undefined && { url }) }
    this.#sinceMs = begin === "beginning" ? 0 : Date.now()
    this.#inMemory = place.connection.kind.isInMemory === true ? positionsInMemory() : undefined
  }

  info(): ForwardInfo {
    const { id, from, url } = this.#spec
    const progress = this.#forward?.job?.progress()
    return {
      id,
      from,
      url: toShownTarget(url),
      lag: this.#forward?.lag,
      delivered: progress?.replayed ?? 0,
      refused: progress?.failed ?? 0,
      setBack: this.#setBack + (this.#forward?.setBack ?? 0),
      inFlight: this.#target?.active ?? 0,
      perSecond: progress?.perSecond ?? 0,
      problem: this.problem ?? this.#forward?.problem,
      isElsewhere: this.isElsewhere,
      isPaused: progress?.state === "paused",
      setPaused: (isPaused) => this.#setPaused(isPaused),
    }
  }

  async #setPaused(isPaused: boolean): Promise<void> {
    if (this.#inMemory !== undefined) return this.#inMemory.setPaused(isPaused)
    const { connection, location } = this.#place
    const { topic } = this.#about
    await setForwardPaused(connection, { group: this.#spec.group, topic, location }, isPaused)
  }

  protected async run(): Promise<void> {
    const { location, connection } = this.#place
    if (this.#inMemory === undefined) makeFolderOf(location)
    const store = this.#inMemory ?? new PositionCalls<ForwardAbout>(location, this.log)
    const { signal } = this
    try {
      await this.#moved(store)
      const group = await connection.kind.joinGroup?.(connection.values, this.#spec.group, this.#about.topic)
      this.runs()
      if (group === undefined) await this.#forwardAll(store, { signal })
      else await this.#share(store, group).finally(() => group.close())
    } catch (error) {
      const isRefused = error instanceof HooklineError && error.code === "refused"
      if (!isRefused || signal.aborted) throw error
      // until a reload or a start
      this.problem = error.message
      this.log.error({ problem: error.message }, "forwarding stopped")
      await this.#measureUntil(signal)
    } finally {
      if (store instanceof PositionCalls) await store.close()
      await this.#deadLetters.close()
    }
  }

  /** Forwards the partitions that the group has for this process, as they change. */
  async #share(store: PositionFile<ForwardAbout>, group: ReadGroup): Promise<void> {
    while (!this.signal.aborted) {
      const { next, ended } = await group.assigned()
      const signal = AbortSignal.any([this.signal, ended])
      const partitions = new Set(next.keys())
      this.log.info({ partitions: [...partitions] }, "partitions assigned")
      this.#forward = undefined
      if (partitions.size === 0) await whenAborted(signal)
      else await this.#forwardAll(new GroupPositions(store, group, this.#about, next), { signal, partitions })
    }
  }

  async #forwardAll(
    store: PositionStore<ForwardAbout>,
    part: Pick<ForwardOptions, "signal" | "partitions">,
  ): Promise<void> {
    const delivery = this.#spec.openTarget(() => this.#forward?.clusterId ?? "")
    this.#target = delivery.target
    this.#setBack += this.#forward?.setBack ?? 0
    this.#forward = this.#open(store, delivery, part)
    await this.#forward.run()
  }

  /** Stores where records go now. @throws HooklineError `config` where the position is another topic's */
  async #moved(store: PositionStore<ForwardAbout>): Promise<void> {
    const before = (await store.read())?.about
    if (before === undefined) return
    const { connection, topic, url } = this.#about
    if (before.connection !== connection || before.topic !== topic)
      throw new HooklineError(
        "config",
        `its saved position is one of ${before.connection}/${before.topic}; give the section another id, or remove that position with hookline forward remove ${this.#spec.id}`,
      )
    if (before.url === url) return
    this.log.info({ from: toShownTarget(before.url) }, "forwarding to a new URL")
    await store.describe({ ...before, ...(url !== undefined && { url }) })
  }

  #open(
    store: PositionStore<ForwardAbout>,
    { target, saved }: DeliveryTarget,
    part: Pick<ForwardOptions, "signal" | "partitions">,
  ): Forward {
    const { where, rate, onRefusal } = this.#spec
    const conditions = where?.map(parseCondition)
    const { connection } = this.#about
    return new Forward({
      ...part,
      about: this.#about,
      store,
      target,
      open: () => this.#service.openReader(connection),
      matches: conditions && ((record) => conditions.every((fits) => fits(record))),
      rate,
      onRefusal,
      saved,
      refused: (record, refusal) => this.#park(record, refusal),
      sinceMs: this.#sinceMs,
      waiting: (source, problem) => this.#waiting(source, problem),
      began: (text) => this.log.info(text),
      warn: (text) => this.log.warn(text),
    })
  }

  /** @param source why nothing can be read */
  #waiting(source: string | undefined, problem: string | undefined): void {
    if (problem !== undefined) {
      if (this.#problemLog.began(problem) !== undefined) this.#write(() => this.#logStalled(source, problem))
      return
    }
    const lastedMs = this.#problemLog.ended()
    if (lastedMs !== undefined) this.#write(() => this.log.info({ lasted_ms: lastedMs }, "delivery resumed"))
  }

  async #logStalled(source: string | undefined, problem: string): Promise<void> {
    const forward = this.#forward
    if (source === undefined && forward !== undefined) await within(MEASURE_MS, forward.measure(), () => {})
    this.log.warn({ problem, lag: forward?.lag }, "delivery stalled")
  }

  /** Writes a line after those before it. */
  #write(line: () => Promise<void> | void): void {
    this.#written = this.#written.then(line)
  }

  /** Counts what waits, as long as nothing is forwarded. */
  async #measureUntil(signal: AbortSignal): Promise<void> {
    for (; !signal.aborted; await pause(MEASURED_EVERY_MS, signal)) await this.#forward?.measure()
  }

  /** Publishes a refused record to the dead-letter topic, if there is one. The position is saved after that. */
  async #park(record: StoredRecord, { reason, status }: Refusal): Promise<void> {
    const { id, deadLetters: topic } = this.#spec
    const { partition, offset, key, value } = record
    if (topic !== undefined) {
      const origin = { reason, status, forward: id, topic: record.topic, partition, offset }
      const own = Object.entries(origin).flatMap(([name, it]): RecordHeader[] =>
        it === undefined ? [] : [[ERRORS + name, Buffer.from(`${it}`)]],
      )
      await this.#publish({ topic, key, value, headers: [...record.headers, ...own] })
    }
    this.log.warn({ partition, offset, reason, dead_letter_topic: topic }, "record refused")
  }

  /** @throws PublishError of a record that the broker will never accept, HooklineError */
  async #publish(record: Record): Promise<void> {
    while (!this.signal.aborted) {
      try {
        return await this.#deadLetters.publish(record)
      } catch (error) {
        if (!(error instanceof PublishError) || !error.retryHelps) throw error
        await pause(RETRY_MS, this.signal)
      }
    }
    throw new HooklineError("closing", "the application is stopping")
  }
}
