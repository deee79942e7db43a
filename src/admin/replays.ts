import type { ReplayRequest } from "./api/replay-shapes.ts"
import type { Broker, LogReader } from "../brokers/broker.ts"
import { parseCondition } from "../brokers/record-filter.ts"
import type { Connection } from "../brokers/define-connection.ts"
import { HooklineError } from "../errors.ts"
import { checkedAddresses, isOwnNetwork, refusedHost } from "../outgoing/refused-addresses.ts"
import type { RedisServer } from "../dedupe/redis-client.ts"
import { BrokerTarget } from "../replay/broker-target.ts"
import { ReplayJob } from "../replay/job.ts"
import { countRecords, selectRecords, type RecordCount, type RecordRange } from "../replay/range.ts"
import { urlTarget } from "../replay/post.ts"
import { isSameLog } from "../replay/same-log.ts"
import type { ReplayTarget } from "../replay/target.ts"
import type { Logger } from "../telemetry/log.ts"
import { ReplayClaims } from "./replay-claims.ts"
import type { Replica } from "./replicas.ts"

/** Where the records of a replay come from. */
export interface ReplayFrom {
  readonly connection: string
  readonly topic: string
  readonly range: RecordRange
  /** A condition of `tail --where`. */
  readonly where: string | undefined
}

/** Where they go. */
export type ReplayTo = { readonly connection: string; readonly topic: string } | URL

/** A replay to be started. */
export interface NewReplay {
  /** What its caller asked for. */
  readonly request: ReplayRequest
  readonly from: ReplayFrom
  readonly to: ReplayTo
  /** Records a second; undefined: as fast as the target accepts them. */
  readonly rate: number | undefined
  /** Replicas that may run the same. */
  readonly others: readonly Replica[]
}

export interface Replay {
  readonly id: string
  /** What its caller asked for. */
  readonly request: ReplayRequest
  readonly job: ReplayJob
  /** When it ended, in milliseconds since 1970; undefined: it has not. */
  endedAtMs: number | undefined
}

/** The connections of this process. */
export interface ReplayConnections {
  connection(id: string): Connection | undefined
  openReader(id: string): Promise<LogReader>
  /** Opens a broker, to be closed; pipelines may use it too. */
  openBroker(id: string): Promise<Broker>
  /** The id of this process. */
  readonly process: string
  /** The Redis of [service]; undefined: none. */
  redis(): RedisServer | undefined
  /** `replay_urls` of [admin]. */
  listedUrls(): readonly string[]
}

/** Replays that run at once. */
const MAX_RUNNING = 4
/** Ended ones that are remembered. */
const MAX_ENDED = 50
const COUNTED_WITHIN_MS = 3000

/** The replays of this process, in memory: one that must outlive it is the command line's. */
export class Replays {
  readonly #connections: ReplayConnections
  readonly #log: Pick<Logger, "info" | "error">
  /** The oldest first. */
  readonly #all = new Map<string, Replay>()
  readonly #running = new Set<Promise<void>>()
  /** Those that are about to run. */
  readonly #opening = new Set<Promise<Replay>>()
  readonly claims: ReplayClaims
  #isClosed = false

  constructor(connections: ReplayConnections, log: Pick<Logger, "info" | "error">) {
    this.#connections = connections
    this.claims = new ReplayClaims(connections.process, () => connections.redis())
    this.#log = log
  }

