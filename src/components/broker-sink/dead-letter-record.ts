import type { Event } from "../../pipeline/event.ts"
import type { Dropped, Rejected } from "../../pipeline/outcome.ts"
import type { Record, RecordHeader } from "../../pipeline/record.ts"
import { headerBytes } from "../../headers.ts"
import { toLocalTime } from "../local-time.ts"

/** Prefix of header names, as `__connect.errors.` of Kafka Connect's dead letters. */
export const ERRORS = "hookline.errors."

const encoder = new TextEncoder()

/**
 * A dead letter, see docs/dead-letters.md: the value is the body as received, decompressed; no key; headers with the reason and
 * origin, in UTF-8 but for the Content-Type, which is passed on byte for byte.
 *
 * @param from the pipeline, and the event's topic
 */
export function deadLetterRecord(
  topic: string,
  event: Event,
  outcome: Rejected | Dropped,
  from: { readonly pipeline: string; readonly topic: string },
): Record {
  const { request, receivedAtMs, receivedBody } = event
  const rejected = outcome.kind === "rejected" ? outcome : undefined
  const fields = {
    reason: outcome.reason,
    detail: rejected?.logDetail ?? outcome.detail,
    status: rejected?.status.toString(),
    pipeline: from.pipeline,
    topic: event.topic ?? from.topic,
    received_at: toLocalTime(receivedAtMs),
    path: request.path,
  }
  const headers = Object.entries(fields).flatMap(([name, value]): RecordHeader[] =>
    value === undefined ? [] : [[ERRORS + name, encoder.encode(value)]],
  )
  const type = request.headers.get("content-type")
  if (type !== null) headers.push([`${ERRORS}content_type`, headerBytes(type)])
  return { topic, value: receivedBody, headers }
}
