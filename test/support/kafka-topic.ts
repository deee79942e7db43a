import { pino } from "pino"
import type { PublishError } from "../../src/errors.ts"
import { BatchMemory } from "../../src/brokers/kafka/batch-memory.ts"
import type { Metadata } from "../../src/brokers/kafka/metadata.ts"
import type { Batch, Partition } from "../../src/brokers/kafka/partition.ts"
import { type BatchLimits } from "../../src/brokers/kafka/accumulator.ts"
import { PendingRecord } from "../../src/brokers/kafka/pending-queue.ts"
import { ProducerId } from "../../src/brokers/kafka/epoch-and-sequence.ts"
import { RoundTrips } from "../../src/brokers/kafka/round-trips.ts"
import { Topic } from "../../src/brokers/kafka/topic.ts"
import type { Receipt } from "../../src/pipeline/record.ts"

export const PRODUCER = 7n
export const PLENTY = 1_000_000
export const ID_A = "aaaaaaaa-0000-0000-0000-000000000000"
export const NO_ID = "00000000-0000-0000-0000-000000000000"
const UNKNOWN_TOPIC = 3

/** A topic without a broker, with what it asks for and logs. */
export class TopicFixture {
  readonly renewals: string[] = []
  /** When the topic was to be created. */
  readonly creations: number[] = []
  readonly errors: { readonly msg: string }[] = []
  readonly warnings: string[] = []
  readonly topic: Topic
  readonly producerId: ProducerId
  readonly roundTrips = new RoundTrips()
  nowMs = 1000

  constructor(spools = false) {
    const write = (line: string): void => {
      const logged = JSON.parse(line) as { level: number; msg: string }
      if (logged.level >= 50) this.errors.push(logged)
      else if (logged.level >= 40) this.warnings.push(logged.msg)
      if (logged.msg === "requesting a new producer id") this.renewals.push(logged.msg)
    }
    const log = pino({}, { write })
    const metrics = { batch() {}, retried() {}, connected() {}, incident() {} }
    this.producerId = new ProducerId(log, metrics, () => (this.producerId.value = PRODUCER))
    this.producerId.value = PRODUCER
    this.topic = new Topic("t", {
      log,
      metrics,
      compression: "none",
      producerId: this.producerId,
      memory: new BatchMemory(),
      spools,
    })
  }

  /** Metadata with that many partitions, or the leader epochs of each. */
  metadata(id: string, partitions: number | readonly number[], leader = 1): void {
    const epochs = typeof partitions === "number" ? Array<number>(partitions).fill(0) : partitions
    this.#update({
      errorCode: 0,
      name: "t",
      topicId: id,
      isInternal: false,
      topicAuthorizedOperations: 0,
      partitions: epochs.map((leaderEpoch, partitionIndex) => ({
        errorCode: 0,
        partitionIndex,
        leaderId: leader,
        leaderEpoch,
        replicaNodes: [],
        isrNodes: [],
        offlineReplicas: [],
      })),
    })
  }

  absent(errorCode = UNKNOWN_TOPIC): void {
    const none = { isInternal: false, topicAuthorizedOperations: 0, partitions: [] }
    this.#update({ errorCode, name: "t", topicId: NO_ID, ...none })
  }

  #update(metadata: Metadata["topics"][number]): void {
    if (this.topic.update(metadata, this.nowMs)) this.creations.push(this.nowMs)
  }

  /** Queues records for a partition and has it make a batch of them. */
  send(
    index: number,
    records = 1,
    producer = PRODUCER,
    deadlineMs = Number.POSITIVE_INFINITY,
  ): { batch: Batch; answers: Promise<Receipt | PublishError>[] } {
    const partition = this.partition(index)
    const answers = Array.from({ length: records }, () => this.queue(partition, deadlineMs))
    return { batch: this.form(index, producer), answers }
  }

  form(index: number, producer = PRODUCER): Batch {
    return this.next(index, producer)!
  }

  /** The next batch to send; undefined: nothing is pending. */
  next(index: number, producer = PRODUCER): Batch | undefined {
    const partition = this.partition(index)
    const batch = partition.batch ?? partition.formBatch(producer, false, this.limits)
    if (batch !== undefined) batch.inFlight = true
    return batch
  }

  get limits(): Omit<BatchLimits, "records"> {
    return { bytes: PLENTY, nowMs: this.nowMs, roundTrips: this.roundTrips }
  }

  partition(index: number): Partition {
    return this.topic.partitions[index]!
  }

  settle(batch: Batch, errorCode: number, offset = -1): void {
    batch.partition.settle(batch, errorCode, offset, this.nowMs)
  }

  queue(
    partition: Partition,
    deadlineMs = Number.POSITIVE_INFINITY,
    value = "v",
  ): Promise<Receipt | PublishError> {
    return new Promise((resolve) => {
      const sourcePartition = { number: partition.index, of: this.topic.partitions.length }
      const record = { topic: "t", key: Buffer.from("k"), value: Buffer.from(value), sourcePartition }
      this.topic.add(new PendingRecord(record, deadlineMs, (error, receipt) => resolve(error ?? receipt!)))
    })
  }
}

/** Its place among the producer's batches, as the broker reads it. */
export const placeOf = ({
  bytes,
}: Pick<Batch, "bytes">): { producer: bigint; epoch: number; sequence: number } => ({
  producer: bytes.readBigInt64BE(43),
  epoch: bytes.readInt16BE(51),
  sequence: bytes.readInt32BE(53),
})

export function started(partitions = 4): TopicFixture {
  const fixture = new TopicFixture()
  fixture.metadata(ID_A, partitions)
  return fixture
}
