import type { Logger } from "../../telemetry/log.ts"
import type { Impairment } from "../broker.ts"
import type { Partition } from "./partition.ts"
import { IMPAIRED_MS } from "./timeouts.ts"
import type { Topic } from "./topic.ts"

/** Why a leader can't be reached; undefined: it can. */
type Unreachable = (leader: number) => string | undefined

interface Found extends Impairment {
  /** The log has it from elsewhere. */
  readonly isLogged: boolean
}

/** What of a topic can't be published to now; undefined while all of it can. */
export function impairmentOf(topic: Topic, unreachable: Unreachable, nowMs: number): Found | undefined {
  const { name, partitions } = topic
  const rejection = topic.problem()
  if (rejection !== undefined || topic.state === "unknown") {
    const problem = rejection?.message ?? `topic ${name}: no metadata yet`
    const isLogged = rejection !== undefined
    return { topic: name, problem, isWhole: true, leaderless: 0, isOutage: true, isLogged }
  }
  const impaired = partitions.flatMap((partition) => {
    const kind = kindOf(partition, unreachable, nowMs)
    return kind === undefined ? [] : [{ partition, ...kind }]
  })
  if (impaired.length === 0) return undefined
  const groups = Map.groupBy(impaired, ({ reason }) => reason)
  const problems = Array.from(groups, ([reason, some]) => `${describe(some, partitions.length)} ${reason}`)
  const failing = impaired.filter(({ failingSinceMs }) => failingSinceMs !== undefined)
  const leaderless = impaired.filter(({ partition }) => partition.leader < 0).length
  const acknowledgedMs = Math.max(...partitions.map(({ health }) => health.acknowledgedMs))
  const isFailing =
    failing.length > 0 && failing.every(({ failingSinceMs }) => acknowledgedMs < failingSinceMs!)
  return {
    topic: name,
    problem: `topic ${name}: ${problems.join("; ")}`,
    isWhole: impaired.length - failing.length === partitions.length || isFailing,
    leaderless,
    isOutage: impaired.length > failing.length,
    isLogged: leaderless + failing.length === 0,
  }
}

/** Why a partition can't be published to, and since when it fails if its leader can be reached; undefined: it can. */
function kindOf(
  { leader, health }: Partition,
  unreachable: Unreachable,
  nowMs: number,
): { readonly reason: string; readonly failingSinceMs?: number } | undefined {
  if (leader < 0) return { reason: "no leader" }
  const reason = unreachable(leader)
  if (reason !== undefined) return { reason: `a leader that can't be reached: ${reason}` }
  const failure = health.failure(nowMs)
  if (failure === undefined) return undefined
  return { reason: `acknowledged nothing lately: ${failure.reason}`, failingSinceMs: failure.sinceMs }
}

/** What of a connection's topics can't be published to, and for how long by now. */
export class Impairments {
  readonly #log: Logger
  readonly #known = new Map<Topic, { found: Found; readonly sinceMs: number; logged: Found | undefined }>()

  constructor(log: Logger) {
    this.#log = log
  }

  lasting(nowMs: number): readonly Impairment[] {
    return [...this.#known.values()].flatMap(({ found, sinceMs }) =>
      nowMs - sinceMs < IMPAIRED_MS ? [] : [found],
    )
  }

  /** Looks at topics that metadata has just updated, and at those that were impaired. */
  update(
    at: Iterable<Topic>,
    unreachable: Unreachable,
    isUsed: (topic: Topic) => boolean,
    nowMs: number,
  ): void {
    let lines = 0
    for (const topic of new Set([...at, ...this.#known.keys()])) {
      const found = isUsed(topic) ? impairmentOf(topic, unreachable, nowMs) : undefined
      const known = this.#known.get(topic)
      if (found === undefined) {
        this.#known.delete(topic)
        if (known?.logged !== undefined && lines++ < MOST_LINES)
          this.#log.info({ topic: topic.name }, "topic available again")
        continue
      }
      const now = { found, sinceMs: known?.sinceMs ?? nowMs, logged: known?.logged }
      this.#known.set(topic, now)
      if (nowMs - now.sinceMs < IMPAIRED_MS || found.isLogged || now.logged?.isWhole === found.isWhole)
        continue
      now.logged = found
      if (lines++ >= MOST_LINES) continue
      const line = { topic: topic.name, reason: found.problem }
      if (found.isWhole) this.#log.error(line, "topic unavailable")
      else this.#log.warn(line, "topic partly unavailable")
    }
    if (lines > MOST_LINES)
      this.#log.warn({ topics: lines - MOST_LINES }, "more topics changed state; /readyz lists them")
  }
}

/** `partitions 0, 3 have`, `all 6 partitions have` */
function describe(some: readonly { readonly partition: Partition }[], all: number): string {
  if (all > 1 && some.length === all) return `all ${all} partitions have`
  const indexes = some.map(({ partition }) => partition.index)
  if (indexes.length === 1) return `partition ${indexes[0]} has`
  const more = indexes.length > NAMED ? ` and ${indexes.length - NAMED} more` : ""
  return `partitions ${indexes.slice(0, NAMED).join(", ")}${more} have`
}

/** How many partitions are named, and topics logged at once. */
const NAMED = 10
const MOST_LINES = 10
