import type { KeyObject } from "node:crypto"
import type * as Jose from "jose"
import type { JWTPayload, JWTVerifyGetKey, JWTVerifyOptions } from "jose"
import { fetchFailure } from "../../outgoing/proxied-fetch.ts"
import { WrongSetting } from "./family.ts"
import { shortRsa } from "./public-key.ts"
import type { Fetcher } from "../fetch/fetcher.ts"
import { jwksFetch } from "../fetch/jwks.ts"
import { Refused } from "../verifier.ts"

/** Milliseconds that fetched keys are cached. */
const KEYS_MAX_AGE_MS = 600_000
/** Milliseconds between fetches for unknown key ids. */
const KEYS_COOLDOWN_MS = 30_000

/** Loaded with the first token: its modules take 13 ms of a start. */
const loadJose = () => import("jose")

/** One key, or a fetched JWKS. */
export type VerifyingKey = { readonly one: KeyObject | Uint8Array } | { readonly set: JWTVerifyGetKey }

/**
 * The keys at a URL.
 *
 * @throws WrongSetting
 */
export function remoteKeys(text: string, fetcher: Fetcher): VerifyingKey {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== "https:" && url?.protocol !== "http:")
    throw new WrongSetting("jwks_url", "is not an https:// or http:// URL")
  let set: JWTVerifyGetKey | undefined
  return {
    async set(...token) {
      const { createRemoteJWKSet, customFetch } = await loadJose()
      set ??= createRemoteJWKSet(url, {
        [customFetch]: jwksFetch(fetcher),
        cacheMaxAge: KEYS_MAX_AGE_MS,
        cooldownDuration: KEYS_COOLDOWN_MS,
      })
      const key = await set(...token)
      const short = shortRsa(bitsOf(key))
      if (short !== undefined) throw new ShortKey(`the JWKS has ${short}`)
      return key
    },
  }
}

/** Of an RSA key. */
const bitsOf = (key: Awaited<ReturnType<JWTVerifyGetKey>>): number | undefined =>
  key instanceof CryptoKey ? (key.algorithm as { readonly modulusLength?: number }).modulusLength : undefined

class ShortKey extends Error {}

/** The claims of a token with a valid signature and valid times; `options` has the current date. */
export async function checkToken(
  token: string,
  key: VerifyingKey,
  options: JWTVerifyOptions,
): Promise<JWTPayload | Refused> {
  const { errors, jwtVerify } = await loadJose()
  try {
    const verified =
      "set" in key ? await jwtVerify(token, key.set, options) : await jwtVerify(token, key.one, options)
    return verified.payload
  } catch (error) {
    return toRefused(error, errors, "set" in key, options.currentDate!.getTime())
  }
}

/** Converts jose's errors to refusals. With fetched keys any other error is a failed fetch. */
function toRefused(error: unknown, errors: typeof Jose.errors, isFetched: boolean, nowMs: number): Refused {
  if (error instanceof ShortKey) return new Refused("no_match", error.message)
  if (error instanceof errors.JWTExpired)
    return error.reason === "check_failed"
      ? new Refused("stale", offTime(error, nowMs))
      : new Refused("malformed", error.message)
  if (error instanceof errors.JWTClaimValidationFailed) {
    const isTime = (error.claim === "nbf" || error.claim === "iat") && error.reason === "check_failed"
    return isTime ? new Refused("future", offTime(error, nowMs)) : new Refused("wrong_claim", error.message)
  }
  if (error instanceof errors.JWSSignatureVerificationFailed)
    return new Refused("no_match", "signature mismatch")
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys)
    return new Refused("no_match", "no key for this token in the JWKS")
  if (error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid) return unavailable(error)
  if (error instanceof errors.JOSEError && error.code !== "ERR_JOSE_GENERIC")
    return new Refused("malformed", error.message)
  if (isFetched) return unavailable(error as Error)
  return new Refused("no_match", "the key's type does not fit the token's algorithm")
}

/** How far a claim's time is off. */
function offTime({ claim, payload }: { claim: string; payload: JWTPayload }, nowMs: number): string {
  const seconds = Math.round(Number(payload[claim]) - nowMs / 1000)
  if (claim === "exp") return `the token expired ${-seconds} s ago`
  if (claim === "nbf") return `the token is not valid for another ${seconds} s`
  return seconds < 0 ? `timestamp ${-seconds} s old` : `timestamp ${seconds} s ahead`
}

const unavailable = (error: Error): Refused =>
  new Refused("keys_unavailable", `fetching the keys failed: ${fetchFailure(error)}`)
