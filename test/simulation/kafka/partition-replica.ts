import type { World } from "../world.ts"
import { CODE } from "./codes.ts"
import type { PartitionState, TopicState } from "./controller.ts"
import type { Appended, BrokerModel, ReplicaModel } from "./model.ts"
import type { RecordBatch } from "./record-batches.ts"
import { ReplicaLog, type Entry } from "./replica-log.ts"

/** An append whose answer waits for the in-sync replicas. */
interface Waiting {
  readonly requiredOffset: number
  readonly answer: (errorCode: number) => void
}

interface Follower {
  /** -1: it has not fetched in this epoch. */
  endOffset: number
  caughtUpMs: number
  isFetching: boolean
}

/**
 * A partition on one of its brokers: leader or follower, as far as the broker knows. A leader appends, has followers fetch,
 * and answers when all that are in sync have the batch (acks=all).
 */
export class PartitionReplica implements ReplicaModel {
  readonly log: ReplicaLog
  leader = -1
  leaderEpoch = -1
  isr: readonly number[] = []
  readonly topic: TopicState
  readonly index: number
  readonly #broker: BrokerModel
  readonly #world: World
  readonly #followers = new Map<number, Follower>()
  #waiting: Waiting[] = []

  constructor(broker: BrokerModel, world: World, topic: TopicState, index: number) {
    this.#broker = broker
    this.#world = world
    this.topic = topic
    this.index = index
    this.log = new ReplicaLog(broker.cluster.settings.release.isStrict)
  }

  get isLeader(): boolean {
    return this.leader === this.#broker.id
  }

  /** Takes what the broker has learnt. */
  update({ leader, leaderEpoch, isr, replicas }: PartitionState): void {
    if (leaderEpoch === this.leaderEpoch && this.isLeader) this.isr = isr
    if (leaderEpoch > this.leaderEpoch) {
      this.leaderEpoch = leaderEpoch
      this.leader = leader
      this.isr = isr
      this.#giveUp(CODE.NOT_LEADER_OR_FOLLOWER)
      this.#followers.clear()
      if (this.isLeader)
        for (const id of replicas)
          if (id !== this.#broker.id)
            this.#followers.set(id, { endOffset: -1, caughtUpMs: this.#world.nowMs, isFetching: false })
    }
    if (!this.isLeader) return
    this.#advance()
    this.replicate()
  }

  /** The broker has restarted: it knows its log, and learns the rest. */
  restart(): void {
    this.leader = -1
    this.leaderEpoch = -1
    this.#waiting = []
    this.#followers.clear()
  }

  /** The topic was deleted. */
  remove(): void {
    this.leader = -1
    this.#giveUp(CODE.UNKNOWN_TOPIC_OR_PARTITION)
  }

  has(batch: RecordBatch): boolean {
    const known = this.log.judge(batch)
    return known !== undefined && "offset" in known
  }

  refusalOf(batch: RecordBatch): number | undefined {
    if (this.isr.length < this.#broker.cluster.settings.minInsyncReplicas) return CODE.NOT_ENOUGH_REPLICAS
    const known = this.log.judge(batch)
    return known !== undefined && "error" in known ? known.error : undefined
  }

  append(
    batch: RecordBatch,
    { acks, timeoutMs }: { acks: number; timeoutMs: number },
    answer: (appended: Appended) => void,
  ): void {
    const known = this.log.judge(batch) as { readonly offset: number } | undefined
    const baseOffset = known?.offset ?? this.log.endOffset
    if (known === undefined) this.log.append({ baseOffset, leaderEpoch: this.leaderEpoch, batch })
    const waiting = {
      requiredOffset: baseOffset + batch.records.length,
      answer: (errorCode: number) =>
        answer({ errorCode, baseOffset: errorCode === CODE.NONE ? baseOffset : -1 }),
    }
    if (acks === ALL_IN_SYNC) this.#waiting.push(waiting)
    else waiting.answer(CODE.NONE)
    this.#advance()
    this.replicate()
    if (!this.#waiting.includes(waiting)) return
    this.#broker.process!.run(() => {
      if (!this.#waiting.includes(waiting)) return
      this.#waiting = this.#waiting.filter((one) => one !== waiting)
      waiting.answer(CODE.REQUEST_TIMED_OUT)
    }, timeoutMs)
  }

  /** Has followers fetch what they lack. */
  replicate(): void {
    for (const [id, follower] of this.#followers) {
      if (follower.isFetching || (follower.endOffset === this.log.endOffset && this.isr.includes(id)))
        continue
      const other = this.#broker.cluster.brokers.get(id)!
      if (other.process === undefined) continue
      follower.isFetching = true
      const { leaderEpoch } = this
      other.process.run(
        () => other.fetch(this.#broker, this, leaderEpoch),
        this.#broker.cluster.peerDelayMs(),
      )
    }
  }

  fetched(id: number, leaderEpoch: number, endOffset: number | undefined): void {
    const follower = this.#followers.get(id)
    if (follower === undefined || leaderEpoch !== this.leaderEpoch) return
    follower.isFetching = false
    if (endOffset === undefined) return
    follower.endOffset = endOffset
    if (endOffset >= this.log.endOffset) follower.caughtUpMs = this.#world.nowMs
    if (!this.isr.includes(id) && endOffset >= this.log.highWatermark) this.#alter({ add: id })
    this.#advance()
    this.replicate()
  }

  /** Looks after its followers, now and then. */
  tick(): void {
    if (!this.isLeader) return
    for (const [id, follower] of this.#followers) {
      follower.isFetching = false
      const isBehind = follower.endOffset < this.log.endOffset
      const isLate = this.#world.nowMs - follower.caughtUpMs > this.#broker.cluster.settings.replicaLagMs
      if (isBehind && isLate && this.isr.includes(id)) this.#alter({ remove: id })
    }
    this.#advance()
    this.replicate()
  }

  #alter(change: { readonly add?: number; readonly remove?: number }): void {
    if (this.#broker.isCutOff) return
    const { id, name } = this.topic
    const at = { id, name, index: this.index, leaderEpoch: this.leaderEpoch }
    this.isr = this.#broker.cluster.controller.alterIsr(this.#broker.id, at, change) ?? this.isr
  }

  #advance(): void {
    let offset = this.log.endOffset
    for (const id of this.isr)
      if (id !== this.#broker.id) offset = Math.min(offset, this.#followers.get(id)?.endOffset ?? -1)
    if (offset > this.log.highWatermark) {
      const from = this.log.highWatermark
      this.log.highWatermark = offset
      const isNew = ({ baseOffset }: Entry): boolean => baseOffset >= from && baseOffset < offset
      this.#broker.cluster.onCommitted(this.topic, this.index, this.log.entries.filter(isNew))
    }
    if (this.#waiting.length === 0) return
    const { highWatermark } = this.log
    const done = this.#waiting.filter(({ requiredOffset }) => requiredOffset <= highWatermark)
    if (done.length === 0) return
    this.#waiting = this.#waiting.filter(({ requiredOffset }) => requiredOffset > highWatermark)
    const isEnough = this.isr.length >= this.#broker.cluster.settings.minInsyncReplicas
    for (const { answer } of done) answer(isEnough ? CODE.NONE : CODE.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
  }

  #giveUp(errorCode: number): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const { answer } of waiting) answer(errorCode)
  }
}

const ALL_IN_SYNC = -1
