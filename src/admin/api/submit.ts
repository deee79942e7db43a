import type { Submission } from "../../http/submission.ts"
import { publishedPlaceOf, type PublishedPlace } from "../captured.ts"
import type { Service } from "../service.ts"
import { ApiError } from "./problem.ts"
import type { CaptureDetail, SendResult } from "./shapes.ts"

/** Answers of pipelines are short. */
const MAX_SHOWN_BYTES = 64 * 1024

/** Answers a request as its sender would be answered. @throws ApiError 404 */
export async function resultOf(
  service: Service,
  pipeline: string,
  submission: Submission,
): Promise<SendResult> {
  const startMs = performance.now()
  const result = await service.receiver.submit(pipeline, submission)
  if (result === undefined) throw new ApiError(404, "no pipeline has this id")
  const { response, answered } = result
  const body = new Uint8Array(await response.arrayBuffer())
  return {
    status: response.status,
    duration_ms: Math.round((performance.now() - startMs) * 10) / 10,
    headers: [...response.headers].map(([name, value]) => ({ name, value })),
    body: Buffer.from(body.subarray(0, MAX_SHOWN_BYTES)).toString(),
    error: null,
    record: recordOf(service, pipeline, answered && publishedPlaceOf(answered)),
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

/** Has a pipeline answer an event as its sender's API lists it. @returns the status; 503 also where there is none to answer */
export async function inject(service: Service, pipeline: string, body: string): Promise<number> {
  const found = service.pipelines().find(({ id }) => id === pipeline)
  if (found === undefined) return 503
  const result = await service.receiver.submit(pipeline, {
    method: "POST",
    path: found.path.replace(/\*$/, "injected"),
    query: "",
    headers: [["content-type", "application/json"]],
    body: Buffer.from(body),
    isOwn: true,
    isInjected: true,
  })
  return result?.response.status ?? 503
}
