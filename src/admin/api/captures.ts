import { withoutHidden } from "../../process/hidden-segments.ts"
import { Type } from "./shape.ts"
import { headerText } from "../../headers.ts"
import { adviceOn, notJudged, unknownPath } from "../../verify/explanation.ts"
import { maskRequest } from "../../verify/masking.ts"
import type { ActFields } from "../audit.ts"
import { rowOfReplica, unanswered, type AdminClient, type RowElsewhere } from "../admin-client.ts"
import { sequenceOf, type Captured, type CapturedRequest, type CaptureQuery } from "../captured.ts"
import type { Replicas } from "../replicas.ts"
import type { Service } from "../service.ts"
import { isOwnPage } from "./gate.ts"
import { wordsOf } from "./reason-words.ts"
import { ApiError } from "./problem.ts"
import { needsToken, route, type ApiRoute } from "./route.ts"
import { CaptureDetail, CaptureExplanation, CaptureSummary, SendResult } from "./shapes.ts"
import { recordOf, resultOf } from "./submit.ts"

const MAX_LISTED = 500
const ID = Type.Object({
  id: Type.String({ maxLength: 200, description: "`last`: the last refused one." }),
})
const captureId = Type.String({ pattern: "^[0-9a-z]{1,11}(@.{1,100})?$", description: "An id." })
const OF_PIPELINE = {
  pipeline: Type.Optional(Type.String({ maxLength: 249, description: "Of the request that `last` is." })),
}

export interface CaptureDeps {
  readonly service: Service
  readonly replicas: Replicas
}

/** Those that keep captured requests. */
interface Keepers {
  readonly service: Service
  readonly replicas: readonly AdminClient[]
}

export const keepersOf = ({ service, replicas }: CaptureDeps, request: Request): Keepers => ({
  service,
  replicas: replicas.answering(request),
})

export const captureRoutes = (deps: CaptureDeps): ApiRoute[] => [
  ...listRoutes(deps),
  ...captureRoutesOf(deps),
]

const listRoutes = (deps: CaptureDeps): ApiRoute[] => [
  route("GET /api/captures", {
    summary: "Captured requests, the newest first.",
    query: Type.Object({
      ...OF_PIPELINE,
      outcome: Type.Optional(CaptureSummary.properties.outcome),
      reason: Type.Optional(Type.String({ maxLength: 200 })),
      before: Type.Optional(captureId),
      after: Type.Optional(captureId),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_LISTED, default: 50 })),
    }),
    response: Type.Array(CaptureSummary),
    answer: ({ query: { limit = 50, ...query }, request }) =>
      newest(keepersOf(deps, request), { ...query, limit }),
  }),
  route("DELETE /api/captures", {
    summary: "Forgets all captured requests, and how many were refused and dropped.",
    async answer({ request }) {
      const { service, replicas } = keepersOf(deps, request)
      service.receiver.captures.clear()
      await Promise.all(replicas.map((it) => it.does("captures", "DELETE")))
    },
  }),
]

