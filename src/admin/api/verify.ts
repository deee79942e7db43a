import { diagnose, type Report, reportOf, requestTo, withHost } from "../../verify/explanation.ts"
import { findFamily, type SignedRequest, WrongSetting } from "../../verify/verification.ts"
import type { Service } from "../service.ts"
import { ApiError } from "./problem.ts"
import { route, type ApiRoute } from "./route.ts"
import { CaptureExplanation, VerifyRequest } from "./shapes.ts"

/** Explains a request that somebody pasted. Nothing of it is kept or logged, and no file is read that it names. */
export const verifyRoute = (service: Service): ApiRoute =>
  route("POST /api/verify", {
    summary: "Why a pasted request is verified or refused, as hookline verify - says; nothing of it is kept.",
    isReadOnly: true,
    body: VerifyRequest,
    response: CaptureExplanation,
    async answer({ body: { text, pipeline: id, provider, secret } }) {
      // shell words take long to load
      const { parsePasted, senderOfHeaders } = await import("./pasted-request.ts")
      const { url: sentTo, ...pasted } = parsePasted(Buffer.from(text), undefined)
      const pipeline = id === undefined ? undefined : service.pipelines().find((it) => it.id === id)
      if (id !== undefined && pipeline === undefined) throw new ApiError(404, "no pipeline has this id")
      const isWhole = sentTo !== undefined && !sentTo.startsWith("/")
      const url = isWhole ? sentTo : (pipeline?.signedUrl ?? withHost(sentTo ?? "/", pasted.headers))
      const request = requestTo(url, pasted)
      if (request === undefined) throw new ApiError(400, "the pasted request has no http or https URL")
      return pipeline === undefined
        ? explainBy(provider ?? senderOfHeaders(pasted.headers), secret, request)
        : service.explain(pipeline.id, request, Date.now())
    },
  })

async function explainBy(
  provider: string,
  secret: string | undefined,
  request: SignedRequest,
): Promise<Report> {
  if (findFamily(provider) === undefined)
    throw new ApiError(404, "no provider has this name; GET /api/providers lists them")
  const settings = secret === undefined || secret === "" ? {} : { secret: [secret] }
  const inquiry = { provider, settings, request, nowMs: Date.now(), pipeline: undefined }
  try {
    return await reportOf(inquiry, await diagnose(inquiry), { masksSignatures: true })
  } catch (error) {
    if (error instanceof WrongSetting) throw new ApiError(400, error.message)
    throw error
  }
}
