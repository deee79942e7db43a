import { ERROR } from "../../kafka-protocol/error-codes.ts"
import {
  describeLogDirsV1,
  describeLogDirsV4,
  FetchIsolationLevels,
  fetchV10,
  fetchV11,
  fetchV12,
  ListOffsetTimestamps,
  listOffsetsV4,
  listOffsetsV7,
} from "./client-library.ts"
import { pause } from "../../clock/clock.ts"
import { HooklineError } from "../../errors.ts"
import { NO_VALUE } from "../../pipeline/record.ts"
import type { LogReader, OffsetRange, StoredRecord, TimeRange, TopicInfo, TopicRetention } from "../broker.ts"
import { mergeByTime } from "../merge-by-time.ts"
import { AbortedTransactions, isControl, type FetchedBatch } from "./aborted-transactions.ts"
import { kafkaClient } from "./connection.ts"
import type { KafkaOptions } from "./options.ts"
import { partial } from "./failure.ts"
import { Leaders, orUnavailable, type Led } from "./leaders.ts"
import { FETCH_WAIT_MS, READ_RETRY_MS } from "./timeouts.ts"
import { configOf } from "./topic-creation.ts"

/** Versions that name topics; later ones use ids. */
const FETCH: readonly { readonly api: typeof fetchV12.api }[] = [fetchV12, fetchV11, fetchV10]
const LIST_OFFSETS = [listOffsetsV7, listOffsetsV4]
const DESCRIBE_LOG_DIRS = [describeLogDirsV4, describeLogDirsV1]

/**
 * Opens the reading side of a Kafka cluster. It joins no consumer group and commits nothing: it asks each leader for
 * records itself, so nothing of it stays on the cluster.
 *
 * @throws OptionError `config` of a certificate or key that can't be used
 */
export function openKafkaReader(options: KafkaOptions): LogReader {
  const client = kafkaClient(options)
  const leaders = new Leaders(client)
  return {
    async topics(): Promise<TopicInfo[]> {
      const names = (await leaders.topics()).toSorted()
      const infos = names.map(async (topic): Promise<TopicInfo> => {
        const all = await findRanges(leaders, topic)
        const records = all.reduce((total, { first, end }) => total + end - first, 0)
        return { topic, partitions: all.length, records, bytes: undefined }
      })
      return Promise.all(infos)
    },
    clusterId: () => leaders.clusterId(),
    topicId: (topic) => leaders.topicId(topic),
    ranges: (topic, times) => findRanges(leaders, topic, times),
    retention: (topic) => findRetention(leaders, topic),
    async *read(topic, ranges, options) {
      const reading = { ...options, leaders, topic }
      const open = ranges.filter(({ first, end }) => first < end)
      // where reading continues, a partition without new records must not hold up the others
      yield* open.every(({ end }) => Number.isFinite(end))
        ? mergeByTime(open.map((range) => fetchAll(reading, [range], bytesOf(open.length))))
        : fetchAll(reading, open, MAX_BYTES)
    },
    async close() {
      leaders.close()
      client.tokens?.close()
    },
  }
}

/** Each of some partitions that are read side by side has that many bytes in memory, or one batch. */
const bytesOf = (partitions: number): number => Math.max(MIN_BYTES, Math.floor(MAX_BYTES / partitions))

async function findRanges(
  leaders: Leaders,
  topic: string,
  { sinceMs, untilMs }: TimeRange = {},
): Promise<OffsetRange[]> {
  const leading = leaders.of(topic)
  const find = async (led: Led): Promise<OffsetRange[]> => {
    const ask = (timestamp: bigint): Promise<Map<number, number>> => findOffsets(topic, led, timestamp)
    // before the others: what is published meanwhile is not in the range, but after its end
    const last = await ask(ListOffsetTimestamps.LATEST)
    const from = await ask(sinceMs === undefined ? ListOffsetTimestamps.EARLIEST : toTimestamp(sinceMs))
    const until = untilMs === undefined ? undefined : await ask(toTimestamp(untilMs))
    return led.partitions.map((partition): OffsetRange => {
      const end = last.get(partition)!
      const orEnd = (offset = -1): number => (offset < 0 ? end : Math.min(offset, end))
      const first = orEnd(from.get(partition))
      return { partition, first, end: Math.max(first, orEnd(until?.get(partition))) }
    })
  }
  try {
    return (await Promise.all((await leading).map(find))).flat()
  } catch (error) {
    leaders.forget(topic, leading, error)
    throw error
  }
}

