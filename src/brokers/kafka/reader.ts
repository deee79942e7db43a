import {
  FetchIsolationLevels,
  fetchV10,
  fetchV11,
  fetchV12,
  ListOffsetTimestamps,
  listOffsetsV4,
  listOffsetsV7,
} from "@platformatic/kafka"
import { HooklineError } from "../../errors.ts"
import type { LogReader, ReadFrom, StoredRecord, TopicInfo } from "../broker.ts"
import { BrokerPool } from "./broker-pool.ts"
import { KafkaConnection, kafkaClient, type KafkaClient, type KafkaOptions } from "./connection.ts"
import { INVALID_TOPIC, TOPIC_NOT_ALLOWED, UNKNOWN_TOPIC } from "./error-actions.ts"
import { partial, reasonOf } from "./failure.ts"
import { METADATA, type Metadata } from "./metadata.ts"
import { FETCH_WAIT_MS, READ_RETRY_MS, READ_TIMEOUT_MS } from "./timeouts.ts"

/** Versions that name topics; later ones use ids. */
const FETCH: readonly { readonly api: typeof fetchV12.api }[] = [fetchV12, fetchV11, fetchV10]
const LIST_OFFSETS = [listOffsetsV7, listOffsetsV4]

/** A partition and how far it was read. */
interface Position {
  readonly partition: number
  next: number
  /** Reading ends before this offset. */
  readonly end: number
}

/**
 * Opens the reading side of a Kafka cluster. It joins no consumer group and commits nothing: it asks each leader for
 * records itself, so nothing of it stays on the cluster.
 *
 * @throws OptionError `config` of a certificate or key that can't be used
 */
export function openKafkaReader(options: KafkaOptions): LogReader {
  const leaders = new Leaders(kafkaClient(options))
  return {
    async topics(): Promise<TopicInfo[]> {
      const names = (await leaders.topics()).toSorted()
      const infos = names.map(async (topic): Promise<TopicInfo> => {
        const all = await positionsOf(topic, leaders)
        const records = all.reduce((total, { next, end }) => total + end - next, 0)
        return { topic, partitions: all.length, records, bytes: undefined }
      })
      return Promise.all(infos)
    },
    read: (topic, how) => read(leaders, topic, how),
    close: async () => leaders.close(),
  }
}

async function* read(
  leaders: Leaders,
  topic: string,
  { from, follow, signal }: { from: ReadFrom; follow: boolean; signal: AbortSignal },
): AsyncGenerator<StoredRecord> {
  const positions = (await positionsOf(topic, leaders)).map(({ partition, next: first, end }): Position => {
    const next = from === "beginning" ? first : from === "end" ? end : Math.min(Math.max(from, first), end)
    return { partition, next, end: follow ? Number.POSITIVE_INFINITY : end }
  })
  const abort = (): void => leaders.reset()
  signal.addEventListener("abort", abort, { once: true })
  try {
    while (!signal.aborted && positions.some(({ next, end }) => next < end)) {
      try {
        for (const led of await leaders.of(topic)) yield* fetch(topic, led, positions, follow)
      } catch (error) {
        if (signal.aborted) return
        if (!follow) throw error
        leaders.reset()
        await Bun.sleep(READ_RETRY_MS)
      }
    }
  } finally {
    signal.removeEventListener("abort", abort)
  }
}

/** Fetches once from one leader what its partitions still have. */
async function* fetch(
  topic: string,
  { connection, partitions }: Led,
  positions: readonly Position[],
  follow: boolean,
): AsyncGenerator<StoredRecord> {
  const open = positions.filter(({ partition, next, end }) => partitions.includes(partition) && next < end)
  if (open.length === 0) return
  const wanted = open.map(({ partition, next }) => {
    return { ...ANY_EPOCH, partition, fetchOffset: BigInt(next), partitionMaxBytes: MAX_BYTES }
  })
  const asked = connection.request(
    FETCH,
    follow ? FETCH_WAIT_MS : 0,
    1,
    MAX_BYTES,
    FetchIsolationLevels.READ_UNCOMMITTED,
    NO_SESSION,
    NO_SESSION_EPOCH,
    [{ topicId: topic, partitions: wanted }],
    [],
    "",
  )
  const { responses } = await orUnavailable(partial(asked))
  const answers = responses.flatMap((one) => one.partitions)
  for (const { partitionIndex, errorCode, logStartOffset, records } of answers) {
    const position = open.find(({ partition }) => partition === partitionIndex)
    if (position === undefined) continue
    if (errorCode === OFFSET_OUT_OF_RANGE) position.next = Math.max(position.next, Number(logStartOffset))
    else if (errorCode !== 0)
      throw new HooklineError("unavailable", `Kafka answers a read with error ${errorCode}`)
    for (const batch of records ?? []) yield* unpack(topic, batch, position)
  }
}

type Batch = NonNullable<
  ReturnType<typeof fetchV12.parseResponse>["responses"][0]["partitions"][0]["records"]
>[number]

