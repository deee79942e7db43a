import { describe, expect, test } from "bun:test"
import { pino } from "pino"
import type { PublishError } from "../errors.ts"
import type { Receipt } from "../record.ts"
import type { Metadata } from "./kafka-cluster.ts"
import type { Batch, Partition } from "./kafka-partition.ts"
import { Backlog, Waiting } from "./kafka-queue.ts"
import { Topic } from "./kafka-topic.ts"

const PRODUCER = 7n
const NONE = 0
const [UNKNOWN_TOPIC, NOT_LEADER, CORRUPT, OUT_OF_ORDER, DUPLICATE, INVALID_REQUEST] = [3, 6, 2, 45, 46, 42]
const ID_A = "aaaaaaaa-0000-0000-0000-000000000000"
const ID_B = "bbbbbbbb-0000-0000-0000-000000000000"
const NO_ID = "00000000-0000-0000-0000-000000000000"
const PLENTY = 1_000_000

/** A topic without a broker: what it asks for is kept, what it logs as well. */
class Fixture {
  readonly renewals: string[] = []
  /** When the topic was to be created. */
  readonly creations: number[] = []
  readonly errors: { readonly msg: string }[] = []
  readonly topic: Topic
  nowMs = 1000
  readonly #backlog = new Backlog()

  constructor() {
    const write = (line: string): void => {
      const told = JSON.parse(line) as { level: number; msg: string }
      if (told.level >= 50) this.errors.push(told)
    }
    this.topic = new Topic("t", {
      log: pino({}, { write }),
      metrics: { batch() {}, incident() {} },
      compression: "none",
      renewProducer: (reason) => void this.renewals.push(reason),
      limitChanged() {},
      create: () => void this.creations.push(this.nowMs),
      keylessWait() {},
      partitionWaits() {},
    })
  }

  /** Metadata that names so many partitions, or the leader epochs of each. */
  metadata(id: string, partitions: number | readonly number[], leader = 1): void {
    const epochs = typeof partitions === "number" ? Array<number>(partitions).fill(0) : partitions
    this.topic.update(
      {
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
      } satisfies Metadata["topics"][number],
      this.nowMs,
    )
  }

  absent(): void {
    const none = { isInternal: false, topicAuthorizedOperations: 0, partitions: [] }
    this.topic.update({ errorCode: UNKNOWN_TOPIC, name: "t", topicId: NO_ID, ...none }, this.nowMs)
  }

