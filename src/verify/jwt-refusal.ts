import { errors } from "jose"
import { Refused } from "./verifier.ts"

/** What jose throws for tokens, as verdicts; where keys are fetched, what is none of these is that they could not be. */
export function toRefused(error: unknown, isFetched: boolean): Refused {
  if (error instanceof errors.JWTExpired)
    return new Refused(error.reason === "check_failed" ? "stale" : "malformed", error.message)
  if (error instanceof errors.JWTClaimValidationFailed) {
    const isTime = (error.claim === "nbf" || error.claim === "iat") && error.reason === "check_failed"
    return new Refused(isTime ? "future" : "wrong_claim", error.message)
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

const unavailable = (error: Error): Refused =>
  new Refused("keys_unavailable", `the keys could not be fetched: ${error.message}`)