/** What is done with one captured request. */
const captureRoutesOf = (deps: CaptureDeps): ApiRoute[] => [
  route("GET /api/captures/:id", {
    summary: "A captured request, whole, with secrets and signatures masked.",
    params: ID,
    query: Type.Object({
      ...OF_PIPELINE,
      unmasked: Type.Optional(
        Type.Boolean({
          description:
            "As it arrived, secrets included; needs token. If none is set: only from the page's own origin, not through a proxy.",
        }),
      ),
    }),
    response: CaptureDetail,
    async answer({ params: { id }, query: { pipeline, unmasked = false }, request, token, note }) {
      if (unmasked) note({ unmasked: id })
      if (unmasked && token === "read_token") throw needsToken()
      if (unmasked && token === "none" && (isForwarded(request) || !isOwnPage(request)))
        throw new ApiError(
          403,
          "secrets are shown to holders of the token, or, without one, to requests with this listener's own Origin and not through a proxy; set token in [admin]",
        )
      const found = await findCapture(keepersOf(deps, request), id, pipeline)
      if (unmasked) note(aboutOf(found))
      if (!("client" in found)) return detailOf(found, deps.service, unmasked)
      const detail = await found.client.ask<CaptureDetail>(`${found.path}?unmasked=${unmasked}`)
      return { ...detail, summary: found.client.named(detail.summary) }
    },
  }),
  route("GET /api/captures/:id/explanation", {
    summary: "Why a captured request was verified or refused, by the pipeline's present settings.",
    params: ID,
    query: Type.Object(OF_PIPELINE),
    response: CaptureExplanation,
    async answer({ params: { id }, query: { pipeline }, request }) {
      const found = await findCapture(keepersOf(deps, request), id, pipeline)
      return "client" in found ? found.client.explain(found.path) : explanationOf(found, deps.service)
    },
  }),
  route("POST /api/captures/:id/resend", {
    summary:
      "Runs a captured request through its pipeline again, as it first came, verified by the time at which it did.",
    params: ID,
    query: Type.Object(OF_PIPELINE),
    response: SendResult,
    async answer({ params: { id }, query, request, note }) {
      const found = await findCapture(keepersOf(deps, request), id, query.pipeline)
      note(aboutOf(found))
      const result =
        "client" in found
          ? await found.client.ask<SendResult>(`${found.path}/resend`, "POST")
          : await resend(found, deps.service)
      note({ event_status: result.status })
      return result
    },
  }),
]

async function resend(request: CapturedRequest, service: Service): Promise<SendResult> {
  const { pipeline, method, path, query, headers, body, peerAddress, cameAtMs } = request
  if (pipeline === null)
    throw new ApiError(409, "no pipeline has the path of this request; it can't be sent again")
  if (body === undefined && method === "POST")
    throw new ApiError(
      409,
      request.bytes === null
        ? "it was refused before its body was read; have its sender send it again"
        : "its body was not kept; have its sender send it again",
    )
  return resultOf(service, pipeline, {
    method,
    path,
    query,
    headers,
    body: body ?? new Uint8Array(),
    peerAddress,
    firstCameAtMs: cameAtMs,
    isOwn: false,
  })
}

/** What the audit says of it. */
const aboutOf = ({ pipeline, request_id }: Pick<Captured, "pipeline" | "request_id">): ActFields => ({
  ...(pipeline !== null && { pipeline }),
  request_id,
})

/** A request that another replica keeps. */
type KeptElsewhere = RowElsewhere & CaptureSummary

async function findCapture(
  keepers: Keepers,
  id: string,
  pipeline: string | undefined,
): Promise<CapturedRequest | KeptElsewhere> {
  const wanted = id === "last" ? (await lastRefused(keepers, pipeline))?.id : id
  const found = wanted === undefined ? undefined : await find(keepers, wanted)
  if (found !== undefined) return found
  if (keepers.service.captureMode() === "off")
    throw new ApiError(404, "requests are not captured; set capture = refused in [admin]")
  throw new ApiError(
    404,
    id === "last" ? "no refused request is kept" : "no request of this id is kept any more",
  )
}

async function find(
  { service, replicas }: Keepers,
  id: string,
): Promise<CapturedRequest | KeptElsewhere | undefined> {
  const own = service.receiver.captures.find(id)
  if (own !== undefined) return own
  const row = rowOfReplica(replicas, "captures", id)
  const detail = await row?.client.ask<CaptureDetail>(row.path).catch(unanswered)
  return row && detail && { ...detail.summary, ...row }
}

/** Whether a proxy passes it on, so that its caller may be anywhere: without a token the listener is a loopback one. */
const isForwarded = ({ headers }: Request): boolean =>
  ["forwarded", "via", "x-forwarded-for", "x-real-ip"].some((name) => headers.has(name))

/** The path of a list of captured requests in the API of another replica. */
export function pathOf(query: CaptureQuery): string {
  const texts = Object.entries(query).filter(([, it]) => it !== undefined)
  return `captures?${new URLSearchParams(texts.map(([name, it]): [string, string] => [name, `${it}`]))}`
}