/** From the topic's configuration and its leaders' log folders, where this client may describe them. */
async function findRetention(leaders: Leaders, topic: string): Promise<TopicRetention> {
  const led = await leaders.of(topic)
  const valueOf = async (key: string): Promise<string | undefined> =>
    (await orUnavailable(configOf(led[0]!.connection, "TOPIC", [topic], key))).get(topic)
  const deletes = (await valueOf("cleanup.policy"))?.includes("delete") === true
  const limitOf = async (key: string): Promise<number> => {
    const limit = deletes ? Number((await valueOf(key)) ?? -1) : -1
    return limit < 0 ? Number.POSITIVE_INFINITY : limit
  }
  const [ms, bytes] = [await limitOf("retention.ms"), await limitOf("retention.bytes")]
  const held = new Map<number, number>()
  for (const { connection, partitions } of Number.isFinite(bytes) ? led : []) {
    const asked = connection.request(DESCRIBE_LOG_DIRS, [{ name: topic, partitions: [...partitions] }])
    const { results } = await orUnavailable(partial(asked))
    for (const one of results.flatMap(({ topics }) => topics).flatMap((it) => it.partitions))
      held.set(one.partitionIndex, Number(one.partitionSize))
  }
  return { ms, bytes, held }
}

/** The first offsets of a time, by partition; -1: no record is of that time or later. */
async function findOffsets(
  topic: string,
  { connection, partitions: led }: Led,
  timestamp: bigint,
): Promise<Map<number, number>> {
  const partitions = led.map((partitionIndex) => ({ partitionIndex, currentLeaderEpoch: -1, timestamp }))
  const { topics } = await orUnavailable(
    connection.request(LIST_OFFSETS, -1, ISOLATION, [{ name: topic, partitions }]),
  )
  return new Map(topics.flatMap((one) => one.partitions.map((p) => [p.partitionIndex, Number(p.offset)])))
}

/** Negative ones have other meanings. */
const toTimestamp = (ms: number): bigint => BigInt(Math.max(0, Math.round(ms)))

/** What is read, and how. */
interface Reading {
  readonly leaders: Leaders
  readonly topic: string
  readonly retries: boolean
  readonly signal: AbortSignal
  readonly missed?: (range: OffsetRange) => void
}

/** A partition and how far it was read. */
interface Position {
  readonly partition: number
  next: number
  /** Reading ends before this offset. */
  readonly end: number
}

/** Fetches from the leaders in turn until every range is read. */
async function* fetchAll(
  reading: Reading,
  ranges: readonly OffsetRange[],
  maxBytes: number,
): AsyncGenerator<StoredRecord> {
  const { leaders, topic, retries, signal } = reading
  const positions = ranges.map(({ partition, first, end }): Position => ({ partition, next: first, end }))
  const abort = (): void => leaders.reset()
  signal.addEventListener("abort", abort, { once: true })
  try {
    while (!signal.aborted && positions.some(({ next, end }) => next < end)) {
      const leading = leaders.of(topic)
      try {
        const all = await leading
        const isLed = ({ partition }: Position): boolean =>
          all.some((one) => one.partitions.includes(partition))
        // the topic may have been created again, with fewer
        if (!positions.some((one) => one.next < one.end && isLed(one)))
          throw new HooklineError("unavailable", `topic ${topic} has none of the partitions to be read`)
        for (const led of all) yield* fetch(reading, led, positions, maxBytes)
      } catch (error) {
        if (signal.aborted) return
        if (!retries) throw error
        leaders.forget(topic, leading, error)
        await pause(READ_RETRY_MS, signal)
      }
    }
  } finally {
    signal.removeEventListener("abort", abort)
  }
}

