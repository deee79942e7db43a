import { isUtf8 } from "node:buffer"
import type { StoredRecord } from "../../brokers/broker.ts"
import { isJson } from "../../json/check.ts"
import { parsePointer } from "../../json/pointer.ts"
import { withoutSchemaId } from "../../json/schema-id.ts"
import type { PipelineInfo } from "../service.ts"
import type { RecordSummary } from "./shapes.ts"

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
    const { partition, offset, timestampMs, key, value } = record
    const body = withoutSchemaId(value)
    const json = type === undefined && id === undefined ? false : isJson(body)
    return {
      partition,
      offset,
      timestamp: timestampMs,
      key: key === undefined ? null : textOf(key, KEY_BYTES),
      bytes: value.length,
      type: type?.(record, json) ?? null,
      event_id: id?.(record, json) ?? null,
      preview: textOf(body, PREVIEW_BYTES),
    }
  }
}

type Part = (record: StoredRecord, isJson: boolean) => string | undefined

/** Where records have the event's id or type: in the body, or in a header that the sink writes. */
function partOf(pipeline: PipelineInfo | undefined, part: "id" | "type"): Part | undefined {
  const location = pipeline?.event[part]
  if (pipeline === undefined || location === undefined) return undefined
  const find = location.startsWith("json:") ? parsePointer(location.slice("json:".length)) : undefined
  if (find !== undefined)
    return ({ value }, json) => {
      const found = json ? find(withoutSchemaId(value)) : undefined
      return found && textOf(found, TEXT_BYTES)
    }
  const header = pipeline.recordHeaders.get(`event:${part}`) ?? pipeline.recordHeaders.get(location)
  if (header === undefined) return undefined
  return ({ headers }) => {
    const found = headers.find(([name]) => name === header)?.[1]
    return found && textOf(found, TEXT_BYTES)
  }
}

/** The beginning of bytes as text; what is not UTF-8 becomes U+FFFD. */
function textOf(bytes: Uint8Array, maxBytes: number): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, maxBytes)).toString()
  // a character that the limit cuts is no fault of the bytes
  return bytes.length > maxBytes && isUtf8(bytes) ? text.replace(/\ufffd+$/, "") : text
}
