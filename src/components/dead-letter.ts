import type { Dropped, Event, Rejected } from "../event.ts"
import type { Record, RecordHeader } from "../record.ts"
import { toLocalTime } from "./local-time.ts"

/** Before the name of each header, as Kafka Connect's dead letters have `__connect.errors.`. */
const PREFIX = "hookline.errors."

const encoder = new TextEncoder()

/**
 * The record of a body that was not published: the value is the body as it was received, decompressed; it has no key;
 * the headers, of text in UTF-8, say why and where it came from. docs/dead-letters.md describes them.
 *
 * @param event with the body as it was received
 * @param from the pipeline, and the topic that the event was meant for
 */
export function deadLetter(
  topic: string,
  event: Event,
  outcome: Rejected | Dropped,
  from: { readonly pipeline: string; readonly topic: string },
): Record {
  const { request, receivedAtMs, body } = event
  const rejected = outcome.kind === "rejected" ? outcome : undefined
  const fields = {
    reason: outcome.reason,
    detail: rejected?.logDetail ?? outcome.detail,
    status: rejected?.status.toString(),
    pipeline: from.pipeline,
    topic: from.topic,
    received_at: toLocalTime(receivedAtMs),
    path: request.path,
    content_type: request.headers.get("content-type") ?? undefined,
  }
  const headers = Object.entries(fields).flatMap(([name, value]): RecordHeader[] =>
    value === undefined ? [] : [[PREFIX + name, encoder.encode(value)]],
  )
  return { topic, value: body, headers }
}
