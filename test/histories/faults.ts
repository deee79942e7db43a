import { steadyMs } from "../../src/clock/clock.ts"
import { kafkaTool } from "../support/kafka-clients.ts"
import type { Random } from "../support/random.ts"
import {
  addPartition,
  BROKERS,
  controllerOf,
  MIN_IN_SYNC,
  PARTITIONS,
  reassign,
  setMinInsyncReplicas,
  type Cluster,
} from "./cluster.ts"
import type { Machine, Network } from "./network.ts"
import type { Kinds, Subject } from "./plan.ts"
import type { Readers } from "./readers.ts"
import { TOPICS, type Service } from "./service.ts"

/** All that a fault may harm. */
export interface Harmed {
  readonly cluster: Cluster
  readonly network: Network
  readonly service: Service
  readonly readers: Readers
  /** How many partitions each topic has. */
  readonly partitions: Map<string, number>
}

/** A fault that has begun: on what, and what ends it. */
interface Begun {
  readonly on: string
  readonly end: () => Promise<void> | void
}

interface Kind {
  readonly subject: Subject
  readonly forMs: readonly [least: number, most: number]
  readonly begin: (harmed: Harmed, random: Random) => Promise<Begun>
}

/** Clocks differ by less than the hour after which Kafka refuses timestamps. */
const CLOCK_OFF_S = 25 * 60
const MOST_PARTITIONS = PARTITIONS + 3
const LOSSY = 0.3
/** What the cluster has to be asked for until it does it. */
const INSIST_MS = 120_000

const all = Array.from({ length: BROKERS }, (_, at) => at)
const anyBroker = (random: Random): number => random.below(BROKERS)
const othersOf = (broker: number): number[] => all.filter((at) => at !== broker)
const id = (broker: number): number => broker + 1

function shuffled(random: Random): number[] {
  const left = all.map(id)
  return all.map(() => left.splice(random.below(left.length), 1)[0]!)
}

const offsetS = (random: Random): number => Math.round((random.next() * 2 - 1) * CLOCK_OFF_S)

/** A broker that a fault falls on: any, or the active controller. */
type Choice = (harmed: Harmed, random: Random) => Promise<number> | number
const any: Choice = (_, random) => anyBroker(random)
const controller: Choice = ({ cluster }) => controllerOf(cluster)

const paused =
  (choose: Choice): Kind["begin"] =>
  async (harmed, random) => {
    const broker = await choose(harmed, random)
    const node = harmed.cluster.kafka.nodes[broker]!
    node.pause()
    return { on: `broker ${id(broker)}`, end: () => node.resume() }
  }

const ended =
  (choose: Choice, how: "kill" | "shutDown"): Kind["begin"] =>
  async (harmed, random) => {
    const broker = await choose(harmed, random)
    const node = harmed.cluster.kafka.nodes[broker]!
    await node[how]()
    return { on: `broker ${id(broker)}`, end: () => node.start() }
  }

/** Drops what some send to others. */
async function dropped(
  { network }: Harmed,
  links: readonly (readonly [from: Machine, to: Machine])[],
  on: string,
  share = 1,
): Promise<Begun> {
  const heals: (() => Promise<void>)[] = []
  for (const [from, to] of links) heals.push(await network.drop(from, to, share))
  const end = async (): Promise<void> => {
    for (const heal of heals) await heal()
  }
  return { on, end }
}

/** The links between a broker and all others, by what the broker loses: what it sends, what it is sent, or both. */
const cutOff =
  (sends: boolean, hears: boolean, share = 1): Kind["begin"] =>
  (harmed, random) => {
    const { machines } = harmed.cluster
    const broker = anyBroker(random)
    const links = othersOf(broker).flatMap((other) => [
      ...(sends ? [[machines[broker]!, machines[other]!] as const] : []),
      ...(hears ? [[machines[other]!, machines[broker]!] as const] : []),
    ])
    return dropped(harmed, links, `broker ${id(broker)}`, share)
  }

const link =
  (both: boolean): Kind["begin"] =>
  (harmed, random) => {
    const { machines } = harmed.cluster
    const from = anyBroker(random)
    const to = random.pick(othersOf(from))
    const there = [machines[from]!, machines[to]!] as const
    const links = both ? [there, [there[1], there[0]] as const] : [there]
    return dropped(harmed, links, `broker ${id(from)} to ${both ? "and from " : ""}${id(to)}`)
  }

/** The links between Hookline and some brokers, by what is lost. */
const fromHookline =
  (requests: boolean, answers: boolean, howMany: "one" | "all"): Kind["begin"] =>
  (harmed, random) => {
    const { machine } = harmed.service
    const brokers = howMany === "all" ? all : [anyBroker(random)]
    const links = brokers.flatMap((broker) => {
      const other = harmed.cluster.machines[broker]!
      return [
        ...(requests ? [[machine, other] as const] : []),
        ...(answers ? [[other, machine] as const] : []),
      ]
    })
    return dropped(harmed, links, `Hookline and broker ${brokers.map(id).join(", ")}`)
  }

const restarted =
  (signal: "SIGKILL" | "SIGTERM"): Kind["begin"] =>
  async ({ service }) => {
    await service.end(signal)
    return { on: "Hookline", end: () => service.start() }
  }

/** Asks for something again and again until it is done, since the cluster may be disturbed by another fault. */
async function insist(ask: () => Promise<void>): Promise<void> {
  const endMs = steadyMs() + INSIST_MS
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (steadyMs() > endMs) throw error
      await Bun.sleep(500)
    }
  }
}

