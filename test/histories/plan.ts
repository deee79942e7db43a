import { Random } from "../support/random.ts"

/** What faults are about; two at a time, never two of the same subject. */
export type Subject = "brokers" | "service"

/** A fault of a plan. */
export interface Planned {
  /** Since the start. */
  readonly atMs: number
  readonly kind: string
  readonly forMs: number
  /** Decides on what it falls. */
  readonly random: Random
}

/** Between the end of a fault and the next of its subject. */
const GAP_MS = [1000, 7000] as const
/** So that what lags catches up now and then. */
const REST_MS = [12_000, 25_000] as const
const REST_EVERY = 8
/** At the start and at the end. */
const QUIET_MS = 5000

/** The kinds of faults of a subject, and for how long each may last. */
export interface Kinds {
  readonly [kind: string]: {
    readonly subject: Subject
    readonly forMs: readonly [least: number, most: number]
  }
}

/** The faults of a subject during so long: the same for the same seed. */
export function plan(kinds: Kinds, subject: Subject, seed: number, lengthMs: number): Planned[] {
  const random = new Random(seed + (subject === "brokers" ? 0 : 1_000_003))
  const between = ([least, most]: readonly [number, number]): number =>
    Math.round(least + random.next() * (most - least))
  const names = Object.keys(kinds).filter((kind) => kinds[kind]!.subject === subject)
  const planned: Planned[] = []
  let left: string[] = []
  for (let atMs = QUIET_MS; ;) {
    // Each kind in turn, in another order each time.
    if (left.length === 0) left = [...names]
    const kind = left.splice(random.below(left.length), 1)[0]!
    const forMs = between(kinds[kind]!.forMs)
    const own = new Random(random.below(2 ** 32))
    if (atMs + forMs + QUIET_MS > lengthMs) return planned
    planned.push({ atMs, kind, forMs, random: own })
    atMs += forMs + between(planned.length % REST_EVERY === 0 ? REST_MS : GAP_MS)
  }
}
