import { isUtf8 } from "node:buffer"
import type { StoredRecord } from "../../brokers/broker.ts"
import { isJson } from "../../json/check.ts"
import { parsePointer } from "../../json/pointer.ts"
import { withoutSchemaId } from "../../json/schema-id.ts"
import { headerNameIn, placesOf } from "../../verify/senders.ts"
import type { PipelineInfo, Service } from "../service.ts"
import type { RecordSummary } from "./shapes.ts"

/** The first pipeline whose sink publishes to a topic. */
export const pipelineOf = (service: Service, connection: string, topic: string): PipelineInfo | undefined =>
  service.pipelines().find((it) => it.connection === connection && it.topic === topic)

const PREVIEW_BYTES = 256
const KEY_BYTES = 256

/** Texts that senders choose: what is shown of a type or id. */
const TEXT_BYTES = 200

/**
 * Makes the summaries of a topic's records.
 *
 * @param pipeline the first that publishes to the topic; undefined: none does
 */
export function summarizer(pipeline: PipelineInfo | undefined): (record: StoredRecord) => RecordSummary {
  const type = partOf(pipeline, "type")
  const id = partOf(pipeline, "id")
  return (record) => {
    const { topic, partition, offset, timestampMs, key, value } = record
    const body = withoutSchemaId(value)
    const json = isJson(body)
    return {
      topic,
      partition,
      slot: partition,
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
