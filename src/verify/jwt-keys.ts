import type { KeyObject } from "node:crypto"
import {
  createRemoteJWKSet,
  customFetch,
  jwtVerify,
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
} from "jose"
import { WrongSetting, type Outside } from "./family.ts"
import { jwksFetch } from "./jwks-fetch.ts"
import { toRefused } from "./jwt-refusal.ts"
import type { Refused } from "./verifier.ts"

/** Milliseconds that fetched keys are used before they are fetched again. */
const KEYS_MAX_AGE_MS = 600_000
/** Milliseconds between fetches for key ids that are not known, so that wrong tokens can't cause many. */
const KEYS_COOLDOWN_MS = 30_000

/** What tokens are checked with: one key, or a set that is fetched. */
export type VerifyingKey = { readonly one: KeyObject | Uint8Array } | { readonly set: JWTVerifyGetKey }

/**
 * The keys at a URL.
 *
 * @throws WrongSetting
 */
export function remoteKeys(text: string, outside: Outside): VerifyingKey {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== "https:" && url?.protocol !== "http:")
    throw new WrongSetting("jwks_url", "is not a URL that begins with https:// (or http://)")
  const set = createRemoteJWKSet(url, {
    [customFetch]: jwksFetch(outside),
    cacheMaxAge: KEYS_MAX_AGE_MS,
    cooldownDuration: KEYS_COOLDOWN_MS,
  })
  return { set }
}

/** The claims of a token whose signature and times are right; `options` has the date that it is judged at. */
export async function checkToken(
  token: string,
  key: VerifyingKey,
  options: JWTVerifyOptions,
): Promise<JWTPayload | Refused> {
  try {
    const verified =
      "set" in key ? await jwtVerify(token, key.set, options) : await jwtVerify(token, key.one, options)
    return verified.payload
  } catch (error) {
    return toRefused(error, "set" in key, options.currentDate!.getTime())
  }
}
