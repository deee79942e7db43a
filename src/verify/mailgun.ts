import type { Family } from "./family.ts"
import { formatTime, parseTime } from "./freshness.ts"
import { member, readJson, withMember } from "./json-body.ts"
import { macFamily } from "./mac-family.ts"
import type { Claim } from "./signature.ts"
import { Refused, type SignedRequest } from "./verifier.ts"

/**
 * Mailgun: the body's `signature` object holds a time, a token and the HMAC of both. Nothing else of the body is signed.
 *
 * @see https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/securing-webhooks
 */
export function mailgun(): Family {
  return macFamily(
    () => ({
      signsUrl: false,
      algorithm: "sha256",
      encoding: "hex",
      read,
      write({ method, url, headers, body, id: token }, nowMs, expected) {
        const timestamp = formatTime(nowMs, "s")
        const signature = { timestamp, token, signature: expected([timestamp + token]) }
        return { method, url, headers: new Headers(headers), body: withMember(body, "signature", signature) }
      },
    }),
    { family: "mailgun", toleranceMs: 0 },
  )
}

function read({ body }: SignedRequest): Claim | Refused {
  const parts = member(readJson(body), "signature")
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
    return new Refused("malformed", "signature has not timestamp, token and signature")
  const timestampMs = parseTime(String(timestamp), "s")
  if (timestampMs === undefined) return new Refused("malformed", "signature.timestamp is not a time")
  return { signatures: [signature], signed: [`${timestamp}${token}`], timestampMs, id: token }
}
