import { Random } from "../../support/random.ts"
import type { RemoteState } from "./remote-log.ts"
import type { TargetState } from "./target.ts"

/** How a process ends. */
export type Crash = "kill" | "power"

/**
 * Something that happens; times in milliseconds, below 0 for what is so before the first start. A fault of the disk is that of the next request to a database, or of the
 * next start, and of the calls of it: one such fault for each.
 */
export type Step = { readonly atMs: number } & (
  | {
      readonly do: "publish"
      readonly topic: string
      readonly key: number
      readonly count: number
      readonly everyMs: number
      readonly bytes: number
      readonly timeoutMs: number
    }
  | { readonly do: "fail"; readonly call: number; readonly count: number }
  | { readonly do: "halt"; readonly call: number; readonly ending: Crash | "thread"; readonly forMs: number }
  | { readonly do: "stall disk"; readonly forMs: number }
  | { readonly do: "slow disk"; readonly ms: number; readonly forMs: number }
  | { readonly do: "fail reads"; readonly read: number; readonly count: number; readonly forMs: number }
  | { readonly do: "fill disk"; readonly leftBytes: number; readonly forMs: number }
  | { readonly do: "lock" | "read"; readonly file: number; readonly forMs: number }
  | {
      readonly do: "take files"
      readonly how: "remove" | "rename" | "replace" | "overwrite"
      readonly forMs: number
    }
  | { readonly do: "truncate WAL"; readonly share: number; readonly forMs: number }
  | { readonly do: "crash"; readonly kind: Crash }
  | { readonly do: "stop" }
  | { readonly do: "stall"; readonly forMs: number }
  | { readonly do: "set clock"; readonly byMs: number }
  | { readonly do: "look"; readonly sector?: Sector }
  | ({ readonly do: "remote" } & RemoteState)
  | { readonly do: "peers"; readonly target: TargetState; readonly isLogDown: boolean }
)

/** A sector of a log's file that the disk does not have as it was written. */
export interface Sector {
  readonly bytes: 512 | 4096
  /** A write that was lost leaves an earlier version of it. */
  readonly how: "zeros" | "noise" | "an earlier version"
  /** Where it is, as a share of the file. */
  readonly at: number
  readonly seed: number
}

/** A run, complete: it can be kept in a file, and have steps taken out. */
export interface StorageScenario {
  readonly simulation: "log" | "spool" | "dedupe" | "service" | "reconcile" | "forward"
  readonly seed: number
  readonly settings: StorageSettings
  readonly steps: readonly Step[]
  /** When everything heals. */
  readonly healMs: number
}

export interface StorageSettings {
  readonly partitions: number
  /** The most bytes of a spool. */
  readonly maxBytes: number
  /** Where a Deduplicator keeps its keys. */
  readonly keys: "with the log" | "file" | "memory"
  /** delivery_timeout of a pipeline. */
  readonly timeoutMs: number
  /** How long an embedded log keeps records, and how many bytes; absent: all. */
  readonly retentionMs?: number
  readonly retentionBytes?: number
}

const LASTS_MS = 3000
export const TOPICS = ["payments", "audit"]

/** @param simulation what is simulated: a spool has a remote log with faults of its own */
export function scenarioOf(simulation: StorageScenario["simulation"], seed: number): StorageScenario {
  const random = new Random(seed * 2_654_435_761)
  const one = (of: number): boolean => random.below(of) === 0
  const between = (least: number, most: number): number => least + random.below(most - least + 1)
  const context = { random, one, between }
  const steps = [
    ...Array.from({ length: between(4, 14) }, () => workload(context)),
    ...Array.from({ length: between(0, 8) }, () => faults(context)).flat(),
    ...(simulation === "log" ? [] : Array.from({ length: between(0, 5) }, () => remote(context))),
    ...Array.from({ length: 2 }, (): Step => ({ atMs: between(0, LASTS_MS), do: "look" })),
  ]
  const settings = {
    partitions: random.pick([1, 1, 3]),
    maxBytes: random.pick([1e9, 1e9, 50_000]),
    keys: random.pick<StorageSettings["keys"]>(["with the log", "with the log", "file", "memory"]),
    timeoutMs: random.pick([200, 1000]),
  }
  if (simulation === "log" && one(4)) steps.push(takeFiles(context))
  const limits = simulation === "log" ? retention(context) : {}
  if (simulation === "log" || simulation === "dedupe")
    steps.push(...Array.from({ length: between(0, 3) }, () => setClock(context)))
  if (simulation === "forward") steps.push(...Array.from({ length: between(0, 6) }, () => peers(context)))
  if (simulation === "log" && one(5)) steps.push(truncateWal(context))
  if (one(4)) steps.push(...failReads(context))
  const sectors = simulation === "log" ? steps.map((step) => withSector(step, context)) : steps
  return {
    simulation,
    seed,
    settings: { ...settings, ...limits },
    steps: sectors.toSorted((a, b) => a.atMs - b.atMs),
    healMs: LASTS_MS,
  }
}

interface Context {
  readonly random: Random
  readonly one: (of: number) => boolean
  readonly between: (least: number, most: number) => number
}

function workload({ random, one, between }: Context): Step {
  return {
    atMs: between(0, LASTS_MS - 200),
    do: "publish",
    topic: random.pick(TOPICS),
    key: one(4) ? -1 : random.below(3),
    count: one(3) ? 1 : between(2, 12),
    everyMs: random.pick([0, 0, 1, 10, 100]),
    bytes: one(15) ? 300_000 : random.pick([30, 30, 100, 1000, random.below(20_000)]),
    timeoutMs: random.pick([100, 500, 2000]),
  }
}

