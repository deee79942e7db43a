import type { Logger } from "../../telemetry/log.ts"
import type { Broker, Impairment } from "../broker.ts"

/** What is watched of a topic of a spool. */
export interface WatchedTopic {
  /** Grows with each record that the broker takes, or refuses for good. */
  readonly progress: number
  /** Why the broker took nothing when it was last tried. */
  readonly trouble: string | undefined
}

export interface SpoolWatchDependencies {
  readonly log: Logger
  readonly broker: () => Broker
  /** Those that hold events, by name; undefined: the file can't be read now. */
  readonly topics: () => ReadonlyMap<string, WatchedTopic> | undefined
  /** How long a topic makes no progress before it counts as stuck. Default: 5 s. */
  readonly stuckMs?: number | undefined
}

interface Stall {
  readonly progress: number
  /** How long nothing has moved. */
  readonly ms: number
  readonly reason: string
  readonly isLogged: boolean
}

const TICK_MS = 500
const STUCK_MS = 5000

/**
 * Notices that events stay in a spool although the broker says that it takes them. While it says otherwise, of itself or of
 * the topic, they wait as they should. Time counts in ticks, and a tick as two at most: time in which this process did not
 * run is not the broker's.
 */
export class SpoolWatch {
  readonly #deps: SpoolWatchDependencies
  readonly #stuckMs: number
  readonly #timer: Timer
  readonly #stalls = new Map<string, Stall>()
  #tickedMs: number

  constructor(deps: SpoolWatchDependencies, now: () => number) {
    this.#deps = deps
    this.#stuckMs = deps.stuckMs ?? STUCK_MS
    this.#tickedMs = now()
    this.#timer = setInterval(() => this.tick(now()), TICK_MS)
  }

  impaired(): readonly Impairment[] {
    return [...this.#stalls].flatMap(([topic, { ms, reason }]) => {
      if (ms < this.#stuckMs) return []
      const problem = `topic ${topic}: the spool is stuck, none of its events was forwarded for ${this.#stuckMs / 1000} s or longer: ${reason}`
      return [{ topic, problem, isWhole: true, leaderless: 0, isOutage: false }]
    })
  }

  close(): void {
    clearInterval(this.#timer)
  }

  /** For the timer, and for tests. */
  tick(nowMs: number): void {
    const passedMs = Math.min(nowMs - this.#tickedMs, 2 * TICK_MS)
    this.#tickedMs = nowMs
    const { topics, broker, log } = this.#deps
    const spooled = topics()
    if (spooled === undefined) return
    const isReady = broker().ready() === true
    const impairments = new Map((broker().impaired?.() ?? []).map((it) => [it.topic, it]))
    for (const [topic, stall] of this.#stalls) {
      if (spooled.get(topic)?.progress === stall.progress) continue
      this.#stalls.delete(topic)
      if (stall.isLogged) log.info({ topic }, "spool is forwarding the topic's events again")
    }
    for (const [topic, { progress, trouble }] of spooled) {
      const known = this.#stalls.get(topic)
      const impairment = impairments.get(topic)
      const waits = !isReady || impairment?.isOutage === true
      const ms = known === undefined || waits ? 0 : known.ms + passedMs
      const reason = impairment?.problem ?? trouble ?? "the broker acknowledges nothing"
      const isLogged = known?.isLogged === true || ms >= this.#stuckMs
      this.#stalls.set(topic, { progress, ms, reason, isLogged })
      if (isLogged && known?.isLogged !== true)
        log.error(
          { topic, reason },
          `spool is stuck: none of the topic's events was forwarded for ${this.#stuckMs / 1000} s, though the broker is available`,
        )
    }
  }
}