  /** Queues records for a partition and has it make a batch of them. */
  send(
    index: number,
    records = 1,
    producer = PRODUCER,
  ): { batch: Batch; answers: Promise<Receipt | PublishError>[] } {
    const partition = this.partition(index)
    const answers = Array.from({ length: records }, () => this.#queue(partition))
    return { batch: this.form(index, producer), answers }
  }

  form(index: number, producer = PRODUCER): Batch {
    const batch = this.partition(index).form(producer, false, PLENTY)!
    batch.inFlight = true
    return batch
  }

  partition(index: number): Partition {
    return this.topic.partitions[index]!
  }

  settle(batch: Batch, errorCode: number, offset = -1): void {
    batch.partition.settle(batch, errorCode, offset, this.nowMs)
  }

  #queue(partition: Partition): Promise<Receipt | PublishError> {
    return new Promise((resolve) => {
      const record = { topic: "t", key: Buffer.from("k"), value: Buffer.from("v") }
      partition.queue.push(new Waiting(record, Number.POSITIVE_INFINITY, this.#backlog, resolve, resolve))
    })
  }
}

/** Its place among the producer's batches, as the broker reads it. */
const placeOf = ({ bytes }: Batch): { producer: bigint; epoch: number; sequence: number } => ({
  producer: bytes.readBigInt64BE(43),
  epoch: bytes.readInt16BE(51),
  sequence: bytes.readInt32BE(53),
})

function started(partitions = 4): Fixture {
  const fixture = new Fixture()
  fixture.metadata(ID_A, partitions)
  return fixture
}

describe("the sequence of a partition", () => {
  test("goes on when metadata names fewer partitions and then all again", () => {
    const fixture = started(4)
    fixture.settle(fixture.send(3, 2).batch, NONE, 0)
    fixture.metadata(ID_A, 2)
    fixture.nowMs += 60_000
    fixture.metadata(ID_A, 2)
    expect(fixture.topic.partitions).toHaveLength(4)
    fixture.metadata(ID_A, 4)
    expect(placeOf(fixture.send(3).batch)).toEqual({ producer: PRODUCER, epoch: 0, sequence: 2 })
  })

  test("begins anew under a higher epoch when the topic was made anew, whatever its partitions", () => {
    const fixture = started(4)
    fixture.settle(fixture.send(3, 2).batch, NONE, 0)
    fixture.metadata(ID_B, 2)
    expect(fixture.topic.partitions).toHaveLength(2)
    fixture.metadata(ID_B, 4)
    expect(placeOf(fixture.send(3).batch)).toEqual({ producer: PRODUCER, epoch: 1, sequence: 0 })
  })

  test("begins anew under a higher epoch, at whatever offset, when the broker did not have the partition for a moment", async () => {
    const fixture = started()
    fixture.settle(fixture.send(0, 5).batch, NONE, 100)
    const { batch, answers } = fixture.send(0)
    fixture.settle(batch, UNKNOWN_TOPIC)
    fixture.settle(batch, NONE, 0)
    expect(await answers[0]).toEqual({ partition: 0, offset: 0 })
    expect(placeOf(fixture.send(0).batch)).toEqual({ producer: PRODUCER, epoch: 1, sequence: 0 })
    expect(fixture.errors).toEqual([])
  })

  test("begins anew only after what was under way when the topic was made anew", () => {
    const fixture = started()
    const { batch } = fixture.send(0, 3)
    fixture.metadata(ID_B, 4)
    fixture.settle(batch, NONE, 10)
    expect(placeOf(fixture.send(0).batch)).toEqual({ producer: PRODUCER, epoch: 1, sequence: 0 })
  })

  test("an id that the topic had before is believed only when nothing else is heard for 5 s", () => {
    const fixture = started(2)
    fixture.settle(fixture.send(0).batch, NONE, 0)
    fixture.metadata(ID_B, 4)
    fixture.metadata(ID_A, 2)
    expect(fixture.topic.partitions).toHaveLength(4)
    fixture.nowMs += 4000
    fixture.metadata(ID_B, 4)
    fixture.nowMs += 4000
    fixture.metadata(ID_A, 2)
    expect(fixture.topic.partitions).toHaveLength(4)
    fixture.nowMs += 5000
    fixture.metadata(ID_A, 2)
    expect(fixture.topic.partitions).toHaveLength(2)
    expect(placeOf(fixture.send(0).batch).epoch).toBe(1)
  })

  test("without topic ids, fewer partitions are believed only when nothing else is heard for 5 s", () => {
    const fixture = new Fixture()
    fixture.metadata(NO_ID, 4)
    fixture.settle(fixture.send(3).batch, NONE, 0)
    fixture.metadata(NO_ID, 2)
    expect(fixture.topic.partitions).toHaveLength(4)
    fixture.nowMs += 5000
    fixture.metadata(NO_ID, 2)
    expect(fixture.topic.partitions).toHaveLength(2)
    fixture.metadata(NO_ID, 4)
    expect(placeOf(fixture.send(3).batch)).toEqual({ producer: PRODUCER, epoch: 1, sequence: 0 })
  })

  test("begins at epoch 0 under another producer id", () => {
    const fixture = started()
    fixture.settle(fixture.send(0, 2).batch, NONE, 0)
    expect(placeOf(fixture.send(0, 1, 8n).batch)).toEqual({ producer: 8n, epoch: 0, sequence: 0 })
  })
})

test("a leader of an older epoch does not follow a newer one, unless nothing else is heard for 5 s", () => {
  const fixture = new Fixture()
  fixture.metadata(ID_A, [5], 1)
  fixture.metadata(ID_A, [6], 2)
  fixture.metadata(ID_A, [5], 1)
  expect(fixture.partition(0).leader).toBe(2)
  fixture.nowMs += 5000
  fixture.metadata(ID_A, [5], 1)
  expect(fixture.partition(0).leader).toBe(1)
})

describe("a batch is not acknowledged", () => {
  test.each([
    ["at the offset of the last record", 4],
    ["below the last record", 0],
  ])("that is said to be %s", async (_, offset) => {
    const fixture = started()
    fixture.settle(fixture.send(0, 5).batch, NONE, 0)
    const { batch, answers } = fixture.send(0, 1)
    fixture.settle(batch, NONE, offset)
    expect(await answers[0]).toMatchObject({ code: "unavailable" })
    expect(fixture.renewals).toHaveLength(1)
    expect(fixture.errors).toHaveLength(1)
    // a log that was truncated goes on from there
    fixture.settle(fixture.send(0, 1, 8n).batch, NONE, offset + 1)
    expect(fixture.errors).toHaveLength(1)
  })

  test("that is called a duplicate although it was sent once", async () => {
    const fixture = started()
    const { batch, answers } = fixture.send(0)
    fixture.settle(batch, DUPLICATE)
    expect(await answers[0]).toMatchObject({ code: "unavailable" })
    expect(fixture.renewals).toHaveLength(1)
  })

  test("that is called a duplicate after its connection was lost, is: it is in the log", async () => {
    const fixture = started()
    const { batch, answers } = fixture.send(0)
    batch.partition.lost(batch, fixture.nowMs)
    fixture.settle(batch, DUPLICATE)
    expect(await answers[0]).toEqual({ partition: 0, offset: -1 })
    expect(fixture.renewals).toEqual([])
  })
})

describe("a batch is tried a bounded number of times", () => {
  test("with an answer that says nothing of it, then its records are refused and the epoch goes up", async () => {
    const fixture = started()
    const { batch, answers } = fixture.send(0, 2)
    for (let tries = 1; tries < 8; tries++) {
      fixture.settle(batch, INVALID_REQUEST)
      expect(fixture.partition(0).batch).toBe(batch)
    }
    fixture.settle(batch, INVALID_REQUEST)
    for (const answer of answers) expect(await answer).toMatchObject({ code: "refused" })
    expect(((await answers[0]) as PublishError).message).toContain("42 (INVALID_REQUEST)")
    expect(fixture.errors).toHaveLength(1)
    expect(placeOf(fixture.send(0).batch)).toMatchObject({ epoch: 1, sequence: 0 })
  })

  test("when it is corrupt each time, then the record that is to blame is looked for", async () => {
    const fixture = started()
    const { batch, answers } = fixture.send(0, 2)
    for (let tries = 0; tries < 5; tries++) fixture.settle(batch, CORRUPT)
    const first = fixture.form(0)
    expect(first.items).toHaveLength(1)
    for (let tries = 0; tries < 5; tries++) fixture.settle(first, CORRUPT)
    fixture.settle(fixture.form(0), NONE, 0)
    expect(await answers[0]).toMatchObject({ code: "refused" })
    expect(await answers[1]).toEqual({ partition: 0, offset: 0 })
  })

  test("when a new epoch does not help; on the way another producer id is asked for, once", async () => {
    const fixture = started()
    const { batch, answers } = fixture.send(0)
    fixture.settle(batch, OUT_OF_ORDER)
    for (let tries = 2; tries <= 5; tries++) fixture.settle(fixture.form(0), OUT_OF_ORDER)
    expect(await answers[0]).toMatchObject({ code: "refused" })
    expect(fixture.renewals).toHaveLength(1)
  })

  test("but without an end while its leader moves", () => {
    const fixture = started()
    const { batch } = fixture.send(0)
    for (let tries = 0; tries < 1000; tries++) fixture.settle(batch, NOT_LEADER)
    expect(fixture.partition(0).batch).toBe(batch)
    expect(fixture.errors).toEqual([])
  })
})

test("a batch that a new leader was given meanwhile is not split because of the one before", async () => {
  const fixture = started()
  const { batch, answers } = fixture.send(0, 2)
  batch.partition.cannotBeSent(batch, 10)
  expect(fixture.partition(0).batch).toBe(batch)
  fixture.settle(batch, NONE, 0)
  expect(await Promise.all(answers)).toEqual([
    { partition: 0, offset: 0 },
    { partition: 0, offset: 1 },
  ])
})

describe("a topic that does not exist is to be created", () => {
  test("once, when the cluster does not allow it, and is missing then", () => {
    const fixture = new Fixture()
    fixture.absent()
    fixture.topic.created("auto.create.topics.enable is false", true, fixture.nowMs)
    for (let n = 0; n < 100; n++) {
      fixture.nowMs += 1000
      fixture.absent()
    }
    expect(fixture.creations).toHaveLength(1)
    expect(fixture.topic.problem()?.message).toContain("auto.create.topics.enable is false")
  })

  test("again and again, with longer and longer pauses, when that fails for a passing reason", () => {
    const fixture = new Fixture()
    for (let n = 0; n < 1200; n++) {
      const before = fixture.creations.length
      fixture.absent()
      if (fixture.creations.length > before) fixture.topic.created("no controller", false, fixture.nowMs)
      fixture.nowMs += 50
    }
    const pauses = fixture.creations.slice(1).map((ms, at) => ms - fixture.creations[at]!)
    expect(pauses).toEqual([1000, 2000, 4000, 8000, 16_000])
    expect(fixture.topic.state).toBe("missing")
  })

  test("never when it was there before", () => {
    const fixture = started()
    fixture.absent()
    fixture.nowMs += 1000
    fixture.absent()
    expect(fixture.creations).toEqual([])
    expect(fixture.topic.problem()?.message).toContain("was deleted")
  })
})
