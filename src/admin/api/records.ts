import { isUtf8 } from "node:buffer"
import { Type } from "./shape.ts"
import type { LogReader, StoredRecord, TopicInfo } from "../../brokers/broker.ts"
import { parseCondition, type Matches } from "../../brokers/record-filter.ts"
import { countByTime } from "../../brokers/record-counts.ts"
import { recordsBefore } from "../../brokers/records-before.ts"
import { isJson } from "../../json/check.ts"
import { parsePointer } from "../../json/pointer.ts"
import { maskHeader } from "../../verify/explain/mask-request.ts"
import { headerNameIn, placesOf } from "../../verify/presets/event-locations.ts"
import { withoutSchemaId } from "../../json/schema-id.ts"
import type { PipelineInfo, Service } from "../service.ts"
import { liveRecords } from "./live-records.ts"
import type { LiveDeps } from "./live.ts"
import { before, formatOffsets, parseOffsets } from "./offsets.ts"
import { ApiError, problemOf } from "./problem.ts"
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
const time = Type.Optional(Type.Number({ description: "Milliseconds since 1970." }))
/** Parts of a range in which records are counted. */
const BARS = 60
const MAX_OFFSET = Number.MAX_SAFE_INTEGER

type RecordsDeps = Pick<LiveDeps, "service" | "streams" | "failed">

export const recordRoutes = (deps: RecordsDeps): ApiRoute[] => [
  topicsRoute(deps),
  pageRoute(deps),
  countsRoute(deps),
  liveRoute(deps),
  recordRoute(deps),
]

/** Opens a connection's log while it is used. */
async function readLog<T>(
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

const pageRoute = ({ service }: RecordsDeps): ApiRoute =>
  route("GET /api/records", {
    summary: "Records of a topic, the newest first.",
    query: Type.Object({
      ...TOPIC,
      partition: Type.Optional(Type.Integer({ minimum: 0 })),
      since: time,
      until: time,
      where: CONDITION,
      before: Type.Optional(Type.String({ maxLength: 8000, description: "`older` of the page before it." })),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_RECORDS, default: 50 })),
    }),
    response: RecordPage,
    answer: ({
      query: { connection, topic, partition, since, until, where, limit = 50, ...query },
      request,
    }) =>
      readLog(service, connection, async (reader) => {
        const matches = conditionOf(where)
        const offsets = query.before === undefined ? undefined : parseOffsets(query.before)
        if (query.before !== undefined && offsets === undefined)
          throw new ApiError(400, "query, before: is not the `older` of a page")
        const all = await reader.ranges(topic, { sinceMs: since, untilMs: until })
        const wanted = partition === undefined ? all : all.filter((it) => it.partition === partition)
        const { records, older, scanned } = await recordsBefore(
          reader,
          topic,
          offsets === undefined ? wanted : before(wanted, offsets),
          {
            limit,
            maxScanned: MAX_SCANNED,
            matches,
            toValue: summarizer(pipelineOf(service, connection, topic)),
            signal: request.signal,
          },
        )
        const next = formatOffsets(new Map(older.map((range) => [range.partition, range.end])))
        return { records: [...records], older: next === "" ? null : next, scanned }
      }),
  })

const countsRoute = ({ service }: RecordsDeps): ApiRoute =>
  route("GET /api/records/counts", {
    summary: "How many records of a topic came when, for a histogram.",
    query: Type.Object({ ...TOPIC, since: time, until: time }),
    response: RecordCounts,
    answer: ({ query: { connection, topic, since, until }, request: { signal } }) =>
      readLog(service, connection, async (reader) => {
        const times = { sinceMs: since, untilMs: until }
        const { sinceMs, untilMs, counts } = await countByTime(reader, topic, times, { parts: BARS, signal })
        return { since: sinceMs, until: untilMs, counts: [...counts] }
      }),
  })

const liveRoute = ({ service, streams, failed }: RecordsDeps): ApiRoute =>
  route("GET /api/records/live", {
    summary: "New records of a topic as they come. Last-Event-ID goes on where a stream broke off.",
    query: Type.Object({ ...TOPIC, where: CONDITION }),
    events: { records: LiveRecords },
    async answer({ query: { connection, topic, where }, request, connection: client }) {
      const matches = conditionOf(where)
      const summarize = summarizer(pipelineOf(service, connection, topic))
      const last = parseOffsets(request.headers.get("last-event-id") ?? "")
      // fails here rather than in the stream
      await readLog(service, connection, (reader) => reader.ranges(topic))
      return streams.answer(request, client, (stream) => {
        void readLog(service, connection, (reader) =>
          liveRecords({ reader, topic, matches, summarize, last, stream }),
        ).catch((error: unknown) => {
          stream.end()
          if (problemOf(error) === undefined) failed(error)
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

/** The first pipeline whose sink publishes to a topic. */
const pipelineOf = (service: Service, connection: string, topic: string): PipelineInfo | undefined =>
  service.pipelines().find((it) => it.connection === connection && it.topic === topic)

/** @throws ApiError 400 */
function conditionOf(text: string | undefined): Matches | undefined {
  return text === undefined || text === "" ? undefined : parseCondition(text)
}

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64")

const PREVIEW_BYTES = 256
const KEY_BYTES = 256

/** Texts that senders choose: what is shown of a type or id. */
const TEXT_BYTES = 200

/**
 * Makes the summaries of a topic's records.
 *
 * @param pipeline the first that publishes to the topic; undefined: none does
 */
function summarizer(pipeline: PipelineInfo | undefined): (record: StoredRecord) => RecordSummary {
  const type = partOf(pipeline, "type")
  const id = partOf(pipeline, "id")
  return (record) => {
    const { partition, offset, timestampMs, key, value } = record
    const body = withoutSchemaId(value)
    const json = isJson(body)
    return {
      partition,
      offset,
      timestamp: timestampMs,
      key: key === undefined ? null : textOf(key, KEY_BYTES),
      bytes: value.length,
      type: type(record, json) ?? null,
      event_id: id(record, json) ?? null,
      preview: textOf(body, PREVIEW_BYTES),
    }
  }
}

type Part = (record: StoredRecord, isJson: boolean) => string | undefined

/** Where records have the event's id or type: in the body, or in a header that the sink writes; else in a member `id` or `type`. */
function partOf(pipeline: PipelineInfo | undefined, part: "id" | "type"): Part {
  const { event = {}, recordHeaders = new Map<string, string>() } = pipeline ?? {}
  const finders = [...placesOf(event, part), `json:/${part}`].flatMap(
    (place): ((...of: Parameters<Part>) => Uint8Array | undefined)[] => {
      const find = place.startsWith("json:") ? parsePointer(place.slice("json:".length)) : undefined
      if (find !== undefined) return [({ value }, json) => (json ? find(withoutSchemaId(value)) : undefined)]
      const header =
        recordHeaders.get(`event:${part}`) ?? recordHeaders.get(place) ?? headerNameIn(place)?.toLowerCase()
      return header === undefined ? [] : [({ headers }) => headers.find(([name]) => name === header)?.[1]]
    },
  )
  return (record, json) => {
    for (const find of finders) {
      const found = find(record, json)
      if (found !== undefined) return textOf(found, TEXT_BYTES)
    }
    return undefined
  }
}

/** The beginning of bytes as text; what is not UTF-8 becomes U+FFFD. */
function textOf(bytes: Uint8Array, maxBytes: number): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, maxBytes)).toString()
  // a character that the limit cuts is no fault of the bytes
  return bytes.length > maxBytes && isUtf8(bytes) ? text.replace(/\ufffd+$/, "") : text
}