/** Large records with little time. */
const burst = (atMs: number): Step => ({
  ...RECORDS,
  atMs,
  do: "publish",
  count: 4,
  bytes: 10_000,
  timeoutMs: 100,
})

const RECORDS = { topic: TOPICS[0]!, key: 0, everyMs: 5 }

const CALLS = [4, 12, 40]

/** One, or some that follow each other. */
function faults({ random, one, between }: Context): Step[] {
  const atMs = between(0, LASTS_MS - 300)
  const forMs = random.pick([5, 50, 400, 1500])
  const ending = random.pick<Crash>(["kill", "power"])
  const fail = (): Step => ({
    atMs,
    do: "fail",
    call: 1 + random.below(random.pick(CALLS)),
    count: random.pick([1, 1, 2, 3, 20]),
  })
  const halt = (how: Crash | "thread"): Step => ({
    atMs,
    do: "halt",
    call: 1 + random.below(random.pick(CALLS)),
    ending: how,
    forMs: random.pick([0, 1, 20, 1500]),
  })
  switch (random.below(14)) {
    case 0:
      return [fail()]
    case 1:
      return [fail(), fail(), fail()]
    case 2:
    case 3:
      // in the recovery
      return [fail(), halt("power")]
    case 4:
      return [halt(ending)]
    case 5:
      return [halt(ending), halt(ending)]
    case 6:
      return [halt("thread"), ...(one(2) ? [halt("power")] : [])]
    case 7:
      return [{ atMs, do: "crash", kind: ending }]
    case 8:
      // what waits for the disk may be lost with the process
      return [
        { atMs, do: "stall disk", forMs: random.pick([150, 700, 4000]) },
        ...(one(2) ? [{ atMs: atMs + between(1, 300), do: "crash", kind: ending } satisfies Step] : []),
        // or be written later than its senders waited for it
        ...(one(2) ? [burst(atMs + between(0, 50)), burst(atMs + between(100, 700))] : []),
      ]
    case 9:
      return [{ atMs, do: "slow disk", ms: random.pick([5, 60]), forMs: 1000 }]
    case 10:
      return [{ atMs, do: "fill disk", leftBytes: random.below(100_000), forMs }]
    case 11:
      return [{ atMs, do: "lock", file: random.below(3), forMs }]
    case 12:
      return [{ atMs, do: "read", file: random.below(3), forMs }, ...(one(2) ? [fail(), halt("power")] : [])]
    default:
      return one(3)
        ? [{ atMs, do: "stop" }]
        : one(2)
          ? [{ atMs, do: "set clock", byMs: random.pick([-3_600_000, 60_000]) }]
          : [{ atMs, do: "stall", forMs: random.pick([30, 300, 1500]) }]
  }
}

/** Half of the logs keep all. */
const retention = ({ random }: Context): Pick<StorageSettings, "retentionMs" | "retentionBytes"> =>
  random.pick<Pick<StorageSettings, "retentionMs" | "retentionBytes">>([
    {},
    {},
    { retentionMs: 1500 },
    { retentionBytes: 20_000 },
  ])

const YEAR_MS = 365 * 86_400_000

const setClock = ({ random, between }: Context): Step => ({
  atMs: between(0, LASTS_MS),
  do: "set clock",
  byMs: random.pick([YEAR_MS, -YEAR_MS, 2 * 86_400_000, -3_600_000, 2000, -2000]),
})

/** Beginning and end come before everything heals. */
const takeFiles = ({ random, between }: Context): Step => ({
  atMs: between(0, LASTS_MS / 2),
  do: "take files",
  how: random.pick(["remove", "rename", "replace", "overwrite"]),
  forMs: random.pick([20, 200, 700]),
})

const truncateWal = ({ random, between }: Context): Step => ({
  atMs: between(0, LASTS_MS / 2),
  do: "truncate WAL",
  share: random.pick([0, 0.3, 0.6, 0.99]),
  forMs: random.pick([20, 200, 700]),
})

/** Reads that fail from the n-th on, one that looks like damage, a few, or all of a time; and what has files read: a checkpoint, or an opening. */
function failReads({ random, between }: Context): Step[] {
  const atMs = between(0, LASTS_MS - 300)
  const fails: Step = {
    atMs,
    do: "fail reads",
    read: between(1, random.pick([4, 40])),
    count: random.pick([1, 3, 1_000_000]),
    forMs: random.pick([20, 400, 1500]),
  }
  const reads = random.pick<Step>([
    { ...RECORDS, atMs, do: "publish", count: 8, bytes: 300_000, timeoutMs: 1000 },
    { atMs, do: "fail", call: 1, count: 1 },
    { atMs, do: "crash", kind: "kill" },
  ])
  return [fails, reads]
}

/** A look that damages what it looks at. */
const withSector = (step: Step, { random }: Context): Step =>
  step.do === "look"
    ? {
        ...step,
        sector: {
          bytes: random.pick([512, 4096] as const),
          how: random.pick(["zeros", "noise", "an earlier version"] as const),
          at: random.next(),
          seed: random.below(2 ** 31),
        },
      }
    : step

const remote = ({ random, between }: Context): Step => ({
  atMs: between(0, LASTS_MS - 100),
  do: "remote",
  state: random.pick(["up", "up", "down", "silent"]),
  lostAnswers: random.pick([0, 0, 20]),
  refusedBatches: random.pick([0, 0, 30]),
})

const peers = ({ random, one, between }: Context): Step => ({
  atMs: between(0, LASTS_MS - 100),
  do: "peers",
  target: random.pick(["up", "up", "up", "down", "silent", "refusing", "overloaded"]),
  isLogDown: one(5),
})
