import {
  FetchIsolationLevels,
  fetchV10,
  fetchV11,
  fetchV12,
  ListOffsetTimestamps,
  listOffsetsV4,
  listOffsetsV7,
} from "@platformatic/kafka"
import { HooklineError } from "../errors.ts"
import type { LogReader, ReadFrom, StoredRecord, TopicInfo } from "./broker.ts"
import { kafkaClient, type KafkaOptions } from "./kafka-connection.ts"
import { KafkaLeaders, type Led } from "./kafka-leaders.ts"
import { orUnavailable, partial } from "./kafka-failure.ts"

/** Versions that name topics; later ones want ids. */
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
 * @throws HooklineError `no_input` when a certificate or key can't be read
 */
export function openKafkaReader(options: KafkaOptions): LogReader {
  const leaders = new KafkaLeaders(kafkaClient(options))
  return {
    async topics(): Promise<TopicInfo[]> {
      const names = await leaders.topics()
      const infos = names.map(async (topic): Promise<TopicInfo> => {
        const all = await range(leaders, topic)
        const records = all.reduce((total, { first, end }) => total + end - first, 0)
        return { topic, partitions: all.length, records, bytes: undefined }
      })
      return (await Promise.all(infos)).toSorted((a, b) => (a.topic < b.topic ? -1 : 1))
    },
    read: (topic, how) => read(leaders, topic, how),
    async close(): Promise<void> {
      leaders.close()
    },
  }
}

async function* read(
  leaders: KafkaLeaders,
  topic: string,
  { from, follow, signal }: { from: ReadFrom; follow: boolean; signal: AbortSignal },
): AsyncGenerator<StoredRecord> {
  const positions = (await range(leaders, topic)).map(({ partition, first, end }): Position => {
    return { partition, next: start(from, first, end), end: follow ? Number.POSITIVE_INFINITY : end }
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
        await Bun.sleep(RECONNECT_MS)
      }
    }
  } finally {
    signal.removeEventListener("abort", abort)
  }
}

function start(from: ReadFrom, first: number, end: number): number {
  if (from === "beginning") return first
  return from === "end" ? end : Math.min(Math.max(from, first), end)
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
    follow ? WAIT_MS : 0,
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
  for (const { partitionIndex, errorCode, logStartOffset, records } of responses.flatMap(
    (one) => one.partitions,
  )) {
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

/** The first offset and the one after the last, of each partition. */
async function range(
  leaders: KafkaLeaders,
  topic: string,
): Promise<{ partition: number; first: number; end: number }[]> {
  const found = (await leaders.of(topic)).map(async ({ connection, partitions }) => {
    const ask = async (timestamp: bigint): Promise<Map<number, number>> => {
      const wanted = partitions.map((partitionIndex) => ({
        partitionIndex,
        currentLeaderEpoch: -1,
        timestamp,
      }))
      const request = [{ name: topic, partitions: wanted }]
      const level = FetchIsolationLevels.READ_UNCOMMITTED
      const { topics } = await orUnavailable(connection.request(LIST_OFFSETS, -1, level, request))
      return new Map(topics.flatMap((one) => one.partitions.map((p) => [p.partitionIndex, Number(p.offset)])))
    }
    const first = await ask(ListOffsetTimestamps.EARLIEST)
    const end = await ask(ListOffsetTimestamps.LATEST)
    return partitions.map((partition) => ({
      partition,
      first: first.get(partition)!,
      end: end.get(partition)!,
    }))
  })
  return (await Promise.all(found)).flat()
}

const ANY_EPOCH = { currentLeaderEpoch: -1, lastFetchedEpoch: -1 }
const NO_SESSION = 0
const NO_SESSION_EPOCH = -1
const OFFSET_OUT_OF_RANGE = 1
/** Bit of a batch's attributes: markers of transactions, not records. */
const CONTROL = 1 << 5
const MAX_BYTES = 4 * 1_048_576
/** How long a leader waits for new records before it answers that there are none. */
const WAIT_MS = 250
const RECONNECT_MS = 250
