import { makeVerifier, PROVIDER_NAMES } from "../presets/providers.ts"
import type { ProviderName } from "./provider-name.ts"
import { inCode, toSettings, type VerifySettings } from "./options.ts"
import { verifyBy, type ReceivedRequest, type RequestOptions, type VerifyResult } from "./request.ts"

/**
 * `hookline/verify`: verifies webhooks in any runtime with Fetch and Web Crypto, by the code that the service has. Depends on
 * nothing. With `hookline/verify/server` also those that sign by certificates, key pairs and JSON Web Tokens.
 */

export type { ReceivedRequest, RequestOptions, VerifyResult } from "./request.ts"

export interface VerifyOptions extends VerifySettings, RequestOptions {
  /** `stripe`, `github`: see `PROVIDERS`. */
  readonly provider: ProviderName
}

/** The values of `provider`. */
export const PROVIDERS: readonly ProviderName[] = PROVIDER_NAMES

/**
 * Verifies a request, which can still be read afterwards.
 *
 * @throws TypeError for an unknown provider, a missing or malformed option, or a body that was read before
 */
export async function verify(
  request: Request | ReceivedRequest,
  { provider, url, now, maxBodyBytes, ...settings }: VerifyOptions,
): Promise<VerifyResult> {
  const verifier = inCode(() => makeVerifier(provider, toSettings(settings)))
  return verifyBy(verifier, request, { url, now, maxBodyBytes })
}
