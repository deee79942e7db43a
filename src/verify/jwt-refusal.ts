import { errors, type JWTPayload } from "jose"
import { Refused } from "./verifier.ts"

/**
 * What jose throws for tokens, as verdicts; where keys are fetched, what is none of these is that they could not be.
 *
 * @param nowMs when the token was judged, in milliseconds since 1970
 */
export function toRefused(error: unknown, isFetched: boolean, nowMs: number): Refused {
  if (error instanceof errors.JWTExpired)
    return error.reason === "check_failed"
      ? new Refused("stale", offTime(error, nowMs))
      : new Refused("malformed", error.message)
  if (error instanceof errors.JWTClaimValidationFailed) {
    const isTime = (error.claim === "nbf" || error.claim === "iat") && error.reason === "check_failed"
    return isTime ? new Refused("future", offTime(error, nowMs)) : new Refused("wrong_claim", error.message)
  }
  if (error instanceof errors.JWSSignatureVerificationFailed)
    return new Refused("no_match", "the key does not match")
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys)
    return new Refused("no_match", "the provider's keys have none for this token")
  if (error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid) return unavailable(error)
  if (error instanceof errors.JOSEError && error.code !== "ERR_JOSE_GENERIC")
    return new Refused("malformed", error.message)
  if (isFetched) return unavailable(error as Error)
  // a key that is of another kind than the token's algorithm wants
  return new Refused("no_match", "the key does not fit the token's algorithm")
}

/** How far the time of a claim is off, in the words of other schemes. */
function offTime({ claim, payload }: { claim: string; payload: JWTPayload }, nowMs: number): string {
  const seconds = Math.round(Number(payload[claim]) - nowMs / 1000)
  if (claim === "exp") return `the token expired ${-seconds} s ago`
  if (claim === "nbf") return `the token is good in ${seconds} s only`
  return seconds < 0 ? `timestamp ${-seconds} s old` : `timestamp ${seconds} s ahead`
}

const unavailable = (error: Error): Refused =>
  new Refused("keys_unavailable", `the keys could not be fetched: ${error.message}`)
