import { Type } from "./shape.ts"
import { allTopics, MOST_PARTITIONS, partitionOfSlot } from "../../brokers/all-topics.ts"
import type { LogReader, StoredRecord, TopicInfo } from "../../brokers/broker.ts"
import { parseCondition, type Matches } from "../../brokers/record-filter.ts"
import { countByTime } from "../../brokers/record-counts.ts"
import { recordsBefore } from "../../brokers/records-before.ts"
import type { Service } from "../service.ts"
import { maskHeader } from "../../verify/masking.ts"
import { liveRecords } from "./live-records.ts"
import type { LiveDeps } from "./live.ts"
import { before, formatOffsets, parseOffsets } from "./offsets.ts"
import { ApiError, problemOf } from "./problem.ts"
import { pipelineOf, summarizer } from "./record-summary.ts"
import { route, type ApiRoute } from "./route.ts"
import {
  LiveRecords,
  RecordCounts,
  RecordDetail,
  RecordPage,
  TopicOverview,
  type RecordSummary,
} from "./shapes.ts"

const MAX_RECORDS = 500
/** Offsets that one request reads at most. */
const MAX_SCANNED = 10_000
const CONDITION = Type.Optional(
  Type.String({
    maxLength: 1000,
    description: "`json:/type=invoice.*`, `header:Name=value` or `key=value`.",
  }),
)
const TOPIC = { connection: Type.String({ maxLength: 249 }), topic: Type.String({ maxLength: 249 }) }
const TOPICS = {
  ...TOPIC,
  topic: Type.Optional(
    Type.String({
      maxLength: 249,
      description: "Missing: all topics of the connection, those with the newest events first.",
    }),
  ),
}
const time = Type.Optional(Type.Number({ description: "Milliseconds since 1970." }))
/** Parts of a range in which records are counted. */
const BARS = 60
const MAX_OFFSET = Number.MAX_SAFE_INTEGER

type RecordsDeps = Pick<LiveDeps, "service" | "sampler" | "streams" | "failed">

export const recordRoutes = (deps: RecordsDeps): ApiRoute[] => [
  topicsRoute(deps),
  pageRoute(deps),
  countsRoute(deps),
  liveRoute(deps),
  recordRoute(deps),
]

/** Opens a connection's log while it is used. */
export async function readLog<T>(
  service: Service,
  connection: string,
  use: (reader: LogReader) => Promise<T>,
): Promise<T> {
  if (!service.connections().some(({ id }) => id === connection))
    throw new ApiError(404, "no connection has this id")
  const reader = await service.openReader(connection)
  try {
    return await use(reader)
  } finally {
    await reader.close()
  }
}

/** What is read: a topic, or all of a connection as one. */
interface Opened {
  readonly reader: LogReader
  readonly topic: string
  readonly summarize: (record: StoredRecord) => RecordSummary
  readonly leftOut: () => number
}

/** @param within slots of the topics, where no topic is named; undefined: of any */
const readTopics = <T>(
  { service, sampler }: RecordsDeps,
  { connection, topic }: { readonly connection: string; readonly topic?: string | undefined },
  within: ReadonlyMap<number, number> | undefined,
  use: (opened: Opened) => Promise<T>,
): Promise<T> =>
  readLog(service, connection, async (reader) => {
    const summarizers = new Map<string, ReturnType<typeof summarizer>>()
    const summarize = (record: StoredRecord): RecordSummary =>
      summarizers.getOrInsertComputed(record.topic, (it) => summarizer(pipelineOf(service, connection, it)))(
        record,
      )
    if (topic !== undefined) return use({ reader, topic, summarize, leftOut: () => 0 })
    const of = service.pipelines().filter((it) => it.connection === connection)
    const newest = of
      .map(({ id, topic }) => ({ topic, lastMs: sampler.history.of(id).lastMs ?? 0 }))
      .toSorted((a, b) => b.lastMs - a.lastMs)
    const others = newest.length < MOST_PARTITIONS ? await reader.topics() : []
    const all = allTopics(reader, new Set([...newest, ...others].map(({ topic }) => topic)), within)
    return use({
      reader: all,
      topic: "",
      summarize: (record) => ({ ...summarize(record), partition: partitionOfSlot(record.partition) }),
      leftOut: () => all.leftOut,
    })
  })

const topicsRoute = ({ service }: RecordsDeps): ApiRoute =>
  route("GET /api/topics", {
    summary: "The topics of all connections that answer.",
    response: Type.Array(TopicOverview),
    async answer() {
      const all = service.connections().map(async ({ id }) => {
        const topics = await readLog(service, id, (reader) => reader.topics()).catch(none)
        return topics.map((topic) => ({ connection: id, ...topic, bytes: topic.bytes ?? null }))
      })
      return (await Promise.all(all)).flat()
    },
  })