/** The captures of all replicas, the newest first. */
export async function newest({ service, replicas }: Keepers, query: CaptureQuery): Promise<CaptureSummary[]> {
  const own = service.receiver.captures.list(query).map(summaryOf)
  const others = replicas.map((it) => it.rows<CaptureSummary>(pathOf(query)))
  return [own, ...(await Promise.all(others))]
    .flat()
    .toSorted((a, b) => sequenceOf(b.id) - sequenceOf(a.id))
    .slice(0, query.limit)
}

/** Requests for no pipeline come last: a scanner's shall not hide a sender's. */
async function lastRefused(
  keepers: Keepers,
  pipeline: string | undefined,
): Promise<CaptureSummary | undefined> {
  const refused = await newest(keepers, { pipeline, outcome: "rejected", limit: MAX_LISTED })
  return refused.find((it) => it.pipeline !== null) ?? refused[0]
}

const SUMMARY = Object.keys(CaptureSummary.properties) as (keyof CaptureSummary)[]

export function summaryOf(captured: Captured): CaptureSummary {
  const { reason, detail = null } = captured
  const all = { ...captured, path: withoutHidden(captured.path), words: wordsOf(reason), detail }
  return Object.fromEntries(SUMMARY.map((key) => [key, all[key]])) as unknown as CaptureSummary
}

async function detailOf(
  captured: CapturedRequest,
  service: Service,
  unmasked: boolean,
): Promise<CaptureDetail> {
  const { url, headers, body, cameAtMs, detail, place, pipeline, bytes } = captured
  const verifications = pipeline === null ? [] : service.verifications(pipeline)
  const texts = headers.map(([name, value]) => [name, headerText(value)] as const)
  const shown = unmasked
    ? { url, headers: texts, body: body ?? new Uint8Array() }
    : await maskRequest(signedOf(captured), verifications, cameAtMs)
  const isMasked =
    shown.url !== url ||
    (body !== undefined && shown.body !== body) ||
    shown.headers.some(([, value], at) => value !== texts[at]![1])
  return {
    summary: summaryOf(captured),
    url: unmasked ? shown.url : withoutHidden(shown.url),
    came_at: cameAtMs,
    headers: shown.headers.map(([name, value]) => ({ name, value })),
    body_base64: body === undefined ? null : Buffer.from(shown.body).toString("base64"),
    is_masked: !unmasked && isMasked,
    is_truncated: body === undefined && bytes !== null,
    detail: detail ?? null,
    record: recordOf(service, pipeline, place),
  }
}

const signedOf = ({ method, path, query, url, headers, body = new Uint8Array() }: CapturedRequest) => ({
  method,
  path,
  query,
  url,
  headers: headersOf(headers),
  body,
})

/** The headers as they were: one that came several times is joined already. */
const headersOf = (headers: CapturedRequest["headers"]): Headers =>
  new Headers(headers.map(([name, value]): [string, string] => [name, value]))

async function explanationOf(captured: CapturedRequest, service: Service): Promise<CaptureExplanation> {
  const { pipeline, cameAtMs, body, outcome, reason, status, headers } = captured
  const pipelines = service.pipelines()
  if (pipeline === null) return notJudged(null, unknownPath(pipelines.map(({ path }) => path)))
  const report = await service.explain(pipeline, { ...signedOf(captured), body }, cameAtMs)
  const limits = pipelines.find(({ id }) => id === pipeline)?.limits
  const masked =
    body && (await maskRequest(signedOf(captured), service.verifications(pipeline), cameAtMs)).body
  const asked = { reason, pipeline, headers: headersOf(headers), body: masked }
  const isVerifiedNow = report.is_verified && outcome === "rejected"
  return {
    ...report,
    advice: outcome === "accepted" ? null : adviceOn(asked, status, limits),
    result: isVerifiedNow ? `${report.result} ${whyNotThen(reason)}` : report.result,
  }
}

/** What the check of a refused request's signature would hide. */
const whyNotThen = (reason: string): string =>
  reason.startsWith("unverified_")
    ? "It was not when it was received: send it again."
    : "It was refused for another reason than its signature."
