import { hookline, type Variant } from "./hookline.ts"
import type { Case, Sample } from "./measure.ts"
import type { Target } from "./target.ts"
import { isHookline, targetNamed } from "./targets.ts"

/** A column of a table of samples; NaN leaves a cell empty. */
export type Column = readonly [
  head: string,
  /** A figure of a target's medians, which may be one beside those of the part's base. */
  of: (it: Sample, base: Sample | undefined) => number,
  digits: number,
]

/** Targets that are measured in turn under the same cases, each started once a round. */
export interface Part {
  readonly name: string
  readonly title: string
  readonly targets: readonly Target[]
  readonly cases: readonly Case[]
  /** What the others are compared with, and how. */
  readonly base: Target
  readonly compared: readonly Column[]
}

/** A closed loop of so many connections. */
export const closed = (connections: number, body: Case["body"] = "1.1 KB"): Case => {
  return { name: `${connections} connections, ${body}`, arrivals: { connections }, body }
}
const open = (rate: number): Case => ({ name: `${rate}/s`, arrivals: { rate }, body: "1.1 KB" })

function besideOthers(name: string, title: string, names: readonly string[], cases: readonly Case[]): Part {
  const targets = names.map(targetNamed)
  const base = targets.find(isHookline)!
  const to: Column = [
    "Hookline's CPU to it",
    (it, ours) => (ours?.cpuPerEvent ?? Number.NaN) / it.cpuPerEvent,
    2,
  ]
  return { name, title, targets, cases, base, compared: [to] }
}

const RECEIVERS = ["hookline", "go", "connect", "fastify", "bitswan"]

/** What docs/benchmarks.md shows. Peers are in the parts where they can be compared. */
export const pageParts: readonly Part[] = [
  besideOthers(
    "closed",
    "Closed loop",
    ["bare", "hookline", "hookline-hmac", "go", "connect", "fastify", "bitswan", "bitswan-queued"],
    [closed(64), closed(512)],
  ),
  besideOthers(
    "open",
    "Open loop",
    ["producer", "hookline", "hookline-hmac", "go", "connect", "fastify", "bitswan"],
    [open(2000), open(5000), open(10_000)],
  ),
  besideOthers("bodies", "Sizes of bodies", RECEIVERS, [
    closed(64, "200 B"),
    closed(64, "16 KB"),
    closed(64, "256 KB"),
  ]),
  besideOthers(
    "hmac",
    "With HMAC-SHA256 of the body",
    RECEIVERS.map((name) => `${name}-hmac`),
    [closed(64)],
  ),
  besideOthers("pipelines", "One pipeline and 500", ["hookline-one", "hookline-500"], [closed(64)]),
  besideOthers(
    "embedded",
    "The embedded log",
    ["bare", "embedded", "embedded-hmac"],
    [closed(64), closed(512)],
  ),
]

/** A part whose first target is what the others are compared with. */
function besideFirst(name: string, title: string, targets: readonly Target[], connections = 64): Part {
  const compared: readonly Column[] = [
    ["events/s to the first's", (it, base) => it.perSecond / (base?.perSecond ?? Number.NaN), 2],
    ["CPU to the first's", (it, base) => it.cpuPerEvent / (base?.cpuPerEvent ?? Number.NaN), 2],
    ["cores", (it) => (it.perSecond * it.cpuPerEvent) / 1e6, 2],
  ]
  return { name, title, targets, cases: [closed(connections)], base: targets[0]!, compared }
}

const scaled = (log: Variant["log"], what: string, more: Partial<Variant> = {}): Target => {
  const title = `${log === "kafka" ? "Kafka" : "embedded log"}, ${what}`
  return hookline({ name: title, title, log, ...more })
}

const [PARTITIONS, TOPICS, KEYS] = [500, 10_000, 200_000] as const

/** The load of one pipeline beside idle ones, each of these with a path and a topic of its own. */
const idle = (log: Variant["log"], pipelines: number): Target[] => [
  scaled(log, "one pipeline"),
  scaled(log, `${pipelines.toLocaleString("en")} pipelines`, { idle: pipelines - 1 }),
]

/** What is measured beside the page's parts. @param pipelines how many there are where it is about many */
export const otherParts = (pipelines: number): readonly Part[] => [
  besideFirst(
    "detail",
    "Beside a bare server",
    ["bare", "embedded", "embedded-hmac", "hookline", "hookline-hmac"].map(targetNamed),
  ),
  besideFirst("guard", "Limits beside a bare server", ["bare", "embedded", "hookline-hmac"].map(targetNamed)),
  besideFirst("idle", "Many pipelines, the embedded log", idle("embedded", pipelines)),
  besideFirst("idle-kafka", "Many pipelines, Kafka", idle("kafka", pipelines)),
  besideFirst("topics", "A Router that gives events one topic, or many in turn", [
    scaled("embedded", "one topic", { topics: 1 }),
    scaled("embedded", `${TOPICS.toLocaleString("en")} topics`, { topics: TOPICS }),
  ]),
  besideFirst("partitions", "Partitions and keys", [
    scaled("kafka", "one partition", { partitions: 1 }),
    scaled("kafka", `one partition, ${KEYS.toLocaleString("en")} keys`, { partitions: 1, keys: KEYS }),
    scaled("kafka", `${PARTITIONS} partitions, ${KEYS.toLocaleString("en")} keys`, {
      partitions: PARTITIONS,
      keys: KEYS,
    }),
  ]),
]