/** Fetches once from one leader what its partitions still have. */
async function* fetch(
  { topic, missed }: Reading,
  { connection, partitions }: Led,
  positions: readonly Position[],
  maxBytes: number,
): AsyncGenerator<StoredRecord> {
  const open = positions.filter(({ partition, next, end }) => partitions.includes(partition) && next < end)
  if (open.length === 0) return
  const wanted = open.map(({ partition, next }) => {
    return { ...ANY_EPOCH, partition, fetchOffset: BigInt(next), partitionMaxBytes: maxBytes }
  })
  const asked = connection.request(
    FETCH,
    FETCH_WAIT_MS,
    1,
    maxBytes,
    ISOLATION,
    NO_SESSION,
    NO_SESSION_EPOCH,
    [{ topicId: topic, partitions: wanted }],
    [],
    "",
  )
  const { responses } = await orUnavailable(partial(asked))
  const answers = responses.flatMap((one) => one.partitions)
  for (const answer of answers) {
    const { partitionIndex, errorCode, records } = answer
    const position = open.find(({ partition }) => partition === partitionIndex)
    if (position === undefined) continue
    if (errorCode === ERROR.OFFSET_OUT_OF_RANGE) {
      const { next } = position
      await seek(topic, connection, position)
      const end = Math.min(position.next, position.end)
      if (next < end) missed?.({ partition: partitionIndex, first: next, end })
    } else if (errorCode !== 0)
      throw new HooklineError("unavailable", `Kafka answers a read with error ${errorCode}`)
    const aborted = new AbortedTransactions(answer)
    for (const batch of records ?? []) yield* unpack(topic, batch, aborted.has(batch), position)
  }
}

/**
 * Goes to the first record kept, from an offset that the log does not have: records were deleted before they were read, or the
 * log ends before it, since the topic was created again. What is read up to an offset ends then.
 */
async function seek(topic: string, connection: Led["connection"], position: Position): Promise<void> {
  const { partition, next, end } = position
  const led = { connection, partitions: [partition] }
  const first = (await findOffsets(topic, led, ListOffsetTimestamps.EARLIEST)).get(partition)!
  position.next = first <= next && Number.isFinite(end) ? end : first
}

/** The records of a batch that were asked for: a batch may begin before the offset, and a control batch has none. */
function* unpack(
  topic: string,
  batch: FetchedBatch,
  isAborted: boolean,
  position: Position,
): Generator<StoredRecord> {
  const base = Number(batch.firstOffset)
  const appendTime = (batch.attributes & LOG_APPEND_TIME) === 0 ? undefined : batch.maxTimestamp
  for (const { offsetDelta, timestampDelta, key, value, headers } of isControl(batch) || isAborted
    ? []
    : batch.records) {
    const offset = base + offsetDelta
    if (offset < position.next || offset >= position.end) continue
    yield {
      topic,
      partition: position.partition,
      offset,
      timestampMs: Number(appendTime ?? batch.firstTimestamp + timestampDelta),
      key: key ?? undefined,
      value: value ?? NO_VALUE,
      headers: headers.map(([name, content]) => [(name ?? "").toString(), content ?? NO_VALUE]),
    }
  }
  position.next = Math.max(position.next, base + batch.lastOffsetDelta + 1)
}

/** Records of open and aborted transactions are not read. */
const ISOLATION = FetchIsolationLevels.READ_COMMITTED
const ANY_EPOCH = { currentLeaderEpoch: -1, lastFetchedEpoch: -1 }
const NO_SESSION = 0
const NO_SESSION_EPOCH = -1
/** Bit of a batch's attributes: its records have the time at which the broker stored it, as their latest time. */
const LOG_APPEND_TIME = 1 << 3
const MAX_BYTES = 4 * 1_048_576
const MIN_BYTES = 65_536
