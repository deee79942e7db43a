import type { Logger } from "../telemetry/log.ts"
import type { Impairment } from "./broker.ts"
import type { Partition } from "./kafka-partition.ts"
import type { Topic } from "./kafka-topic.ts"

/** Why a leader can't be reached; undefined: it can. */
type Unreachable = (leader: number) => string | undefined

interface Found extends Impairment {
  /** The log has it from elsewhere. */
  readonly isLogged: boolean
}

/** What of a topic can't be published to now; undefined: all of it can, as far as is known. */
export function impairmentOf(topic: Topic, unreachable: Unreachable, nowMs: number): Found | undefined {
  const { name, partitions } = topic
  const told = topic.problem()
  if (told !== undefined || topic.state === "unknown") {
    const problem = told?.message ?? `topic ${name}: the cluster has not told of it yet`
    return {
      topic: name,
      problem,
      isWhole: true,
      leaderless: 0,
      isOutage: true,
      isLogged: told !== undefined,
    }
  }
  const leaderless: Partition[] = []
  const cutOff = new Map<string, Partition[]>()
  const failing = new Map<string, Partition[]>()
  let failingSinceMs = Number.POSITIVE_INFINITY
  let acknowledgedMs = Number.NEGATIVE_INFINITY
  for (const partition of partitions) {
    const { leader, delivery } = partition
    acknowledgedMs = Math.max(acknowledgedMs, delivery.acknowledgedMs)
    if (leader < 0) {
      leaderless.push(partition)
      continue
    }
    const reason = unreachable(leader)
    const failure = reason === undefined ? delivery.failure(nowMs) : undefined
    if (reason !== undefined) put(cutOff, reason, partition)
    if (failure === undefined) continue
    put(failing, failure.reason, partition)
    failingSinceMs = Math.min(failingSinceMs, failure.sinceMs)
  }
  const isOutage = leaderless.length > 0 || cutOff.size > 0
  if (!isOutage && failing.size === 0) return undefined
  const out = leaderless.length + [...cutOff.values()].reduce((sum, { length }) => sum + length, 0)
  const takesNothing = failing.size > 0 && acknowledgedMs < failingSinceMs
  const problems = [
    ...(leaderless.length === 0 ? [] : [`${describe(leaderless, partitions)} no leader`]),
    ...[...cutOff].map(
      ([reason, of]) => `${describe(of, partitions)} a leader that can't be reached: ${reason}`,
    ),
    ...[...failing].map(
      ([reason, of]) => `${describe(of, partitions)} acknowledged nothing lately: ${reason}`,
    ),
  ]
  return {
    topic: name,
    problem: `topic ${name}: ${problems.join("; ")}`,
    isWhole: out === partitions.length || takesNothing,
    leaderless: leaderless.length,
    isOutage,
    isLogged: leaderless.length === 0 && failing.size === 0,
  }
}

/** What of a connection's topics can't be published to, and for how long by now. */
export class Impairments {
  readonly #log: Logger
  readonly #known = new Map<Topic, { found: Found; readonly sinceMs: number; logged: Found | undefined }>()

  constructor(log: Logger) {
    this.#log = log
  }

  /** What has lasted for longer than a leader takes to move. */
  lasting(nowMs: number): readonly Impairment[] {
    return [...this.#known.values()].flatMap(({ found, sinceMs }) =>
      nowMs - sinceMs < LASTS_MS ? [] : [found],
    )
  }

  /**
   * Looks at topics of which the cluster has just told, and again at those that were impaired.
   *
   * @param isUsed whether a topic is still of interest
   */
  look(
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
          this.#log.info({ topic: topic.name }, "topic can be published to again")
        continue
      }
      const now = { found, sinceMs: known?.sinceMs ?? nowMs, logged: known?.logged }
      this.#known.set(topic, now)
      if (nowMs - now.sinceMs < LASTS_MS || found.isLogged || now.logged?.isWhole === found.isWhole) continue
      now.logged = found
      if (lines++ < MOST_LINES) this.#tell(found)
    }
    if (lines > MOST_LINES)
      this.#log.warn(
        { topics: lines - MOST_LINES },
        "more topics changed in the same way; /readyz lists them",
      )
  }

  #tell({ topic, problem, isWhole }: Found): void {
    if (isWhole) this.#log.error({ topic, reason: problem }, "topic can't be published to")
    else this.#log.warn({ topic, reason: problem }, "topic can be published to in part only")
  }
}

function put(into: Map<string, Partition[]>, reason: string, partition: Partition): void {
  const others = into.get(reason)
  if (others === undefined) into.set(reason, [partition])
  else others.push(partition)
}

/** `partitions 0, 3 have`, `all 6 partitions have` */
function describe(some: readonly Partition[], all: readonly Partition[]): string {
  if (all.length > 1 && some.length === all.length) return `all ${all.length} partitions have`
  if (some.length === 1) return `partition ${some[0]!.index} has`
  const named = some.slice(0, NAMED).map(({ index }) => index)
  const rest = some.length - named.length
  return `partitions ${named.join(", ")}${rest === 0 ? "" : ` and ${rest} more`} have`
}

/** A leader may be elected meanwhile, or reached again. */
const LASTS_MS = 1000
/** How many partitions are named, and topics logged at once. */
const NAMED = 10
const MOST_LINES = 10
