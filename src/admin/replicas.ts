import manifest from "../../package.json" with { type: "json" }
import { steadyMs } from "../clock/clock.ts"
import type { Logger } from "../telemetry/log.ts"
import { AdminClient, isToAnswerAlone, unanswered } from "./admin-client.ts"
import { ApiError } from "./api/problem.ts"
import type { Overview } from "./api/overview-shape.ts"
import { ProcessActivity } from "./api/replica-shapes.ts"
import { misfit, type Shape } from "./api/shape.ts"
import type { ActivitySample } from "./history.ts"
import { addressesOf, isName } from "./replica-places.ts"

/*
 * The other replicas of the service, whose answers this one's admin API merges with its own. Each is polled for its overview
 * and counters: every 5 s, and every second while someone looks. Requests use the result of the last round, so none waits
 * for a replica that does not answer; until it answers a poll, it is asked for nothing else.
 */

export interface ReplicaSettings {
  readonly places: readonly string[]
  readonly token: string
  /** undefined: plain HTTP. */
  readonly tls: BunFetchRequestInitTLS | undefined
}

/** Another replica, as the last round found it. */
export interface Replica {
  /** Its address; of a name without addresses, the name. */
  readonly name: string
  readonly overview: Overview | undefined
  /** Why its answers are left out; undefined: they are not. */
  readonly problem: string | undefined
  readonly client: AdminClient
  /** undefined: it has not answered. */
  readonly activity: ActivitySample | undefined
  /** It refused the token of these settings, and is not asked again before `untilMs`. */
  readonly refused?: { readonly settings: ReplicaSettings; readonly untilMs: number }
}

const IDLE_MS = 5000
/** While someone looks. */
const FRESH_MS = 1000
/** Between two requests to one that refuses the token: it counts each as a wrong token, and delays its answers after ten in a minute. */
const REFUSED_MS = 15_000

export class Replicas {
  readonly #process: string
  readonly #shape: Shape<Overview>
  readonly #log: Pick<Logger, "info" | "warn">
  #settings: ReplicaSettings | undefined
  /** Addresses of names, as last resolved. */
  readonly #resolved = new Map<string, readonly string[]>()
  #known: readonly Replica[] = []
  #round: Promise<void> | undefined
  #roundMs = 0
  #timer: Timer | undefined

  /**
   * @param process the id of this one, which tells it that a listed address is its own
   * @param shape of the overview of a replica of this version
   */
  constructor(process: string, shape: Shape<Overview>, log: Pick<Logger, "info" | "warn">) {
    this.#process = process
    this.#shape = shape
    this.#log = log
  }

  /** @param settings undefined: there are no replicas */
  set(settings: ReplicaSettings | undefined): void {
    if (Bun.deepEquals(settings, this.#settings)) return
    this.#settings = settings
    if (settings === undefined) this.#known = []
    void this.#begin()
  }

  close(): void {
    this.#settings = undefined
    clearTimeout(this.#timer)
  }

  /** As the last round found them. */
  get known(): readonly Replica[] {
    return this.#known
  }

  /** As the last round found them, and the next begins soon; none for a request of another replica. */
  current(request?: Request): readonly Replica[] {
    if (request !== undefined && isToAnswerAlone(request)) return []
    if (this.#settings !== undefined && steadyMs() - this.#roundMs >= FRESH_MS) void this.#begin()
    return this.#known
  }

  /** As `current`, but waits for a round if the last is too old: at most two seconds, or three with names to resolve. */
  async fresh(): Promise<readonly Replica[]> {
    if (this.#settings !== undefined && steadyMs() - this.#roundMs >= 2 * FRESH_MS) await this.#begin()
    return this.current()
  }

  /** Those of `current` that answer. */
  answering(request?: Request): readonly AdminClient[] {
    return this.current(request).flatMap(({ client, problem }) => (problem === undefined ? [client] : []))
  }

  #begin(): Promise<void> {
    return (this.#round ??= this.#ask().finally(() => {
      this.#round = undefined
      this.#roundMs = steadyMs()
      clearTimeout(this.#timer)
      if (this.#settings !== undefined) this.#timer = setTimeout(() => void this.#begin(), IDLE_MS).unref()
    }))
  }

  async #ask(): Promise<void> {
    const settings = this.#settings
    if (settings === undefined) return
    const names = (await Promise.all(settings.places.map((it) => this.#addressesOf(it)))).flat()
    const asked = [...new Set(names)].map((name) => this.#replica(name, settings))
    const found = await Promise.all(asked)
    // settings may have changed meanwhile
    if (settings !== this.#settings) return void setImmediate(() => void this.#begin())
    const processes = new Set([this.#process])
    const others = found.filter(({ overview }) => {
      const isKnown = overview !== undefined && processes.has(overview.process)
      if (overview !== undefined) processes.add(overview.process)
      return !isKnown
    })
    this.#report(others)
    this.#known = others
  }

  /** The addresses of a place; the place itself if its name has none. */
  async #addressesOf(place: string): Promise<readonly string[]> {
    if (!isName(place)) return [place]
    const found = await addressesOf(place)
    if (found.length > 0) this.#resolved.set(place, found)
    return this.#resolved.get(place) ?? [place]
  }

  async #replica(name: string, settings: ReplicaSettings): Promise<Replica> {
    const before = this.#known.find((it) => it.name === name)
    if (before?.refused?.settings === settings && steadyMs() < before.refused.untilMs) return before
    const { token, tls } = settings
    const client = new AdminClient(`${tls === undefined ? "http" : "https"}://${name}`, token, tls)
    const silent = { name, client, overview: undefined, activity: undefined }
    if (isName(name)) return { ...silent, problem: "the name has no address" }
    try {
      const overview = await client.ask<Overview>("overview?pipelines=false&replays=true")
      const wrong = misfit(overview, this.#shape)
      const { version } = Object(overview) as Partial<Overview>
      if (typeof version === "string" && version !== manifest.version)
        return { ...silent, problem: `is Hookline ${version}, this one ${manifest.version}` }
      if (wrong !== undefined) return { ...silent, problem: `is not a Hookline of this version${wrong}` }
      const activity = await client.ask<ActivitySample>("activity").catch(unanswered)
      // counters of another form would end the sampling of all
      const isActivity = activity !== undefined && misfit(activity, ProcessActivity) === undefined
      return { ...silent, overview, problem: undefined, activity: isActivity ? activity : undefined }
    } catch (error) {
      const isRefused = error instanceof ApiError && error.status === 401
      if (!isRefused) return { ...silent, problem: (error as Error).message }
      const refused = { settings, untilMs: steadyMs() + REFUSED_MS }
      return { ...silent, problem: "has a different replicas_token", refused }
    }
  }

  #report(others: readonly Replica[]): void {
    const before = new Map(this.#known.map(({ name, problem }) => [name, problem]))
    for (const { name, problem } of others) {
      if (problem === before.get(name)) continue
      if (problem === undefined) this.#log.info({ replica: name }, "replica answers again")
      else this.#log.warn({ replica: name, problem }, "replica left out")
    }
  }
}
