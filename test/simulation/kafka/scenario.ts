import { Random } from "../../support/random.ts"
import type { ClusterSettings } from "./model.ts"
import { RELEASES } from "./releases.ts"
import type { ServiceSettings } from "./service.ts"

type Direction = "toServer" | "toClient" | "both"

/** Something that happens; times in milliseconds. */
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
  | { readonly do: "restart"; readonly isKilled: boolean }
  | { readonly do: "delete"; readonly topic: string; readonly againMs: number; readonly partitions: number }
  | { readonly do: "grow"; readonly topic: string; readonly partitions: number }
  | { readonly do: "move"; readonly topic: string; readonly index: number; readonly pick: number }
  | {
      readonly do: "crash" | "stall broker" | "cut off" | "lag"
      readonly broker: number
      readonly forMs: number
    }
  | { readonly do: "throttle"; readonly broker: number; readonly forMs: number; readonly ms: number }
  | { readonly do: "slow peers"; readonly forMs: number; readonly ms: number }
  /** Of all brokers, until everything heals: together where they overlap, else each after the one before. */
  | {
      readonly do: "late acknowledgements"
      readonly ms: number
      readonly overlap: boolean
      readonly bytesPerMs?: number
    }
  | {
      readonly do: "slow"
      readonly broker: number
      readonly forMs: number
      readonly ms: number
      readonly direction: Direction
    }
  | { readonly do: "silence"; readonly broker: number; readonly forMs: number; readonly direction: Direction }
  | { readonly do: "cut"; readonly broker: number; readonly isLost: boolean }
  | { readonly do: "no answer"; readonly broker: number; readonly count: number }
  | {
      readonly do: "errors"
      readonly api: "produce" | "metadata"
      readonly code: number
      readonly count: number
      readonly isAppended: boolean
    }
  | { readonly do: "stall"; readonly forMs: number }
  | { readonly do: "set clock"; readonly byMs: number }
)

/** A run, complete: it can be kept in a file, and have steps taken out. */
export interface KafkaScenario {
  readonly simulation: "kafka"
  readonly seed: number
  readonly release: string
  readonly cluster: Omit<ClusterSettings, "release">
  readonly service: ServiceSettings
  readonly topics: readonly { readonly name: string; readonly partitions: number }[]
  readonly steps: readonly Step[]
  /** Whether brokers forget producers that have been idle, as they do after a day. */
  readonly forgets: boolean
  /** When everything heals. */
  readonly healMs: number
}

const LASTS_MS = 6000

export function scenarioOf(seed: number): KafkaScenario {
  const scenario = seed % SLOW_SEEDS === 0 ? slow(drawn(seed)) : drawn(seed)
  if (scenario.service.compression === "none") return scenario
  // small batches are compressed at once, large ones in a thread
  const larger = (step: Step): Step =>
    step.do === "publish" && step.bytes >= 100 ? { ...step, bytes: step.bytes * 20 } : step
  return { ...scenario, steps: scenario.steps.map(larger) }
}

/** One seed of so many is of brokers that acknowledge slowly, and do nothing else wrong. */
const SLOW_SEEDS = 10
/** The largest record then: where few fit into a batch, a partition can't take all of them in time. */
const SLOW_BYTES = 1500

/** The same workload, beside a steady one, on brokers that acknowledge slowly: what has the time for it is acknowledged. */
function slow(scenario: KafkaScenario): KafkaScenario {
  const random = new Random(scenario.seed * 40_503)
  const { name: topic, partitions } = scenario.topics[0]!
  const steady = {
    do: "publish",
    topic,
    key: random.pick([-1, 0, 1]),
    count: LASTS_MS / 20,
    everyMs: 20,
    bytes: 100,
    timeoutMs: 5000,
  } as const
  const late = {
    do: "late acknowledgements",
    ms: random.pick([50, 300, 700, 1500]),
    overlap: random.below(2) === 0,
  } as const
  return {
    ...scenario,
    cluster: { ...scenario.cluster, maxMessageBytes: 1_048_588, maxRequestBytes: 104_857_600 },
    service: { ...scenario.service, maxRequestBytes: undefined },
    topics: [{ name: topic, partitions }],
    steps: [
      { atMs: 0, ...late },
      { atMs: 50, ...steady },
      ...scenario.steps
        .filter((step) => step.do === "publish")
        .map((step) => Object.assign({}, step, { topic, bytes: Math.min(step.bytes, SLOW_BYTES) })),
    ],
  }
}