const pageRoute = (deps: RecordsDeps): ApiRoute =>
  route("GET /api/records", {
    summary: "Records of a topic, or of all, the newest first.",
    query: Type.Object({
      ...TOPICS,
      partition: Type.Optional(Type.Integer({ minimum: 0 })),
      since: time,
      until: time,
      where: CONDITION,
      before: Type.Optional(Type.String({ maxLength: 8000, description: "`older` of the page before it." })),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_RECORDS, default: 50 })),
    }),
    response: RecordPage,
    async answer({ query: { partition, since, until, where, limit = 50, ...query }, request }) {
      const matches = conditionOf(where)
      const offsets = query.before === undefined ? undefined : parseOffsets(query.before)
      if (query.before !== undefined && offsets === undefined)
        throw new ApiError(400, "query, before: is not the `older` of a page")
      return readTopics(deps, query, offsets, async ({ reader, topic, summarize, leftOut }) => {
        const all = await reader.ranges(topic, { sinceMs: since, untilMs: until })
        const wanted = partition === undefined ? all : all.filter((it) => it.partition === partition)
        const { records, older, scanned } = await recordsBefore(
          reader,
          topic,
          offsets === undefined ? wanted : before(wanted, offsets),
          { limit, maxScanned: MAX_SCANNED, matches, toValue: summarize, signal: request.signal },
        )
        const next = formatOffsets(new Map(older.map((range) => [range.partition, range.end])))
        return { records: [...records], older: next === "" ? null : next, scanned, left_out: leftOut() }
      })
    },
  })

const countsRoute = (deps: RecordsDeps): ApiRoute =>
  route("GET /api/records/counts", {
    summary: "How many records of a topic came when, for a histogram.",
    query: Type.Object({ ...TOPICS, since: time, until: time }),
    response: RecordCounts,
    answer: ({ query: { since, until, ...query }, request: { signal } }) =>
      readTopics(deps, query, undefined, async ({ reader, topic }) => {
        const times = { sinceMs: since, untilMs: until }
        const { sinceMs, untilMs, counts } = await countByTime(reader, topic, times, { parts: BARS, signal })
        return { since: sinceMs, until: untilMs, counts: [...counts] }
      }),
  })

const liveRoute = (deps: RecordsDeps): ApiRoute =>
  route("GET /api/records/live", {
    summary:
      "New records of a topic, or of all, as they come. Last-Event-ID goes on where a stream broke off.",
    query: Type.Object({ ...TOPICS, where: CONDITION }),
    events: { records: LiveRecords },
    async answer({ query: { where, ...query }, request, connection: client }) {
      const matches = conditionOf(where)
      const offsets = parseOffsets(request.headers.get("last-event-id") ?? "")
      const last = offsets !== undefined && offsets.size > 0 ? offsets : undefined
      // fails here rather than in the stream
      await readTopics(deps, query, last, ({ reader, topic }) => reader.ranges(topic))
      return deps.streams.answer(request, client, (stream) => {
        void readTopics(deps, query, last, (opened) =>
          liveRecords({ ...opened, matches, last, stream }),
        ).catch((error: unknown) => {
          stream.end()
          if (problemOf(error) === undefined) deps.failed(error)
        })
      })
    },
  })

const recordRoute = ({ service }: RecordsDeps): ApiRoute =>
  route("GET /api/records/:connection/:topic/:partition/:offset", {
    summary: "A record, whole.",
    params: Type.Object({
      ...TOPIC,
      partition: Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1 }),
      offset: Type.Integer({ minimum: 0, maximum: MAX_OFFSET }),
    }),
    response: RecordDetail,
    answer: ({ params: { connection, topic, partition, offset } }) =>
      readLog(service, connection, async (reader) => {
        const record = await recordAt(reader, topic, partition, offset)
        if (record === undefined) throw new ApiError(404, "the topic has no record at this place")
        const pipeline = pipelineOf(service, connection, topic)
        const { key, value, headers } = record
        return {
          connection,
          topic,
          pipeline: pipeline?.id ?? null,
          summary: summarizer(pipeline)(record),
          key_base64: key === undefined ? null : base64(key),
          value_base64: base64(value),
          headers: headers.map(([name, bytes]) => ({
            name,
            value: maskHeader(name, Buffer.from(bytes).toString()),
          })),
        }
      }),
  })

async function recordAt(
  reader: LogReader,
  topic: string,
  partition: number,
  offset: number,
): Promise<StoredRecord | undefined> {
  const range = (await reader.ranges(topic)).find((it) => it.partition === partition)
  if (range === undefined || offset < range.first || offset >= range.end) return undefined
  const { signal } = new AbortController()
  const one = [{ partition, first: offset, end: offset + 1 }]
  for await (const record of reader.read(topic, one, { retries: false, signal })) return record
  return undefined
}

/** A connection that can't be read now, or has no log yet, has no topics. */
function none(error: unknown): TopicInfo[] {
  if (problemOf(error) === undefined) throw error
  return []
}

/** @throws ApiError 400 */
function conditionOf(text: string | undefined): Matches | undefined {
  return text === undefined || text === "" ? undefined : parseCondition(text)
}

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64")
