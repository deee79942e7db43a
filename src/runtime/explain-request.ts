import { parsePublicUrl, publicUrl } from "../http/public-url.ts"
import { addressTest, senderBehind } from "../addresses/addresses.ts"
import { diagnose, notJudged, type Report, reportOf, type ReportOptions } from "../verify/explanation.ts"
import {
  makeVerifier,
  nameOf,
  type SignedRequest,
  type Verification,
  WrongSetting,
} from "../verify/verification.ts"
import type { PlannedPipeline } from "./plan/plan.ts"

/** A request that was received; its body is undefined where not all of it was kept. */
type Captured = Omit<SignedRequest, "body"> & { readonly body: Uint8Array | undefined }

/**
 * Why a pipeline verifies a request or refuses it: the report of the first of its Verifiers that refuses it, else of the
 * last one. Takes up to a second: for people, not for events.
 *
 * @param nowMs when the request came
 */
export async function explainRequest(
  pipeline: Pick<PlannedPipeline, "id" | "processors">,
  request: Captured,
  nowMs: number,
  options?: ReportOptions,
): Promise<Report> {
  let report = notJudged(null, "The pipeline has no Verifier: it does not check who sends.")
  for (const { provider, settings } of verificationsOf(pipeline)) {
    try {
      const { body } = request
      if (body === undefined && makeVerifier(provider, settings).needs === "body")
        return notJudged(nameOf(provider), "Its body was not kept, so the signature can't be checked.")
      const kept = { ...request, body: body ?? new Uint8Array() }
      const inquiry = { provider, settings, request: kept, nowMs, pipeline: pipeline.id }
      report = await reportOf(inquiry, await diagnose(inquiry), options)
      if (!report.is_verified) return report
    } catch (error) {
      if (!(error instanceof WrongSetting)) throw error
      // the settings of a plan are valid but for a secret that the provider has yet to send
      return notJudged(nameOf(provider), `It can't be verified yet: ${error.message}.`)
    }
  }
  return report
}

/** How a pipeline's Verifiers verify, in their order; most pipelines have one or none. @throws HooklineError `config` */
export function verificationsOf({
  processors,
}: Pick<PlannedPipeline, "processors">): readonly Verification[] {
  return processors.flatMap((it) =>
    typeof it === "function" ? [] : (it.component.verification?.(it.values) ?? []),
  )
}

/**
 * The URL that a pipeline would take a request to have been sent to: by its `public_url`, or by what its trusted proxies
 * forward, the last of which is assumed to have passed it on.
 *
 * @param path that of the request; default: the pipeline's, of which a `*` stands for nothing
 */
export function urlAsTakenBy(
  { source: { values } }: PlannedPipeline,
  headers: Headers,
  path = String(values["path"]).replace(/\*$/, ""),
): string {
  const text = (key: string): string | undefined => values[key] as string | undefined
  const configured = text("public_url")
  const trusted = values["trusted_proxies"] as readonly string[] | undefined
  const trusts = trusted && addressTest(trusted)
  const { proxies } = senderBehind(
    PEER,
    headers.get("X-Forwarded-For"),
    (address) => trusts !== undefined && (address === PEER || trusts(address)),
  )
  const known = new Headers(headers)
  if (!known.has("Host")) known.set("Host", "localhost")
  return publicUrl(
    {
      configured: configured === undefined ? undefined : parsePublicUrl(configured),
      isTls: text("tls_certificate") !== undefined,
      proxies,
    },
    { path, query: "", headers: known },
  )
}

/** Whoever made the connection. */
const PEER = "peer"
