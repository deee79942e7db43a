import { Buffer } from "node:buffer"
import { formatOf } from "../../forms/body-format.ts"
import { declaredIn, UTF_8 } from "../../forms/charset.ts"
import { parseMultipart } from "../../forms/multipart.ts"
import { parseUrlencoded } from "../../forms/urlencoded.ts"
import type { Family } from "./family.ts"
import { formatTime, parseTime } from "./freshness.ts"
import { member, readSignedJson, withMember } from "./json-body.ts"
import { macFamily } from "./mac-family.ts"
import type { Claim } from "./signature-verifier.ts"
import { Refused, type SignedRequest } from "../verifier.ts"

const PARTS = ["timestamp", "token", "signature", "parent-signature"]

/** Mailgun retries for 8 h and does not document whether retries are signed anew. */
const TOLERANCE_MS = 9 * 3_600_000

/**
 * Mailgun: the body's `signature` object holds a time, a token and the HMAC of both; the rest of the body is unsigned.
 * Events of a subaccount have a second HMAC by the primary account's key; either may match. Messages that a route forwards are
 * forms, in which time, token and HMAC are fields.
 *
 * @see https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/securing-webhooks
 * @see https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/webhook-retries
 * @see https://documentation.mailgun.com/docs/mailgun/user-manual/receive-forward-store/receive-http
 */
export function mailgun(): Family {
  return macFamily(
    () => ({
      read,
      write({ method, url, headers, body, id: token }, nowMs, expected) {
        const timestamp = formatTime(nowMs, "s")
        const signature = { timestamp, token, signature: expected([Buffer.from(timestamp + token)]) }
        return { method, url, headers: new Headers(headers), body: withMember(body, "signature", signature) }
      },
    }),
    {
      family: "mailgun",
      toleranceMs: TOLERANCE_MS,
      covers: () => ({ body: "none", time: true, id: true, renewed: "signature" }),
    },
  )
}

function read({ headers, body }: SignedRequest): Claim | Refused {
  const parts = readParts(body, headers.get("Content-Type") ?? "")
  if (parts instanceof Refused) return parts
  const [timestamp, token, signature, parent] = PARTS.map((name) => member(parts, name))
  const isTime = typeof timestamp === "string" || typeof timestamp === "number"
  if (
    !isTime ||
    typeof token !== "string" ||
    typeof signature !== "string" ||
    token === "" ||
    signature === ""
  )
    return new Refused("malformed", "signature lacks timestamp, token or signature")
  // of a fixed length: the token follows without a separator
  const timestampMs = /^\d{10}$/.test(String(timestamp)) ? parseTime(String(timestamp), "s") : undefined
  if (timestampMs === undefined) return new Refused("malformed", "signature.timestamp is not a timestamp")
  const signatures = typeof parent === "string" && parent !== "" ? [signature, parent] : [signature]
  return { signatures, signed: [Buffer.from(`${timestamp}${token}`)], timestampMs, id: token }
}

/** The object with the signature: a member of the JSON body, or all fields of a form. */
function readParts(body: Uint8Array, contentType: string): object | Refused {
  const format = formatOf(body, contentType)
  if (format === "form" || format === "multipart") {
    const declared = declaredIn(contentType)
    if (declared !== undefined && "problem" in declared)
      return new Refused("malformed", `the body ${declared.problem}`)
    const encoding = { declared, fallback: UTF_8 }
    const fields =
      format === "form" ? parseUrlencoded(body, encoding) : parseMultipart(body, contentType, encoding)
    if (!Array.isArray(fields)) return new Refused("malformed", `the body ${fields.problem}`)
    const parts = fields.filter(({ name }) => PARTS.includes(name)).map(({ name, value }) => [name, value])
    if (parts.length === 0) return new Refused("missing_header", "no signature in the form")
    const found: object = Object.fromEntries(parts)
    return Object.keys(found).length === parts.length
      ? found
      : new Refused("duplicate_member", "a field of the signature more than once")
  }
  const json = readSignedJson(body)
  if (json instanceof Refused) return json
  const parts = member(json, "signature")
  return typeof parts === "object" && parts !== null
    ? parts
    : new Refused("missing_header", "no signature in the body")
}
