import { settled } from "../crypto.ts"
import { formReader, type HmacForm } from "../schemes/hmac-form.ts"
import { macVerifier } from "../schemes/mac-family.ts"
import { inCode, toMs, type VerifySettings } from "./options.ts"
import { verifyBy, type ReceivedRequest, type RequestOptions, type VerifyResult } from "./request.ts"

/**
 * `hookline/verify/hmac`: `verify` for one sender that signs by an HMAC, for bundles that must be small. The senders are in
 * `hookline/verify/senders`.
 */

export type { ReceivedRequest, RequestOptions, VerifyResult } from "./request.ts"
export type { HmacForm } from "../schemes/hmac-form.ts"

export interface HmacOptions extends Pick<VerifySettings, "secret" | "tolerance">, RequestOptions {
  /** `import { stripe } from "hookline/verify/senders"`, or a form of one's own. */
  readonly sender: HmacForm
}

/**
 * Verifies a request, which can still be read afterwards.
 *
 * @throws TypeError for a missing or malformed option, or a body that was read before
 */
export async function verify(
  request: Request | ReceivedRequest,
  { sender, secret, tolerance, ...options }: HmacOptions,
): Promise<VerifyResult> {
  const settings = {
    secret: [secret ?? []].flat(),
    ...(tolerance !== undefined && { tolerance: toMs(tolerance) }),
  }
  const verifier = inCode(() =>
    settled(macVerifier({ ...sender, read: formReader(sender) }, settings, sender)),
  )
  return verifyBy(verifier, request, options)
}
