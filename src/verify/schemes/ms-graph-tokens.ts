import { checkToken, remoteKeys } from "./jwt-keys.ts"
import type { VerifierSettings } from "./family.ts"
import type { Fetcher } from "../fetch/fetcher.ts"
import { Refused } from "../verifier.ts"

const KEYS = "https://login.microsoftonline.com/common/discovery/v2.0/keys"
/** The application id of Microsoft Graph Change Tracking, which publishes change notifications. */
const PUBLISHER = "0bf30f3b-4a52-48df-9a82-234910c4a086"
const LEEWAY_MS = 300_000
/** Requests have one for each pair of application and tenant. */
const MOST_TOKENS = 64

/** Checks the tokens of a request; undefined: all valid. */
type CheckTokens = (tokens: readonly unknown[], nowMs: number) => Promise<Refused | undefined>

/**
 * Checks the `validationTokens` of resource data: JSON Web Tokens of Microsoft's identity platform, issued to the publisher
 * of change notifications for the application in `audience`.
 *
 * @see https://learn.microsoft.com/en-us/graph/change-notifications-with-resource-data#validating-the-authenticity-of-notifications
 */
export function graphTokens(settings: VerifierSettings, fetcher: Fetcher): CheckTokens {
  const key = remoteKeys(settings.jwks_url ?? KEYS, fetcher)
  const { audience } = settings
  const check = async (token: unknown, nowMs: number): Promise<Refused | undefined> => {
    if (typeof token !== "string") return new Refused("malformed", "a validationToken is not a string")
    const payload = await checkToken(token, key, {
      algorithms: ["RS256"],
      currentDate: new Date(nowMs),
      clockTolerance: LEEWAY_MS / 1000,
      requiredClaims: ["exp", "iss", "aud"],
      ...(audience === undefined ? {} : { audience }),
    })
    if (payload instanceof Refused) return payload
    const { iss, tid, azp, appid } = payload as { readonly [claim: string]: unknown }
    const issuers =
      settings.issuer === undefined
        ? [`https://sts.windows.net/${String(tid)}/`, `https://login.microsoftonline.com/${String(tid)}/v2.0`]
        : [settings.issuer]
    if (typeof iss !== "string" || !issuers.includes(iss))
      return new Refused("wrong_claim", "a validationToken has another issuer")
    return (azp ?? appid) === PUBLISHER
      ? undefined
      : new Refused("wrong_claim", "a validationToken is not from Microsoft Graph")
  }
  return async (tokens, nowMs) => {
    if (tokens.length > MOST_TOKENS)
      return new Refused("malformed", `validationTokens has more than ${MOST_TOKENS} tokens`)
    for (const token of tokens) {
      const refused = await check(token, nowMs)
      if (refused !== undefined) return refused
    }
    return undefined
  }
}
