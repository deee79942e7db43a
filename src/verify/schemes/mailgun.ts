import type { Family } from "./family.ts"
import { formatTime, parseTime } from "./freshness.ts"
import { member, readSignedJson, withMember } from "./json-body.ts"
import { macFamily } from "./mac-family.ts"
import type { Claim } from "./signature.ts"
import { Refused, type SignedRequest } from "../verifier.ts"

/** Mailgun retries for 8 h and does not document whether retries are signed anew. */
const TOLERANCE_MS = 9 * 3_600_000

/**
 * Mailgun: the body's `signature` object holds a time, a token and the HMAC of both; the rest of the body is unsigned.
 * Events of a subaccount have a second HMAC by the primary account's key; either may match.
 *
 * @see https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/securing-webhooks
 * @see https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/webhook-retries
 */
export function mailgun(): Family {
  return macFamily(
    () => ({
      read,
      write({ method, url, headers, body, id: token }, nowMs, expected) {
        const timestamp = formatTime(nowMs, "s")
        const signature = { timestamp, token, signature: expected([timestamp + token]) }
        return { method, url, headers: new Headers(headers), body: withMember(body, "signature", signature) }
      },
    }),
    {
      family: "mailgun",
      toleranceMs: TOLERANCE_MS,
      covers: () => ({ body: "none", time: true, id: true }),
    },
  )
}

function read({ body }: SignedRequest): Claim | Refused {
  const json = readSignedJson(body)
  if (json instanceof Refused) return json
  const parts = member(json, "signature")
  if (typeof parts !== "object" || parts === null)
    return new Refused("missing_header", "no signature in the body")
  const [timestamp, token, signature] = ["timestamp", "token", "signature"].map((name) => member(parts, name))
  const isTime = typeof timestamp === "string" || typeof timestamp === "number"
  if (
    !isTime ||
    typeof token !== "string" ||
    typeof signature !== "string" ||
    token === "" ||
    signature === ""
  )
    return new Refused("malformed", "signature lacks timestamp, token or signature")
  const timestampMs = parseTime(String(timestamp), "s")
  if (timestampMs === undefined) return new Refused("malformed", "signature.timestamp is not a timestamp")
  const parent = member(parts, "parent-signature")
  const signatures = typeof parent === "string" && parent !== "" ? [signature, parent] : [signature]
  return { signatures, signed: [`${timestamp}${token}`], timestampMs, id: token }
}
