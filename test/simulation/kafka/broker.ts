import type { SimulatedProcess } from "../simulated-process.ts"
import type { World } from "../world.ts"
import type { BrokerModel, ClusterModel, ReplicaModel } from "./model.ts"
import type { Image } from "./controller.ts"
import type { ServerSide } from "./network.ts"
import { PartitionReplica } from "./partition-replica.ts"
import { serve } from "./requests.ts"

/** A broker: its replicas, and the cluster as far as it has learnt of it. What it has on disk survives its crash. */
export class ModelBroker implements BrokerModel {
  readonly id: number
  readonly host: string
  readonly port = 9092
  readonly cluster: ClusterModel
  process: SimulatedProcess | undefined
  image: Image = { version: -1, topics: new Map(), brokers: new Set() }
  isCutOff = false
  /** How long after a change it learns of it, at least. */
  metadataDelayMs = 0
  throttleMs = 0
  late: BrokerModel["late"] = undefined
  unanswered = 0
  readonly replicas = new Map<string, PartitionReplica>()
  readonly #world: World

  constructor(cluster: ClusterModel, world: World, id: number) {
    this.cluster = cluster
    this.#world = world
    this.id = id
    this.host = `broker-${id}`
  }

  /** Whether others hear of it. */
  get isHeard(): boolean {
    return this.process !== undefined && !this.isCutOff && this.process.stalledUntilMs <= this.#world.nowMs
  }

  start(): void {
    if (this.process !== undefined) return
    this.process = this.#world.process(this.host)
    this.#world.tell(this.host, "started")
    this.image = { version: -1, topics: new Map(), brokers: new Set() }
    for (const replica of this.replicas.values()) replica.restart()
    // it registers when it has read its logs
    this.process.run(() => this.#tick(), 0)
  }

  crash(): void {
    this.process?.kill()
    this.process = undefined
  }

  accept(connection: ServerSide): void {
    serve(this, connection, this.#world)
  }

  /** Takes what the controller has told it. */
  learn(image: Image): void {
    if (image.version <= this.image.version) return
    this.image = image
    const ids = new Set<string>()
    for (const topic of image.topics.values()) {
      ids.add(topic.id)
      topic.partitions.forEach((state, index) => {
        if (!state.replicas.includes(this.id)) return
        const key = keyOf(topic.id, index)
        const replica = this.replicas.getOrInsertComputed(
          key,
          () => new PartitionReplica(this, this.#world, topic, index),
        )
        replica.update(state)
      })
    }
    for (const [key, replica] of this.replicas)
      if (!ids.has(replica.topic.id)) {
        this.replicas.delete(key)
        replica.remove()
      }
  }

  replica(name: string, index: number): PartitionReplica | undefined {
    const topic = this.image.topics.get(name)
    return topic && this.replicas.get(keyOf(topic.id, index))
  }

  fetch(leader: BrokerModel, theirs: ReplicaModel, leaderEpoch: number): void {
    const own = this.replicas.get(keyOf(theirs.topic.id, theirs.index))
    const isThere = leader.process !== undefined && leader.process.stalledUntilMs <= this.#world.nowMs
    const isReached = isThere && !leader.isCutOff && !this.isCutOff
    const isFollower =
      own?.leader === leader.id && own.leaderEpoch === leaderEpoch && theirs.leaderEpoch === leaderEpoch
    if (isReached && isFollower && theirs.isLeader) own.log.follow(theirs.log)
    const endOffset = isReached && isFollower && theirs.isLeader ? own.log.endOffset : undefined
    leader.process?.run(() => theirs.fetched(this.id, leaderEpoch, endOffset), this.cluster.peerDelayMs())
  }

  #tick(): void {
    for (const replica of this.replicas.values()) replica.tick()
    this.process!.run(() => this.#tick(), TICK_MS)
  }
}

const TICK_MS = 100
const keyOf = (topicId: string, index: number): string => `${topicId} ${index}`
