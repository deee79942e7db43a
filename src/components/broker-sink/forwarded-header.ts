// Hot path: every event passes here.
import type { RequestInfo } from "../../pipeline/event.ts"

/**
 * Header of a request that `hookline forward` posts, and of the record that becomes of it: the ids of the forwards that it
 * came through. A forward does not post what has come through it before, so that a loop ends after one round.
 */
export const FORWARDED = "hookline-forwarded"
const MAX_LENGTH = 1000

/** The value for the record; undefined: the request is no forward's. */
export function forwardedBy({ headers }: RequestInfo): Buffer | undefined {
  const ids = headers.get(FORWARDED)
  return ids === null ? undefined : Buffer.from(ids.slice(-MAX_LENGTH))
}