function drawn(seed: number): KafkaScenario {
  const random = new Random(seed * 2_654_435_761)
  const one = (of: number): boolean => random.below(of) === 0
  const between = (least: number, most: number): number => least + random.below(most - least + 1)
  const isLarge = one(12)
  const topics = Array.from({ length: between(1, 3) }, (_, at) => ({
    name: `topic-${at}`,
    partitions: between(1, 4),
  }))
  const brokers = one(6) ? 1 : 3
  const center = between(500, LASTS_MS - 1000)
  // half of what happens comes together
  const moment = (): number => (one(2) ? center + between(-300, 300) : between(50, LASTS_MS - 500))
  const context = { random, one, between, moment, topics, brokers, isLarge }
  const steps = [
    ...Array.from({ length: between(8, 18) }, () => workload(context)),
    ...Array.from({ length: one(6) ? 0 : one(6) ? between(8, 16) : between(1, 7) }, () => fault(context)),
  ]
  return {
    simulation: "kafka",
    seed,
    release: one(4) ? random.pick(["3.9", "2.4", "2.1"]) : "4.1",
    cluster: {
      brokers,
      minInsyncReplicas: brokers === 1 ? 1 : between(1, 2),
      defaultPartitions: between(1, 3),
      autoCreate: one(2),
      maxMessageBytes: one(10) ? 3000 : 1_048_588,
      maxRequestBytes: isLarge ? 90_000 : 104_857_600,
      replicaLagMs: random.pick([300, 800]),
      sessionMs: random.pick([400, 1000]),
    },
    service: {
      compression: one(12) ? "gzip" : "none",
      maxRequestBytes: one(8) ? 16_384 : 1_000_000,
      prepared: one(3) ? undefined : one(2) ? 1 : topics.length,
    },
    topics,
    steps: steps.toSorted((a, b) => a.atMs - b.atMs),
    forgets: one(4),
    healMs: LASTS_MS,
  }
}

interface Context {
  readonly random: Random
  readonly one: (of: number) => boolean
  readonly between: (least: number, most: number) => number
  readonly moment: () => number
  readonly topics: KafkaScenario["topics"]
  readonly brokers: number
  readonly isLarge: boolean
}

function workload({ random, one, between, moment, topics, isLarge }: Context): Step {
  const atMs = moment()
  const { name: topic } = random.pick(topics)
  return {
    atMs,
    do: "publish",
    topic,
    key: one(4) ? -1 : random.below(5),
    count: one(3) ? 1 : between(2, 10),
    everyMs: random.pick([0, 0, 1, 20, 150]),
    bytes: isLarge && one(3) ? 40_000 : random.pick([20, 20, 100, 1500]),
    timeoutMs: random.pick([300, 1000, 3000, 5000, 5000]),
  }
}

function fault({ random, one, between, moment, topics, brokers }: Context): Step {
  const atMs = moment()
  const topic = random.pick(topics)
  const broker = 1 + random.below(brokers)
  const forMs = random.pick([50, 300, 1000, 2500])
  const direction = random.pick<Direction>(["toServer", "toClient", "both"])
  switch (random.below(18)) {
    case 0:
      return { atMs, do: "restart", isKilled: one(2) }
    case 1:
      return {
        atMs,
        do: "delete",
        topic: topic.name,
        againMs: random.pick([0, 20, 300, 1500]),
        partitions: one(2) ? topic.partitions : between(1, 4),
      }
    case 2:
      return { atMs, do: "grow", topic: topic.name, partitions: topic.partitions + between(1, 2) }
    case 3:
    case 4:
      return {
        atMs,
        do: "move",
        topic: topic.name,
        index: random.below(topic.partitions),
        pick: random.below(6),
      }
    case 5:
      return { atMs, do: "crash", broker, forMs }
    case 6:
      return { atMs, do: "stall broker", broker, forMs }
    case 7:
      return { atMs, do: "cut off", broker, forMs }
    case 8:
    case 9:
      return { atMs, do: "lag", broker, forMs: random.pick([300, 1500, 4000]) }
    case 10:
      return { atMs, do: "throttle", broker, forMs, ms: random.pick([20, 200]) }
    case 11:
      return { atMs, do: "slow peers", forMs, ms: random.pick([5, 100, 2500]) }
    case 12:
      return { atMs, do: "slow", broker, forMs, ms: random.pick([10, 200, 1500]), direction }
    case 13:
      return { atMs, do: "silence", broker, forMs, direction }
    case 14:
      return { atMs, do: "cut", broker, isLost: one(2) }
    case 15:
      return { atMs, do: "no answer", broker, count: between(1, 3) }
    case 16:
      return { atMs, do: "errors", ...errors(random), count: between(1, 6) }
    default:
      return one(3)
        ? { atMs, do: "set clock", byMs: random.pick([-3_600_000, 60_000]) }
        : { atMs, do: "stall", forMs: random.pick([30, 300, 2000]) }
  }
}

function errors(random: Random): { api: "produce" | "metadata"; code: number; isAppended: boolean } {
  if (random.below(4) === 0) return { api: "metadata", code: random.pick(METADATA_CODES), isAppended: false }
  const code = random.pick(PRODUCE_CODES)
  return { api: "produce", code, isAppended: MAY_BE_APPENDED.includes(code) && random.below(2) === 0 }
}

const METADATA_CODES = [-1, 3, 5, 17, 29, 41, 87]
/** With these a broker may have appended the batch. */
const MAY_BE_APPENDED = [-1, 3, 6, 7, 13, 20, 42, 56, 99]
const REFUSALS = [
  2, 5, 9, 10, 14, 15, 16, 17, 18, 19, 21, 29, 31, 32, 43, 44, 45, 47, 49, 59, 72, 74, 75, 76, 80, 83, 87, 89,
  90, 100, 103,
]
const PRODUCE_CODES = [...MAY_BE_APPENDED, ...REFUSALS]

export const releaseOf = ({ release }: KafkaScenario): ClusterSettings["release"] => RELEASES[release]!