/** The records of a batch that were asked for: a batch may begin before the offset, and a control batch has none. */
function* unpack(topic: string, batch: Batch, position: Position): Generator<StoredRecord> {
  const base = Number(batch.firstOffset)
  const isControl = (batch.attributes & CONTROL) !== 0
  for (const { offsetDelta, timestampDelta, key, value, headers } of isControl ? [] : batch.records) {
    const offset = base + offsetDelta
    if (offset < position.next || offset >= position.end) continue
    yield {
      topic,
      partition: position.partition,
      offset,
      timestampMs: Number(batch.firstTimestamp + timestampDelta),
      key: key ?? undefined,
      value: value ?? new Uint8Array(0),
      headers: headers.map(([name, content]) => [(name ?? "").toString(), content ?? new Uint8Array(0)]),
    }
  }
  position.next = Math.max(position.next, base + batch.lastOffsetDelta + 1)
}

/** From the first record of each partition to its end. */
async function positionsOf(topic: string, leaders: Leaders): Promise<Position[]> {
  const found = (await leaders.of(topic)).map(async ({ connection, partitions }) => {
    const ask = async (timestamp: bigint): Promise<Map<number, number>> => {
      const asked = partitions.map((partitionIndex) => {
        return { partitionIndex, currentLeaderEpoch: -1, timestamp }
      })
      const level = FetchIsolationLevels.READ_UNCOMMITTED
      const answer = connection.request(LIST_OFFSETS, -1, level, [{ name: topic, partitions: asked }])
      const { topics } = await orUnavailable(answer)
      return new Map(topics.flatMap((one) => one.partitions.map((p) => [p.partitionIndex, Number(p.offset)])))
    }
    const first = await ask(ListOffsetTimestamps.EARLIEST)
    const end = await ask(ListOffsetTimestamps.LATEST)
    return partitions.map((partition): Position => {
      return { partition, next: first.get(partition)!, end: end.get(partition)! }
    })
  })
  return (await Promise.all(found)).flat()
}

interface Led {
  readonly connection: KafkaConnection
  readonly partitions: readonly number[]
}

/** Connections to the leaders of topics. Nothing is created on the cluster. */
class Leaders {
  readonly #client: KafkaClient
  #brokers: BrokerPool
  /** By node id. */
  readonly #connections = new Map<number, Promise<KafkaConnection>>()
  readonly #led = new Map<string, Promise<Led[]>>()

  constructor(client: KafkaClient) {
    this.#client = client
    this.#brokers = new BrokerPool(client)
  }

  /** Names of all topics but Kafka's own. */
  async topics(): Promise<string[]> {
    const { topics } = await this.#metadata(null)
    return topics.filter(({ isInternal }) => !isInternal).map(({ name }) => name ?? "")
  }

  /** The leaders of a topic's partitions. @throws HooklineError `no_topic`, `refused`, `unavailable` */
  of(topic: string): Promise<Led[]> {
    return this.#led.getOrInsertComputed(topic, () => this.#find(topic))
  }

  /** Forgets leaders and connections, which have proved wrong. */
  reset(): void {
    this.close()
    this.#connections.clear()
    this.#led.clear()
    this.#brokers = new BrokerPool(this.#client)
  }

  close(): void {
    this.#brokers.close()
    for (const connection of this.#connections.values()) void drop(connection)
  }

  async #find(topic: string): Promise<Led[]> {
    const { brokers, topics } = await this.#metadata([topic])
    const found = topics.find(({ name }) => name === topic)
    if (found === undefined || found.errorCode === UNKNOWN_TOPIC || found.errorCode === INVALID_TOPIC) {
      throw new HooklineError("no_topic", `topic ${topic} does not exist`)
    }
    if (found.errorCode === TOPIC_NOT_ALLOWED) {
      throw new HooklineError("refused", `this client is not authorized to read topic ${topic}`)
    }
    const byLeader = Map.groupBy(found.partitions, ({ leaderId }) => leaderId)
    const led = [...byLeader].map(async ([id, partitions]): Promise<Led> => {
      const endpoint = brokers.find(({ nodeId }) => nodeId === id)
      if (endpoint === undefined || found.errorCode !== 0) {
        throw new HooklineError("unavailable", `partitions of topic ${topic} have no leader now`)
      }
      const open = (): Promise<KafkaConnection> =>
        orUnavailable(KafkaConnection.open(this.#client, endpoint, READ_TIMEOUT_MS))
      const connection = await this.#connections.getOrInsertComputed(id, open)
      return { connection, partitions: partitions.map(({ partitionIndex }) => partitionIndex) }
    })
    return Promise.all(led)
  }

  async #metadata(topics: string[] | null): Promise<Metadata> {
    const asked = this.#brokers.ask((broker) => partial(broker.request(METADATA, topics, false, false)))
    return (await orUnavailable(asked)).answer
  }
}

/** Closes a connection, also one that is yet to open. One that failed to open has nothing to close. */
async function drop(opening: Promise<KafkaConnection>): Promise<void> {
  const [connection] = await Promise.allSettled([opening])
  if (connection.status === "fulfilled") connection.value.close()
}

/** @throws HooklineError `unavailable` when it fails with an error of the client library */
async function orUnavailable<T>(request: Promise<T>): Promise<T> {
  try {
    return await request
  } catch (error) {
    throw new HooklineError("unavailable", `Kafka unavailable: ${reasonOf(error)}`, { cause: error })
  }
}

const ANY_EPOCH = { currentLeaderEpoch: -1, lastFetchedEpoch: -1 }
const NO_SESSION = 0
const NO_SESSION_EPOCH = -1
const OFFSET_OUT_OF_RANGE = 1
/** Bit of a batch's attributes: markers of transactions, not records. */
const CONTROL = 1 << 5
const MAX_BYTES = 4 * 1_048_576
