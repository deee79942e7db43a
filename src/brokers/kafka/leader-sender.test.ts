import { afterEach, describe, expect, spyOn, test } from "bun:test"
import { Writer } from "./client-library.ts"
import { pino } from "pino"
import { readProduce } from "../../../test/support/kafka-frames.ts"
import { placeOf } from "../../../test/support/kafka-topic.ts"
import { VirtualTime } from "../../../test/support/virtual-time.ts"
import type { PublishError } from "../../errors.ts"
import type { Receipt } from "../../pipeline/record.ts"
import { AdaptiveTimeout } from "./adaptive-timeout.ts"
import { CONNECT_TIMEOUT_MS } from "./timeouts.ts"
import { BatchMemory } from "./batch-memory.ts"
import type { BrokerSocket } from "./broker-socket.ts"
import { THREADS } from "./compression.ts"
import { LeaderSender } from "./leader-sender.ts"
import { PendingRecord } from "./pending-queue.ts"
import type { Compression } from "./record-batch.ts"
import { ProducerId } from "./epoch-and-sequence.ts"
import { Topic } from "./topic.ts"

const LEADER = 1
const ENDPOINT = { host: "127.0.0.1", port: 9092 }
const PRODUCE = 0
const HEAD_BYTES = 17
const VERSION = 11
const STARTED_MS = 1000

/** How the broker answers a produce request: it stores the batches, closes the connection, or gives no answer. */
type Behaviour = "stores" | "closes" | "silent"

let simulated: VirtualTime | undefined
afterEach(() => simulated?.[Symbol.dispose]())

/** A leader and its sender on a clock that moves from one timer to the next. */
class Simulation {
  readonly time = (simulated = new VirtualTime(STARTED_MS))
  #offset = 0
  behaviour: Behaviour = "stores"
  /** Called with each batch that is acknowledged, and each incident. */
  measure = (): void => {}
  connections = 0
  /** Closes the last connection. */
  disconnect = (): void => {}
  /** The partitions in each produce request. */
  readonly requests: number[][] = []
  readonly requestBytes: number[] = []
  readonly logged: string[] = []
  readonly errors: object[] = []
  /** The place of each batch sent. */
  readonly places: ReturnType<typeof placeOf>[] = []
  readonly unkeyed = new Set<Topic>()
  readonly topic: Topic
  readonly sender: LeaderSender

  constructor({
    partitions = 1,
    maxRequestBytes = 1_000_000,
    compression = "none",
  }: { partitions?: number; maxRequestBytes?: number; compression?: Compression } = {}) {
    const write = (text: string): void => {
      const line = JSON.parse(text)
      this.logged.push(line.msg)
      if (line.level >= 50) this.errors.push(line)
    }
    const log = pino({}, { write })
    const metrics = {
      batch: () => this.measure(),
      retried() {},
      connected() {},
      incident: () => this.measure(),
    }
    const producerId = new ProducerId(log, metrics, () => {})
    producerId.value = 7n
    this.topic = new Topic("t", {
      log,
      metrics,
      compression,
      producerId,
      memory: new BatchMemory(),
    })
    const client = {
      clientId: "test",
      bootstrap: [ENDPOINT],
      connectTimeout: new AdaptiveTimeout(CONNECT_TIMEOUT_MS),
      hasAnswered: false,
      connect: this.connect,
    }
    const limits = { maxRequestBytes, maxIdleMs: 60_000 }
    const onFailure = (): void => void this.sender.schedule()
    this.sender = new LeaderSender(LEADER, ENDPOINT, {
      client,
      log,
      metrics,
      unkeyed: this.unkeyed,
      producerId,
      ...limits,
      onFailure,
    })
    this.topic.update(
      {
        errorCode: 0,
        name: "t",
        topicId: "aaaaaaaa-0000-0000-0000-000000000000",
        isInternal: false,
        topicAuthorizedOperations: 0,
        partitions: Array.from({ length: partitions }, (_, partitionIndex) => ({
          errorCode: 0,
          partitionIndex,
          leaderId: LEADER,
          leaderEpoch: 0,
          replicaNodes: [],
          isrNodes: [],
          offlineReplicas: [],
        })),
      },
      this.time.nowMs,
    )
    this.sender.update(ENDPOINT, true, 0)
  }