export const KINDS: Kinds & { readonly [kind: string]: Kind } = {
  "broker paused": { subject: "brokers", forMs: [500, 12_000], begin: paused(any) },
  "broker killed": { subject: "brokers", forMs: [0, 6000], begin: ended(any, "kill") },
  "broker restarted": { subject: "brokers", forMs: [0, 3000], begin: ended(any, "shutDown") },
  "controller paused": { subject: "brokers", forMs: [1000, 10_000], begin: paused(controller) },
  "controller killed": { subject: "brokers", forMs: [0, 5000], begin: ended(controller, "kill") },
  "two brokers paused: too few in sync": {
    subject: "brokers",
    forMs: [2000, 9000],
    async begin({ cluster }, random) {
      const paused = othersOf(anyBroker(random))
      for (const broker of paused) cluster.kafka.nodes[broker]!.pause()
      const end = (): void => paused.forEach((broker) => cluster.kafka.nodes[broker]!.resume())
      return { on: `brokers ${paused.map(id).join(", ")}`, end }
    },
  },
  "all brokers killed": {
    subject: "brokers",
    forMs: [0, 2000],
    async begin({ cluster: { kafka } }) {
      await Promise.all(kafka.nodes.map((node) => node.kill()))
      return { on: "all", end: async () => void (await Promise.all(kafka.nodes.map((node) => node.start()))) }
    },
  },
  "link between two brokers cut": { subject: "brokers", forMs: [2000, 12_000], begin: link(true) },
  "link between two brokers cut, one way": { subject: "brokers", forMs: [2000, 12_000], begin: link(false) },
  "broker cut off from the others": { subject: "brokers", forMs: [2000, 12_000], begin: cutOff(true, true) },
  "broker not heard by the others": { subject: "brokers", forMs: [2000, 12_000], begin: cutOff(true, false) },
  "broker that hears no others": { subject: "brokers", forMs: [2000, 12_000], begin: cutOff(false, true) },
  "packets between brokers lost": {
    subject: "brokers",
    forMs: [3000, 12_000],
    begin: cutOff(true, true, LOSSY),
  },
  "clock of a broker set": {
    subject: "brokers",
    forMs: [2000, 10_000],
    async begin({ cluster }, random) {
      const broker = anyBroker(random)
      const [ahead, clock] = [offsetS(random), cluster.clocks[broker]!]
      clock.set(ahead)
      return { on: `broker ${id(broker)} by ${ahead} s`, end: () => clock.set(0) }
    },
  },
  "Hookline killed": { subject: "service", forMs: [0, 2000], begin: restarted("SIGKILL") },
  "Hookline stopped": { subject: "service", forMs: [0, 1000], begin: restarted("SIGTERM") },
  "Hookline paused": {
    subject: "service",
    forMs: [500, 12_000],
    async begin({ service }) {
      service.signal("SIGSTOP")
      return { on: "Hookline", end: () => service.signal("SIGCONT") }
    },
  },
  "clock of Hookline set": {
    subject: "service",
    forMs: [1000, 8000],
    async begin({ service }, random) {
      const [ahead, clock] = [offsetS(random), service.clock]
      clock.set(ahead)
      return { on: `Hookline by ${ahead} s`, end: () => clock.set(0) }
    },
  },
  "Hookline cut off from a broker": {
    subject: "service",
    forMs: [1000, 12_000],
    begin: fromHookline(true, true, "one"),
  },
  "requests to a broker lost": {
    subject: "service",
    forMs: [1000, 12_000],
    begin: fromHookline(true, false, "one"),
  },
  "answers of a broker lost": {
    subject: "service",
    forMs: [1000, 12_000],
    begin: fromHookline(false, true, "one"),
  },
  "Hookline cut off from all brokers": {
    subject: "service",
    forMs: [1000, 8000],
    begin: fromHookline(true, true, "all"),
  },
  "answers of all brokers lost": {
    subject: "service",
    forMs: [1000, 8000],
    begin: fromHookline(false, true, "all"),
  },
  "partitions reassigned": {
    subject: "service",
    forMs: [2000, 8000],
    async begin({ cluster, partitions }, random) {
      const topic = random.pick(Object.keys(TOPICS))
      const each = Array.from({ length: partitions.get(topic)! }, (_, partition) => ({
        partition,
        fewer: shuffled(random).slice(1),
        ids: shuffled(random),
      }))
      await reassign(
        cluster,
        topic,
        each.map(({ partition, fewer }) => ({ partition, ids: fewer })),
      )
      return {
        on: `${topic}, to two replicas, then three`,
        end: () => insist(() => reassign(cluster, topic, each)),
      }
    },
  },
  "preferred leaders elected": {
    subject: "service",
    forMs: [0, 0],
    async begin({ cluster }) {
      const wanted = ["--election-type", "preferred", "--all-topic-partitions"]
      await kafkaTool("LeaderElectionCommand", cluster.kafka.bootstrapServers.join(","), ...wanted)
      return { on: "all partitions", end: () => {} }
    },
  },
  "partition added": {
    subject: "service",
    forMs: [0, 0],
    async begin({ cluster, partitions, readers }, random) {
      const topic = random.pick(Object.keys(TOPICS))
      const before = partitions.get(topic)!
      if (before === MOST_PARTITIONS) throw new Error(`${topic} has ${before} partitions, which is enough`)
      await addPartition(cluster, topic, before + 1, shuffled(random))
      partitions.set(topic, before + 1)
      readers.follow(topic, before)
      return { on: topic, end: () => {} }
    },
  },
  "min.insync.replicas set to 3": {
    subject: "service",
    forMs: [2000, 10_000],
    async begin({ cluster }, random) {
      const topic = random.pick(Object.keys(TOPICS))
      await setMinInsyncReplicas(cluster, topic, BROKERS)
      return { on: topic, end: () => insist(() => setMinInsyncReplicas(cluster, topic, MIN_IN_SYNC)) }
    },
  },
}