  /** The newest first. */
  list(): Replay[] {
    return [...this.#all.values()].toReversed()
  }

  find(id: string): Replay | undefined {
    return this.#all.get(id)
  }

  /** @throws HooklineError `usage`, `no_topic`, `unavailable`, `no_input` */
  async count(from: ReplayFrom): Promise<RecordCount> {
    const reader = await this.#openReader(from.connection)
    try {
      const selection = await selectRecords(reader, from.topic, from.range)
      const { signal } = new AbortController()
      return await countRecords(reader, selection, matcherOf(from), { signal, limitMs: COUNTED_WITHIN_MS })
    } finally {
      await reader.close()
    }
  }

  /**
   * Begins a replay, which continues after a record that its target refuses.
   *
   * @throws HooklineError `usage`, `no_topic`, `unavailable`, `no_input`, `config`, `refused` for a URL in the own network;
   *   ApiError 409 if it runs already
   */
  async start(wanted: NewReplay): Promise<Replay> {
    if (this.#isClosed) throw new HooklineError("unavailable", "the service is stopping")
    if (this.#running.size + this.#opening.size >= MAX_RUNNING)
      throw new HooklineError("unavailable", `${MAX_RUNNING} replays have not ended; cancel one`)
    const opening = this.#open(wanted)
    this.#opening.add(opening)
    try {
      return await opening
    } finally {
      this.#opening.delete(opening)
    }
  }

  async #open({ request, from, to, rate, others }: NewReplay): Promise<Replay> {
    await using opened = new AsyncDisposableStack()
    const reader = opened.adopt(await this.#openReader(from.connection), (it) => it.close())
    const matches = matcherOf(from)
    const selection = await selectRecords(reader, from.topic, from.range)
    await this.#checkIsOther(from, reader, to)
    const key = await this.#keyOf(from, reader, to)
    const lost = await this.claims.claim(key, others, opened)
    const target = await this.#openTarget(to, selection.partitions, opened)
    const job = new ReplayJob({ reader, selection, matches, target, rate, onRefusal: "skip" })
    lost?.throwIfAborted()
    lost?.addEventListener("abort", () => void job.cancel(lost.reason as Error))
    const replay: Replay = { id: crypto.randomUUID(), request, job, endedAtMs: undefined }
    this.#all.set(replay.id, replay)
    const running = this.#run(replay, opened.move()).finally(() => this.#running.delete(running))
    this.#running.add(running)
    return replay
  }

  /** Cancels all; resolves when they have ended. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.allSettled(this.#opening)
    await Promise.all(this.list().map(({ job }) => job.cancel()))
    await Promise.all(this.#running)
  }

  async #run(replay: Replay, opened: AsyncDisposableStack): Promise<void> {
    const { id, job } = replay
    this.#log.info({ replay: id }, "replay started")
    try {
      await job.start()
      await opened.disposeAsync()
    } catch (err) {
      this.#log.error({ err, replay: id }, "replay's connections could not be closed")
    }
    replay.endedAtMs = Date.now()
    const { state, replayed, failed } = job.progress()
    this.#log.info({ replay: id, state, replayed, failed }, "replay ended")
    const ended = [...this.#all.values()].filter(({ endedAtMs }) => endedAtMs !== undefined)
    for (const oldest of ended.slice(0, -MAX_ENDED)) this.#all.delete(oldest.id)
  }

  /** @throws HooklineError `usage` where the records would be published to the topic that they come from */
  async #checkIsOther(from: ReplayFrom, reader: LogReader, to: ReplayTo): Promise<void> {
    if (to instanceof URL || to.topic !== from.topic) return
    const source = { connection: this.#find(from.connection), reader }
    const open = (): Promise<LogReader> => this.#openReader(to.connection)
    const isSame = await isSameLog(source, this.#find(to.connection), open).catch((error: unknown) => {
      // it is waited for; the listener of this process's own log would answer
      const isWaitedFor = error instanceof HooklineError && error.code === "unavailable"
      const { kind, values } = source.connection
      if (isWaitedFor && kind.logFolder?.(values) !== undefined) return false
      throw error
    })
    if (isSame) throw new HooklineError("usage", "the topic can't be replayed to itself")
  }

  /** The same in all replicas for one topic and one target. */
  async #keyOf({ connection, topic }: ReplayFrom, reader: LogReader, to: ReplayTo): Promise<string> {
    const source = (await reader.clusterId()) ?? this.#placeOf(connection)
    const target = to instanceof URL ? to.href : [this.#placeOf(to.connection), to.topic]
    return Bun.hash(JSON.stringify([source, topic, target])).toString(36)
  }

  /** Replicas have embedded logs of their own. */
  #placeOf(id: string): readonly string[] {
    const { kind, values } = this.#find(id)
    return [kind.describe(values).address, kind.hasOneWriter ? this.#connections.process : ""]
  }

  async #openTarget(to: ReplayTo, partitions: number, opened: AsyncDisposableStack): Promise<ReplayTarget> {
    if (to instanceof URL) return this.#urlTarget(to)
    const { topic } = to
    this.#find(to.connection)
    const broker = opened.adopt(await this.#connections.openBroker(to.connection), (it) => it.close())
    return new BrokerTarget({ broker, topic, partitions })
  }

  /** @throws HooklineError `refused` where it leads into the own network and is not listed */
  async #urlTarget(url: URL): Promise<ReplayTarget> {
    const isListed = this.#connections.listedUrls().some((listed) => isWithin(url, listed))
    const advice = `to allow it, add ${url.origin} to replay_urls in [admin]`
    const rule = (host: string): string | undefined =>
      refusedHost(host) ??
      (!isListed && isOwnNetwork(host)
        ? `${host} is this machine or in a private network; ${advice}`
        : undefined)
    await checkedAddresses(url, rule).catch((error: unknown) => {
      // the replay waits for a name that is unknown, and says so
      if (error instanceof HooklineError) throw error
    })
    return urlTarget(url, { rule })
  }

  #openReader(connection: string): Promise<LogReader> {
    this.#find(connection)
    return this.#connections.openReader(connection)
  }

  #find(id: string): Connection {
    const connection = this.#connections.connection(id)
    if (connection === undefined) throw new HooklineError("no_topic", `no connection is named ${id}`)
    return connection
  }
}

/** @param listed `*`, or a URL whose path and what is below it are listed */
function isWithin({ origin, pathname }: URL, listed: string): boolean {
  if (listed === "*") return true
  const base = new URL(listed)
  const path = base.pathname.replace(/\/$/, "")
  return origin === base.origin && (pathname === path || pathname.startsWith(`${path}/`))
}

const matcherOf = ({ where }: ReplayFrom): ReturnType<typeof parseCondition> | undefined =>
  where === undefined || where === "" ? undefined : parseCondition(where)
