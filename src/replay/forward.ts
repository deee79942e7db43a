import type { LogReader, OffsetRange } from "../brokers/broker.ts"
import { isOther } from "../brokers/log-place.ts"
import { counted } from "../words.ts"
import { HooklineError } from "../errors.ts"
import { endlessFrom, watchPartitions, type OffsetGap } from "./follow.ts"
import { ReplayJob, type ReplayOptions } from "./job.ts"
import type { PositionStore } from "./position-tables.ts"
import type { ReplayPosition } from "./progress.ts"
import { lengthOf } from "./range.ts"
import { toShownTarget } from "./request-of-record.ts"
import { warnOfRetention } from "./retention-warning.ts"
import { agreeWith, describeSetBack, TopicEpochs } from "./set-back.ts"
import type { ReplayTarget } from "./target.ts"
import { untilAvailable } from "./until-available.ts"

/** What is stored of a forward in addition to its position. */
export interface ForwardAbout {
  readonly connection: string
  readonly topic: string
  /** The URL with its password and query: the file is readable by its owner alone. Absent: a function. */
  readonly url?: string
  /** Where `hookline forward` had it begin last; absent: not known. */
  readonly from?: "beginning" | "end"
  /** The id of the log that the position is of: another log has other records at these offsets. */
  readonly clusterId?: string
  /** The id of the topic, where topics have one: one that was created again has other records, too. */
  readonly topicId?: string
}

export interface ForwardOptions extends Pick<ReplayOptions, "matches" | "rate" | "onRefusal" | "refused"> {
  readonly about: ForwardAbout
  readonly store: PositionStore<ForwardAbout>
  readonly target: ReplayTarget
  readonly open: () => Promise<LogReader>
  /** Where a new one begins, in milliseconds since 1970: with records from then on. Undefined: with those after the last. */
  readonly sinceMs: number | undefined
  /** Whether one that has begun begins there, too, and keeps its refused records. */
  readonly again?: boolean | undefined
  readonly signal: AbortSignal
  /** The partitions that this process has; others have the rest. Undefined: it has all. */
  readonly partitions?: ReadonlySet<number> | undefined
  /** Called when a position has been saved. */
  readonly saved?: ((topic: string, next: ReadonlyMap<number, number>) => Promise<void>) | undefined
  /** Called at short intervals. @param source why nothing can be read @param any that, or why nothing is delivered */
  readonly waiting: (source: string | undefined, any: string | undefined) => void
  /** Called with what is forwarded, and how many records wait or are left out; also when it is paused and resumed. */
  readonly began: (text: string, leftOut?: number) => void
  /** Called with what happens to records that are not forwarded. */
  readonly warn: (text: string) => void
}

const NOTE_MS = 500
const NOTHING_READ: Pick<ReplayJob, "next" | "read"> = { next: new Map(), read: new Map() }

/** Sends each record of a topic to a target from a durable position, until it is stopped. */
export class Forward {
  readonly #options: ForwardOptions
  #job: ReplayJob | undefined
  #held: readonly OffsetRange[] = []
  #clusterId = ""
  #waitsFor: string | undefined
  /** Records before where it has just begun. */
  #leftOut = 0
  #setBack = 0

  constructor(options: ForwardOptions) {
    this.#options = options
  }

  /** undefined: it waits for the log. It stays once it has ended. */
  get job(): ReplayJob | undefined {
    return this.#job
  }

  /** The id of the log, once it has begun; empty: it has none. */
  get clusterId(): string {
    return this.#clusterId
  }

  /** Partitions whose positions were set back, since the log was replaced. */
  get setBack(): number {
    return this.#setBack
  }

  /** Why nothing is delivered; undefined: it is. */
  get problem(): string | undefined {
    return this.#waitsFor ?? this.#job?.progress().problem
  }

