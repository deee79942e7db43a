import { withoutHidden } from "../../process/hidden-segments.ts"
import { Type } from "./shape.ts"
import {
  factsOf,
  presetOf,
  SAMPLE_SETTINGS,
  samplePath,
  samplePipeline,
  sampleRequest,
} from "../../verify/senders.ts"
import {
  findFamily,
  makeSigner,
  nameOf,
  PROVIDER_NAMES,
  type SettingKey,
  type Signer,
  type UnsignedRequest,
  type Verification,
  WrongSetting,
} from "../../verify/verification.ts"
import type { PipelineInfo, Service } from "../service.ts"
import { ApiError } from "./problem.ts"
import { route, type ApiRoute } from "./route.ts"
import { ProviderSetup, SampleRequest, SendRequest, SendResult } from "./shapes.ts"
import { resultOf } from "./submit.ts"

/** Samples for pipelines, sent as their providers would. */
export const sendRoutes = (service: Service): ApiRoute[] => [
  route("GET /api/samples/:pipeline", {
    summary: "An event as the pipeline's provider, or another, would send it, before it is signed.",
    params: Type.Object({ pipeline: Type.String({ maxLength: 249 }) }),
    query: Type.Object({ provider: SendRequest.properties.provider }),
    response: SampleRequest,
    answer({ params: { pipeline: id }, query: { provider } }) {
      const pipeline = pipelineOf(service, id)
      const verifications = service.verifications(id)
      const { headers, body } = sampleOf(verifications, provider)
      const signers = signersOf(verifications)
      return {
        pipeline: id,
        provider: provider ?? pipeline.provider ?? null,
        method: "POST",
        url: withoutHidden(samplePath(pipeline.url)),
        content_type: headers.get("content-type")!,
        body: Buffer.from(body).toString(),
        signed: typeof signers !== "string" && signers.length > 0,
        problem: typeof signers === "string" ? signers : null,
      }
    },
  }),
  route("POST /api/send", {
    summary:
      "Has a pipeline answer an event that is signed with its own secret, and that is published if it passes.",
    body: SendRequest,
    response: SendResult,
    async answer({ body: asked, note }) {
      note({ pipeline: asked.pipeline })
      const result = await send(service, asked)
      note({ event_status: result.status })
      return result
    },
  }),
  route("GET /api/providers", {
    summary: "The providers that are known, and the configuration of a pipeline for each.",
    response: Type.Array(ProviderSetup),
    answer: setups,
  }),
]

async function send(
  service: Service,
  { pipeline: id, body, content_type: contentType, provider, signed = true }: SendRequest,
): Promise<SendResult> {
  const pipeline = pipelineOf(service, id)
  const verifications = service.verifications(id)
  const signers = signed ? signersOf(verifications) : []
  if (typeof signers === "string") throw new ApiError(409, `${signers}; signed = false sends it unsigned`)
  const { headers, id: eventId } = sampleOf(verifications, provider)
  if (contentType !== undefined) setContentType(headers, contentType)
  const url = samplePath(pipeline.signedUrl)
  headers.set("host", new URL(url).host)
  const sent = await signedBy(signers, { method: "POST", url, headers, body: Buffer.from(body), id: eventId })
  return resultOf(service, id, {
    method: "POST",
    path: samplePath(pipeline.path),
    // what a signer has added
    query: sent.url.slice(url.length + 1),
    headers: [...sent.headers],
    body: sent.body,
    isOwn: true,
  })
}

function pipelineOf(service: Service, id: string): PipelineInfo {
  const pipeline = service.pipelines().find((it) => it.id === id)
  if (pipeline === undefined) throw new ApiError(404, "no pipeline has this id")
  return pipeline
}

function sampleOf(
  verifications: readonly Verification[],
  provider: string | undefined,
): ReturnType<typeof sampleRequest> & { readonly id: string } {
  if (provider !== undefined && findFamily(provider) === undefined)
    throw new ApiError(404, "no provider has this name; GET /api/providers lists them")
  const id = crypto.randomUUID()
  const atMs = Date.now()
  // numbers of samples are ids of some providers
  const number = (Math.floor(atMs / 1000) % 1_000_000) + 1
  return { id, ...sampleRequest(provider ?? verifications[0]?.provider, { id, number, atMs }) }
}

/** A signer for each Verifier of the pipeline; a text: why requests can't be signed. */
function signersOf(verifications: readonly Verification[]): readonly Signer[] | string {
  try {
    return verifications.map(({ provider, settings }) => {
      if (findFamily(provider)?.signer === undefined)
        throw new WrongSetting("provider", `only ${nameOf(provider)} has the key that signs`)
      if (settings.secret === undefined && settings.password === undefined)
        throw new WrongSetting("provider", "the pipeline has no key to sign with, only one to verify")
      return makeSigner(provider, settings)
    })
  } catch (error) {
    if (error instanceof WrongSetting) return error.message
    throw error
  }
}

async function signedBy(signers: readonly Signer[], request: UnsignedRequest): Promise<UnsignedRequest> {
  let signed = request
  for (const signer of signers) signed = { ...signed, ...(await signer.sign(signed, Date.now())) }
  return signed
}

/** @throws ApiError 400 */
function setContentType(headers: Headers, value: string): void {
  try {
    headers.set("content-type", value)
  } catch (error) {
    if (error instanceof TypeError) throw new ApiError(400, "body, content_type: is no value of a header")
    throw error
  }
}

/** All providers and generic kinds, and how a pipeline receives their events. */
const setups = (): ProviderSetup[] =>
  PROVIDER_NAMES.map((provider) => {
    const preset = presetOf(provider)
    return {
      provider,
      title: preset !== undefined && "title" in preset ? preset.title : `${provider} (any sender)`,
      docs: preset?.docs ?? null,
      note: preset?.note ?? null,
      setup: factsOf(provider).setup ?? null,
      configuration: samplePipeline(provider, settingsFor(provider)),
    }
  })

/** Secrets come from the environment, by the names that the documentation has: STRIPE_WEBHOOK_SECRET. */
const settingsFor = (provider: string): readonly [SettingKey, string][] =>
  (findFamily(provider)!.requires[0] ?? []).map((key) => {
    const variable = `${provider}_${key === "secret" ? "webhook_secret" : key}`
    return [key, SAMPLE_SETTINGS[key] ?? `\${${variable.replaceAll("-", "_").toUpperCase()}}`]
  })
