import { settle } from "../crypto.ts"
import { diagnose } from "../explain/diagnosis.ts"
import { reportOf, type Report } from "../explain/report.ts"
import { makeVerifier } from "../presets/providers.ts"
import { inCode, toSettings } from "./options.ts"
import { signedRequest, tooLarge, type ReceivedRequest } from "./request.ts"
import type { VerifyOptions } from "./verify.ts"

/** `hookline/verify/explain`: what the command `hookline verify` says of a request, in any runtime. */

export type { Report } from "../explain/report.ts"

export interface ExplainOptions extends VerifyOptions {
  /** Whether the report has signatures in full: who sees one that was expected can send the request. Default: false. */
  readonly showSignatures?: boolean | undefined
}

/**
 * Why a request is verified or refused: for a refused one searches for the mistake, by trying the request with one change at a
 * time. Takes up to a second: for people, not for each event. The report holds no secret.
 *
 * @throws TypeError as `verify` does, and RangeError for a body that is too large
 */
export async function explain(
  request: Request | ReceivedRequest,
  { provider, url, now, maxBodyBytes, showSignatures = false, ...given }: ExplainOptions,
): Promise<Report> {
  const settings = toSettings(given)
  inCode(() => makeVerifier(provider, settings))
  const options = { url, maxBodyBytes }
  const signed = await signedRequest(request, options)
  if (signed === undefined) throw new RangeError(tooLarge(options))
  const inquiry = { provider, settings, request: signed, nowMs: now ?? Date.now() }
  const diagnosis = await diagnose(inquiry)
  return settle(() => reportOf(inquiry, diagnosis, { masksSignatures: !showSignatures }))
}