  readonly connect = (): Promise<BrokerSocket> => {
    this.connections++
    const waiting: (() => void)[] = []
    let isOpen = true
    const close = (): void => {
      isOpen = false
      for (const fail of waiting.splice(0)) fail()
    }
    this.disconnect = close
    const send: BrokerSocket["send"] = (_api, _version, _encode, _decode, _, __, callback) => {
      const apiKeys = [{ apiKey: PRODUCE, minVersion: VERSION, maxVersion: VERSION }]
      callback(null, { apiKeys } as never)
    }
    const request: BrokerSocket["request"] = (_api, pieces, parse, settle) => {
      // the header's tagged fields come first
      const { topics } = readProduce(Buffer.concat(pieces).subarray(HEAD_BYTES + 1))
      const batches = topics.flatMap(({ partitions }) => partitions)
      this.requests.push(batches.map(({ index }) => index))
      this.requestBytes.push(batches.reduce((sum, { records }) => sum + records.length, 0))
      this.places.push(...batches.map(({ records }) => placeOf({ bytes: records })))
      waiting.push(() => settle(new Error("Connection closed")))
      if (this.behaviour === "closes") setTimeout(close, 1)
      if (this.behaviour !== "stores") return
      setTimeout(() => {
        if (waiting.shift() === undefined) return
        settle(null, parse(stored(this.requests.at(-1)!, this.#offset++)))
      }, 1)
    }
    return Promise.resolve({
      get isOpen() {
        return isOpen
      },
      headBytes: HEAD_BYTES,
      request,
      send,
      close,
    } as unknown as BrokerSocket)
  }

  /** Publishes a record to a partition. */
  publish(
    partition: number,
    bytes = 10,
    deadlineMs = Number.POSITIVE_INFINITY,
    timestampMs = STARTED_MS,
  ): Promise<Receipt | PublishError> {
    return new Promise((resolve) => {
      const value = Buffer.alloc(bytes)
      const sourcePartition = { number: partition, of: this.topic.partitions.length }
      const record = { topic: "t", key: undefined, value, timestampMs, sourcePartition }
      const settle = (error: PublishError | undefined, receipt?: Receipt): void => resolve(error ?? receipt!)
      this.sender.enqueue(this.topic.add(new PendingRecord(record, deadlineMs, settle))!)
    })
  }

  /** Publishes a record that any partition may take. */
  publishAnywhere(bytes: number): void {
    const record = { topic: "t", key: undefined, value: Buffer.alloc(bytes), timestampMs: STARTED_MS }
    this.topic.add(new PendingRecord(record, Number.POSITIVE_INFINITY, () => {}))
    this.unkeyed.add(this.topic)
    this.sender.schedule()
  }

  /** Lets the time pass until a condition holds. */
  async until(holds: () => boolean, withinMs = 100_000): Promise<void> {
    const endMs = this.time.nowMs + withinMs
    while (!holds()) {
      for (let n = 0; n < 20; n++) await Promise.resolve()
      if (holds()) return
      if (!this.time.next(endMs)) throw new Error(`not within ${withinMs} ms`)
    }
  }

  async answer(promise: Promise<Receipt | PublishError>): Promise<Receipt | PublishError> {
    let answer: Receipt | PublishError | undefined
    void promise.then((it) => (answer = it))
    await this.until(() => answer !== undefined)
    return answer!
  }
}

/** A produce response, version 9 to 11: the batch of each partition is stored at an offset. */
function stored(partitions: readonly number[], offset: number): Buffer {
  const writer = Writer.create().appendUnsignedVarInt(2).appendString("t", true)
  writer.appendUnsignedVarInt(partitions.length + 1)
  for (const index of partitions) {
    writer.appendInt32(index).appendInt16(0).appendInt64(BigInt(offset)).appendInt64(-1n).appendInt64(0n)
    writer.appendUnsignedVarInt(1).appendUnsignedVarInt(0).appendUnsignedVarInt(0)
  }
  return writer.appendUnsignedVarInt(0).appendInt32(0).appendUnsignedVarInt(0).buffer
}

test("records that come while a request is in flight gather and go with the next", async () => {
  const simulation = new Simulation({ partitions: 3 })
  const first = simulation.publish(0)
  await simulation.until(() => simulation.requests.length === 1)
  const others = [1, 2].map((index) => simulation.publish(index))
  for (const answer of [first, ...others]) expect(await simulation.answer(answer)).toHaveProperty("offset")
  expect(simulation.requests).toEqual([[0], [1, 2]])
})

test("what does not fit into a request goes with further ones, at most five in flight", async () => {
  const simulation = new Simulation({ partitions: 7, maxRequestBytes: 16_384 })
  simulation.behaviour = "silent"
  for (let index = 0; index < 7; index++) void simulation.publish(index, 10_000)
  await simulation.until(() => simulation.requests.length === 5)
  expect(simulation.requests).toEqual([[0], [1], [2], [3], [4]])
})

test("a request is not over its limit where a large record that any partition may take is first in turn", async () => {
  const maxRequestBytes = 16_384
  const simulation = new Simulation({ partitions: 2, maxRequestBytes })
  for (let turn = 0; turn < 4; turn++) {
    const answers = [simulation.publish(turn % 2, 10_000), simulation.publish(1 - (turn % 2), 10)]
    simulation.publishAnywhere(10_000)
    for (const answer of answers) await simulation.answer(answer)
    await simulation.until(() => simulation.topic.isIdle)
  }
  expect(Math.max(...simulation.requestBytes)).toBeLessThan(maxRequestBytes)
})

describe("an error of this program", () => {
  const FAULT = { code: "refused", message: expect.stringContaining("internal error") }

  test("while an answer is handled refuses the batch's events; other batches are settled, and later ones sent", async () => {
    const simulation = new Simulation({ partitions: 3 })
    const first = simulation.publish(0)
    await simulation.until(() => simulation.requests.length === 1)
    await simulation.answer(first)
    let batches = 0
    simulation.measure = () => {
      if (++batches === 1) throw new TypeError("measured wrongly")
    }
    const together = [0, 1, 2].map((index) => simulation.publish(index))
    const answers = await Promise.all(together.map((answer) => simulation.answer(answer)))
    expect(answers).toMatchObject([FAULT, { partition: 1 }, { partition: 2 }])
    expect(simulation.errors).toMatchObject([{ err: { stack: expect.stringContaining("measured wrongly") } }])
    expect(await simulation.answer(simulation.publish(0))).toMatchObject({ partition: 0 })
    // the batch that was given up may be in the log: its place in the sequence is not used again
    expect(simulation.places[1]).toMatchObject({ epoch: 0, sequence: 1 })
    expect(simulation.places.at(-1)).toMatchObject({ epoch: 1, sequence: 0 })
  })

  test("while a batch is given up refuses its events; later ones are sent", async () => {
    const simulation = new Simulation()
    simulation.behaviour = "closes"
    simulation.measure = () => {
      simulation.measure = () => {}
      throw new TypeError("measured wrongly")
    }
    expect(await simulation.answer(simulation.publish(0, 500_000))).toMatchObject(FAULT)
    expect(simulation.errors).toContainEqual(
      expect.objectContaining({ err: expect.objectContaining({ message: "measured wrongly" }) }),
    )
    simulation.behaviour = "stores"
    expect(await simulation.answer(simulation.publish(0))).toMatchObject({ partition: 0 })
  })

  test("while a batch is encoded refuses its events; later ones are sent", async () => {
    const simulation = new Simulation()
    const poison = simulation.publish(0, 10, Number.POSITIVE_INFINITY, Number.NaN)
    expect(await simulation.answer(poison)).toMatchObject(FAULT)
    expect(simulation.errors).toMatchObject([{ err: { stack: expect.stringContaining("encodeBatch") } }])
    expect(await simulation.answer(simulation.publish(0))).toMatchObject({ partition: 0 })
  })

  test("while batches are gathered is logged, and they are sent after a pause", async () => {
    const simulation = new Simulation()
    await simulation.until(() => simulation.connections === 1)
    const [{ accumulator }] = [simulation.topic]
    const expire = accumulator.unkeyed.expire.bind(accumulator.unkeyed)
    accumulator.unkeyed.expire = () => {
      accumulator.unkeyed.expire = expire
      throw new TypeError("gathered wrongly")
    }
    simulation.unkeyed.add(simulation.topic)
    expect(await simulation.answer(simulation.publish(0))).toMatchObject({ partition: 0 })
    expect(simulation.errors).toMatchObject([{ err: { stack: expect.stringContaining("gathered wrongly") } }])
  })
})

describe("a batch that another thread compresses", () => {
  const LARGE = 50_000

  /** A thread that is done when the test says so. */
  function thread() {
    const given: { readonly bytes: Uint8Array; readonly done: PromiseWithResolvers<Uint8Array> }[] = []
    spyOn(THREADS, "gzip").mockImplementation((bytes) => {
      const done = Promise.withResolvers<Uint8Array>()
      given.push({ bytes, done })
      return done.promise
    })
    return {
      given,
      finish: () => given.at(-1)!.done.resolve(Bun.gzipSync(Buffer.from(given.at(-1)!.bytes))),
    }
  }

  test("is not sent when its deadline has passed meanwhile; later records are", async () => {
    const { given, finish } = thread()
    const simulation = new Simulation({ compression: "gzip" })
    const late = simulation.publish(0, LARGE, simulation.time.nowMs + 100)
    await simulation.until(() => given.length === 1)
    simulation.time.nowMs += 200
    finish()
    expect(await simulation.answer(late)).toMatchObject({
      message: expect.stringContaining("deadline passed"),
    })
    expect(await simulation.answer(simulation.publish(0))).toMatchObject({ partition: 0 })
    expect(simulation.requests).toEqual([[0]])
  })

  test("is sent on another connection when the one that it was for is gone", async () => {
    const { given, finish } = thread()
    const simulation = new Simulation({ compression: "gzip" })
    const published = simulation.publish(0, LARGE)
    await simulation.until(() => given.length === 1)
    simulation.disconnect()
    finish()
    expect(await simulation.answer(published)).toMatchObject({ partition: 0 })
    expect(simulation.connections).toBe(2)
    expect(given).toHaveLength(1)
  })

  test("is refused when it can't be compressed; later ones are sent", async () => {
    const { given, finish } = thread()
    const simulation = new Simulation({ compression: "gzip" })
    const failing = simulation.publish(0, LARGE)
    await simulation.until(() => given.length === 1)
    given[0]!.done.reject(new RangeError("no memory"))
    expect(await simulation.answer(failing)).toMatchObject({ code: "refused" })
    const later = simulation.publish(0, LARGE)
    await simulation.until(() => given.length === 2)
    finish()
    expect(await simulation.answer(later)).toMatchObject({ partition: 0 })
  })
})