  /** Records that are not settled: those that were read, and that the log had a moment ago. */
  get lag(): number {
    const { next, read } = this.#job ?? NOTHING_READ
    return this.#held.reduce((sum, { partition, first, end }) => {
      const known = Math.max(end, read.get(partition) ?? 0)
      return sum + Math.max(0, known - Math.max(first, next.get(partition) ?? 0))
    }, 0)
  }

  /** Looks how many records the log has now, where it is there. */
  async measure(): Promise<void> {
    const { topic } = this.#options.about
    const all = await this.#read((it) => it.ranges(topic)).catch(() => undefined)
    if (all !== undefined) this.#held = this.#own(all)
  }

  /** @throws HooklineError `no_input`, `log_io`, `refused` for a refused record where that is to stop it */
  async run(): Promise<void> {
    const { about, store, target, began, warn, matches, rate, onRefusal, refused } = this.#options
    const found = await this.#find()
    if (found === undefined) return
    const { reader, all, held, clusterId, topicId } = found
    this.#clusterId = clusterId ?? ""
    try {
      const epochs = new TopicEpochs(reader, about.topic)
      const position = await this.#position(reader, epochs, held, { clusterId, topicId })
      this.#held = held
      const { ranges, gaps } = endlessFrom(position, held)
      for (const gap of gaps) warn(describeGap(about.topic, gap))
      const left = lengthOf(held.map((range, at) => ({ ...range, first: ranges[at]!.first })))
      const older = this.#leftOut === 0 ? "" : `, leaving out ${counted(this.#leftOut, "older record")}`
      const waiting = left === 0 ? older : `, ${left} waiting`
      const what = `${about.connection}/${about.topic} to ${toShownTarget(about.url)}`
      began(`forwarding ${what}${waiting}`, this.#leftOut)
      const job = new ReplayJob({
        reader,
        selection: { topic: about.topic, ranges, partitions: held.length },
        target,
        matches,
        rate,
        onRefusal,
        refused,
        from: { ...position, next: new Map() },
        missed: ({ partition, first, end }) =>
          warn(describeGap(about.topic, { partition, first: end, next: first, kind: "deleted" })),
        save: async (position, failures) => {
          await store.save(epochs.with(position), failures)
          await this.#options.saved?.(about.topic, position.next)
        },
      })
      this.#job = job
      await this.#pauseOrResume(job)
      await this.#follow(job, all, topicId)
      if (job.error !== undefined) throw job.error
    } finally {
      await reader.close()
    }
  }

  async #follow(job: ReplayJob, known: readonly OffsetRange[], topicId: string | undefined): Promise<void> {
    const { about, open, store, waiting, warn, partitions } = this.#options
    const ended = new AbortController()
    const signal = AbortSignal.any([this.#options.signal, ended.signal])
    signal.addEventListener("abort", () => void job.cancel(), { once: true })
    const failed = Promise.withResolvers<never>()
    const timer = setInterval(() => {
      const { problem } = job.progress()
      waiting(job.sourceProblem, problem)
      Promise.try(() => store.setWaiting(problem)).catch(failed.reject)
      this.#pauseOrResume(job).catch(failed.reject)
    }, NOTE_MS)
    const watching = watchPartitions(open, about.topic, known, {
      added: (more) => {
        if (partitions === undefined) return job.extend(more)
        failed.reject(new HooklineError("unavailable", `topic ${about.topic} has more partitions`))
      },
      identified: (id) => {
        if (isOther(topicId, id))
          failed.reject(new HooklineError("unavailable", `topic ${about.topic} was created again`))
      },
      held: (held) => (this.#held = this.#own(held)),
      signal,
    })
    const waits = { topic: about.topic, next: () => job.next, held: () => this.#held, lag: () => this.lag }
    const watches = [watching, warnOfRetention(waits, (ask) => this.#read(ask), warn, signal)]
    try {
      await Promise.race([job.start(), ...watches, failed.promise])
    } finally {
      await job.cancel()
      clearInterval(timer)
      ended.abort()
    }
    await Promise.all(watches)
  }

  async #pauseOrResume(job: ReplayJob): Promise<void> {
    const isPaused = await this.#options.store.isPaused()
    const isChanged = isPaused ? job.pause() : job.resume()
    if (isChanged) this.#options.began(isPaused ? "forwarding paused" : "forwarding resumed")
  }

  #own(ranges: readonly OffsetRange[]): readonly OffsetRange[] {
    const { partitions } = this.#options
    return partitions === undefined ? ranges : ranges.filter(({ partition }) => partitions.has(partition))
  }

  async #read<T>(read: (reader: LogReader) => Promise<T>): Promise<T> {
    const reader = await this.#options.open()
    return read(reader).finally(() => reader.close())
  }

  /** Waits for the log and its topic; undefined: until it was stopped. */
  #find() {
    const { about, open, store, signal } = this.#options
    const note = (reason: string | undefined): void => {
      this.#waitsFor = reason
      this.#options.waiting(reason, reason)
    }
    const attempt = async () => {
      await using opened = new AsyncDisposableStack()
      const reader = opened.adopt(await open(), (it) => it.close())
      const all = await reader.ranges(about.topic)
      const held = this.#own(all)
      const clusterId = await reader.clusterId()
      const topicId = await reader.topicId?.(about.topic)
      opened.move()
      return { reader, all, held, clusterId, topicId }
    }
    return untilAvailable(attempt, {
      signal,
      notes: { note },
      everyMs: NOTE_MS,
      mayPass: ({ retryHelps }) => retryHelps,
      beforeWait: async ({ code, message }: HooklineError) => {
        // all that is published to a topic that does not exist yet is new
        if (code !== "unavailable" && (await store.read()) === undefined) await this.#begin(about, [])
        await store.setWaiting(message)
      },
    })
  }

  async #position(
    reader: LogReader,
    epochs: TopicEpochs,
    held: readonly OffsetRange[],
    { clusterId, topicId }: { readonly clusterId: string | undefined; readonly topicId: string | undefined },
  ): Promise<ReplayPosition> {
    const { store, sinceMs, again, warn } = this.#options
    const stored = await store.read()
    const about = {
      ...this.#options.about,
      ...(clusterId !== undefined && { clusterId }),
      ...(topicId !== undefined && { topicId }),
    }
    const { connection, topic } = about
    const start = async () => {
      const since = sinceMs === undefined ? held : await reader.ranges(topic, { sinceMs })
      if (sinceMs === undefined) this.#leftOut = lengthOf(held)
      return since.map((it) => [it.partition, sinceMs === undefined ? it.end : it.first] as const)
    }
    if (stored === undefined) return this.#begin(about, await start(), epochs)
    const agreed = agreeWith(epochs, held, stored, { clusterId, topicId })
    if (agreed.kind !== "agreed") {
      const isLog = agreed.kind === "another log"
      warn(
        isLog
          ? `connection ${connection} leads to another log than before: forwarding ${topic} from its beginning; the failures of the former log are removed`
          : `topic ${topic} was created again: forwarding it from its beginning; the failures of the former topic are removed`,
      )
      this.#setBack += held.length
      return this.#begin(about, [])
    }
    const isNew = (of: string | undefined, now: string | undefined): boolean =>
      of === undefined && now !== undefined
    if (isNew(stored.about.clusterId, clusterId) || isNew(stored.about.topicId, topicId))
      await store.describe(about)
    const known = epochs.with(agreed.position)
    if (agreed.setBack.length > 0) {
      warn(describeSetBack(topic, agreed.setBack))
      this.#setBack += agreed.setBack.length
      await store.setBack(known)
    } else if (known.epochs!.size > (stored.position.epochs?.size ?? 0)) await store.save(known, [])
    if (again !== true) return agreed.position
    const position = { ...stored.position, next: new Map(await start()) }
    await store.save(position, [])
    await store.describe(about)
    return position
  }

  /** @param next where partitions begin; others begin at their beginnings */
  async #begin(
    about: ForwardAbout,
    next: Iterable<readonly [number, number]>,
    epochs?: TopicEpochs,
  ): Promise<ReplayPosition> {
    const position = { next: new Map(next), replayed: 0, failed: 0 }
    await this.#options.store.begin(about, epochs?.with(position) ?? position)
    return position
  }
}

const describeGap = (topic: string, { partition, first, next, kind }: OffsetGap): string =>
  kind === "deleted"
    ? `${topic}[${partition}]: the ${first - next} records from offset ${next} on were deleted before they were forwarded`
    : `${topic}[${partition}] ends before offset ${next}, where it was to continue: it is another log, forwarded from its beginning`
