import { checkToken, remoteKeys } from "./jwt-keys.ts"
import type { Outside, VerifierSettings } from "./family.ts"
import { Refused } from "./verifier.ts"

const KEYS = "https://login.microsoftonline.com/common/discovery/v2.0/keys"
/** Microsoft Graph Change Tracking: the application that publishes change notifications. */
const PUBLISHER = "0bf30f3b-4a52-48df-9a82-234910c4a086"
const LEEWAY_MS = 300_000
/** One is there for each pair of application and tenant. */
const MOST_TOKENS = 64

/** Says what is wrong with the tokens of a request; undefined: nothing. */
export type JudgeTokens = (tokens: readonly unknown[], nowMs: number) => Promise<Refused | undefined>

/**
 * Checks the `validationTokens` that come with resource data: JSON Web Tokens of Microsoft's identity platform, issued to
 * the publisher of change notifications, for the application in `audience`.
 *
 * @see https://learn.microsoft.com/en-us/graph/change-notifications-with-resource-data#validating-the-authenticity-of-notifications
 */
export function graphTokens(settings: VerifierSettings, outside: Outside): JudgeTokens {
  const key = remoteKeys(settings.jwks_url ?? KEYS, outside)
  const { audience } = settings
  const judge = async (token: unknown, nowMs: number): Promise<Refused | undefined> => {
    if (typeof token !== "string") return new Refused("malformed", "a validationToken is no text")
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
      return new Refused("wrong_claim", "a validationToken is of another issuer")
    return (azp ?? appid) === PUBLISHER
      ? undefined
      : new Refused("wrong_claim", "a validationToken is not of Microsoft Graph's change notifications")
  }
  return async (tokens, nowMs) => {
    if (tokens.length > MOST_TOKENS)
      return new Refused("malformed", `validationTokens has more than ${MOST_TOKENS} tokens`)
    for (const token of tokens) {
      const refused = await judge(token, nowMs)
      if (refused !== undefined) return refused
    }
    return undefined
  }
}
