// Hot path: every verified event passes here.
import type { VerifiedLimits } from "../pipeline.ts"
import { refusedFor, REFUSALS } from "./answer.ts"
import type { Route } from "./route.ts"

/** Has a pipeline take a token for each event behind its verification, so that verified events alone spend them. */
export function verifiedLimits({
  rateLimit,
  unverifiedLimit,
}: Pick<Route, "rateLimit" | "unverifiedLimit">): VerifiedLimits {
  return {
    step(event) {
      if (unverifiedLimit?.isWatching === true) unverifiedLimit.verified(event.request.remoteAddress)
      const waitS = rateLimit === undefined ? 0 : rateLimit.take()
      return waitS > 0 ? refusedFor(REFUSALS.rate_limited, waitS) : event
    },
    unverified: ({ remoteAddress }) => unverifiedLimit?.refused(remoteAddress),
  }
}
