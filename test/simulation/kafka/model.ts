import type { SimulatedProcess } from "../simulated-process.ts"
import type { Controller, Image, TopicState } from "./controller.ts"
import type { RecordBatch } from "./record-batches.ts"
import type { Release } from "./releases.ts"
import type { Entry, ReplicaLog } from "./replica-log.ts"

/* What the parts of the model of a cluster know of each other. */

export interface ClusterSettings {
  readonly brokers: number
  readonly release: Release
  readonly minInsyncReplicas: number
  readonly defaultPartitions: number
  readonly autoCreate: boolean
  /** max.message.bytes of all topics. */
  readonly maxMessageBytes: number
  /** socket.request.max.bytes: the connection is closed on a larger request. */
  readonly maxRequestBytes: number
  /** replica.lag.time.max.ms */
  readonly replicaLagMs: number
  /** Without a heartbeat for so long a broker is fenced. */
  readonly sessionMs: number
}

export interface ClusterModel {
  readonly settings: ClusterSettings
  readonly controller: Controller
  readonly brokers: ReadonlyMap<number, BrokerModel>
  /** Called with what all in-sync replicas have, in the order of offsets; with some of it again after a leader changed. */
  readonly onCommitted: (topic: TopicState, index: number, entries: readonly Entry[]) => void
  /** Called with what a leader has not appended. */
  readonly onRefused: (topic: string, index: number, batch: RecordBatch) => void
  /** Gives the answer to a batch that the broker does not have, in the place of the broker's. */
  readonly faultyAnswer: (() => { errorCode: number; isAppended: boolean } | undefined) | undefined
  /** The error code of a topic in the place of its metadata. */
  readonly faultyMetadata: (() => number | undefined) | undefined
  newProducerId(): number
  /** How long something takes from one broker to another. */
  peerDelayMs(): number
}

export interface BrokerModel {
  readonly id: number
  readonly host: string
  readonly port: number
  readonly cluster: ClusterModel
  /** Undefined: it is down. */
  readonly process: SimulatedProcess | undefined
  /** What it has learnt of the cluster. */
  readonly image: Image
  /** Neither the controller nor other brokers reach it, clients do. */
  readonly isCutOff: boolean
  /** Milliseconds for which responses ask clients to wait, and for which their connections are not read. */
  readonly throttleMs: number
  /** By how much acknowledgements are late; `bytesPerMs`: and more by the size of the request, as under a quota. */
  readonly late:
    | { readonly ms: number; readonly overlap: boolean; readonly bytesPerMs?: number | undefined }
    | undefined
  /** So many produce requests it does not answer: the connection breaks when it has carried them out. */
  unanswered: number
  /** The partition as this broker has it. @returns undefined: it is not there */
  replica(name: string, index: number): ReplicaModel | undefined
  /** Fetches from a leader, as its follower. */
  fetch(leader: BrokerModel, theirs: ReplicaModel, leaderEpoch: number): void
}

export interface ReplicaModel {
  readonly topic: TopicState
  readonly index: number
  readonly log: ReplicaLog
  readonly leader: number
  readonly leaderEpoch: number
  readonly isLeader: boolean
  /** Whether it knows a batch as one that it has. */
  has(batch: RecordBatch): boolean
  /** Why it does not take a batch. */
  refusalOf(batch: RecordBatch): number | undefined
  /** Appends a batch that is not refused, unless it has it. */
  append(batch: RecordBatch, request: Acknowledgement, answer: (appended: Appended) => void): void
  /** A follower's fetch has arrived, or has failed. @param endOffset undefined: it has not fetched */
  fetched(id: number, leaderEpoch: number, endOffset: number | undefined): void
}

/** What a produce request asks for. */
interface Acknowledgement {
  /** -1: by all in-sync replicas. */
  readonly acks: number
  /** After which the answer is REQUEST_TIMED_OUT. */
  readonly timeoutMs: number
}

export interface Appended {
  readonly errorCode: number
  /** -1 with an error. */
  readonly baseOffset: number
}
