import type { Random } from "../../support/random.ts"
import type { World } from "../world.ts"

export interface PartitionState {
  readonly replicas: readonly number[]
  /** -1: none of its in-sync replicas is there. */
  readonly leader: number
  readonly leaderEpoch: number
  readonly isr: readonly number[]
}

export interface TopicState {
  /** 16 bytes in base64url. */
  readonly id: string
  readonly name: string
  readonly partitions: readonly PartitionState[]
}

/** The cluster as one broker knows it; brokers learn of changes at different times. */
export interface Image {
  readonly version: number
  readonly topics: ReadonlyMap<string, TopicState>
  readonly brokers: ReadonlySet<number>
}

/**
 * Who leads what: elects leaders from the in-sync replicas, as a KRaft controller does, and tells brokers. It never fails
 * itself; brokers can be cut off from it.
 */
export class Controller {
  image: Image = { version: 0, topics: new Map(), brokers: new Set() }
  readonly #world: World
  readonly #random: Random
  readonly #brokers: readonly number[]
  readonly #onChange: () => void

  constructor(world: World, brokers: readonly number[], onChange: () => void) {
    this.#world = world
    this.#random = world.randomOf("controller")
    this.#brokers = brokers
    this.#onChange = onChange
  }

  /** A broker has registered. */
  unfence(broker: number): void {
    if (this.image.brokers.has(broker)) return
    this.#world.tell("controller", `broker ${broker} registered`)
    this.#change(new Set([...this.image.brokers, broker]), (state) =>
      state.leader < 0 && state.isr.includes(broker) ? elected(state, broker) : state,
    )
  }

  /** A broker is gone, or was not heard of for too long. */
  fence(broker: number): void {
    if (!this.image.brokers.has(broker)) return
    this.#world.tell("controller", `broker ${broker} fenced`)
    const left = new Set([...this.image.brokers].filter((one) => one !== broker))
    this.#change(left, (state) => {
      const isr = state.isr.filter((one) => one !== broker)
      if (state.leader !== broker) return isr.length === 0 ? state : { ...state, isr }
      const next = isr.find((one) => left.has(one))
      return next === undefined ? { ...elected(state, -1), isr: [broker] } : { ...elected(state, next), isr }
    })
  }

  /** Another in-sync replica leads. @param pick of those that may */
  moveLeader(topic: string, index: number, pick: number): void {
    const state = this.image.topics.get(topic)?.partitions[index]
    const others = state?.isr.filter((one) => one !== state.leader && this.image.brokers.has(one)) ?? []
    if (state === undefined || others.length === 0) return
    const next = others[pick % others.length]!
    this.#world.tell("controller", `${topic}-${index}: leader ${next}, epoch ${state.leaderEpoch + 1}`)
    this.#changePartition(topic, index, elected(state, next))
  }

  /** A leader changes its in-sync replicas. @returns those that are in sync now; undefined: it leads no more */
  alterIsr(
    leader: number,
    { id, name, index, leaderEpoch }: { id: string; name: string; index: number; leaderEpoch: number },
    change: { readonly add?: number; readonly remove?: number },
  ): readonly number[] | undefined {
    const topic = this.image.topics.get(name)
    const state = topic?.id === id ? topic.partitions[index] : undefined
    if (state?.leader !== leader || state.leaderEpoch !== leaderEpoch) return undefined
    const { add, remove } = change
    const kept = state.isr.filter((one) => one !== remove)
    const isr =
      add === undefined || kept.includes(add) || !this.image.brokers.has(add) ? kept : [...kept, add]
    if (isr.length !== state.isr.length) {
      this.#world.tell("controller", `${name}-${index}: in sync ${isr.join(" ")}`)
      this.#changePartition(name, index, { ...state, isr })
    }
    return isr
  }

  create(name: string, partitions: number): TopicState {
    const bytes = Buffer.alloc(16)
    for (let at = 0; at < 16; at++) bytes[at] = this.#random.below(256)
    const topic = { id: bytes.toString("base64url"), name, partitions: [] }
    this.#world.tell("controller", `topic ${name} created, ${partitions} partitions`)
    this.#put({
      ...topic,
      partitions: Array.from({ length: partitions }, (_, index) => this.#partition(index)),
    })
    return topic
  }

  grow(name: string, partitions: number): void {
    const topic = this.image.topics.get(name)
    if (topic === undefined || topic.partitions.length >= partitions) return
    this.#world.tell("controller", `topic ${name} has ${partitions} partitions`)
    const more = Array.from({ length: partitions - topic.partitions.length }, (_, at) =>
      this.#partition(topic.partitions.length + at),
    )
    this.#put({ ...topic, partitions: [...topic.partitions, ...more] })
  }

  delete(name: string): void {
    if (!this.image.topics.has(name)) return
    this.#world.tell("controller", `topic ${name} deleted`)
    const topics = new Map(this.image.topics)
    topics.delete(name)
    this.#become({ topics })
  }

  #partition(index: number): PartitionState {
    const from = (index + this.#random.below(this.#brokers.length)) % this.#brokers.length
    const replicas = [...this.#brokers.slice(from), ...this.#brokers.slice(0, from)]
    const isr = replicas.filter((one) => this.image.brokers.has(one))
    return { replicas, leader: isr[0] ?? -1, leaderEpoch: 0, isr: isr.length === 0 ? replicas : isr }
  }

  #put(topic: TopicState): void {
    this.#become({ topics: new Map([...this.image.topics, [topic.name, topic]]) })
  }

  #changePartition(name: string, index: number, state: PartitionState): void {
    const topic = this.image.topics.get(name)!
    this.#put({ ...topic, partitions: topic.partitions.with(index, state) })
  }

  #change(brokers: ReadonlySet<number>, change: (state: PartitionState) => PartitionState): void {
    const topics = [...this.image.topics].map(
      ([name, topic]) => [name, { ...topic, partitions: topic.partitions.map(change) }] as const,
    )
    this.#become({ brokers, topics: new Map(topics) })
  }

  #become(change: Partial<Image>): void {
    this.image = { ...this.image, ...change, version: this.image.version + 1 }
    this.#onChange()
  }
}

const elected = (state: PartitionState, leader: number): PartitionState => ({
  ...state,
  leader,
  leaderEpoch: state.leaderEpoch + 1,
})
