import type { Submission } from "../../http/submission.ts"
import type { PublishedPlace } from "../captured.ts"
import type { Service } from "../service.ts"
import { ApiError } from "./route.ts"
import type { CaptureDetail, SendResult } from "./shapes.ts"

/** Answers of pipelines are short. */
const MAX_SHOWN_BYTES = 64 * 1024

/** Has a process answer a request, as its sender would be answered. @throws ApiError 404, 503 */
export async function resultOf(
  service: Service,
  pipeline: string,
  submission: Submission,
): Promise<SendResult> {
  const [receiver] = service.receivers()
  if (receiver === undefined) throw new ApiError(503, "no worker answers; try again", { "Retry-After": "1" })
  const result = await receiver.submit({ pipeline, submission })
  if (result === undefined) throw new ApiError(404, "no pipeline has this id")
  const { status, headers, body, durationMs, place } = result
  return {
    status,
    duration_ms: Math.round(durationMs * 10) / 10,
    headers: headers.map(([name, value]) => ({ name, value })),
    body: Buffer.from(body.subarray(0, MAX_SHOWN_BYTES)).toString(),
    error: null,
    record: recordOf(service, pipeline, place),
  }
}

/** Where an event of a pipeline was published. */
export function recordOf(
  service: Service,
  pipeline: string | null,
  place: PublishedPlace | undefined,
): CaptureDetail["record"] {
  const sink = service.pipelines().find(({ id }) => id === pipeline)
  if (place === undefined || sink === undefined) return null
  const { topic, partition, offset } = place
  return { connection: sink.connection, topic: topic ?? sink.topic, partition, offset }
}
