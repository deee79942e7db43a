import { isHeaderName } from "../../headers.ts"
import { Refused, type SignedRequest } from "../verifier.ts"
import type { Family } from "./family.ts"
import { parseTime } from "./freshness.ts"
import { macFamily } from "./mac-family.ts"
import { withHeaders } from "./sendable.ts"
import type { Signed, Claim } from "./signature-verifier.ts"

const SIGNATURE = "x-contentful-signature"
const SIGNED_HEADERS = "x-contentful-signed-headers"
const TIMESTAMP = "x-contentful-timestamp"
const MOST_HEADERS = 64
/** The headers that Contentful lists as signed. */
const LISTED = [
  "signed-headers",
  "crn",
  "environment-id",
  "event-datetime",
  "idempotency-key",
  "space-id",
  "topic",
  "user-id",
  "webhook-name",
].map((name) => `x-contentful-${name}`)

/**
 * Contentful: HMAC of method, path, listed headers and body, one per line.
 *
 * @see https://www.contentful.com/developers/docs/extensibility/app-framework/request-verification/
 */
export function contentful(): Family {
  return macFamily(
    () => ({
      read,
      write(request, nowMs, expected) {
        const names = [SIGNED_HEADERS, TIMESTAMP]
        const unsigned = withHeaders(request, {
          [TIMESTAMP]: String(nowMs),
          [SIGNED_HEADERS]: names.join(","),
        })
        return withHeaders(unsigned, { [SIGNATURE]: expected(canonical(unsigned, names)) })
      },
    }),
    {
      family: "contentful",
      signsUrl: true,
      toleranceMs: 30_000,
      covers: () => ({
        body: "whole",
        time: true,
        id: false,
        url: true,
        signature: [SIGNATURE, TIMESTAMP, ...LISTED],
      }),
    },
  )
}

function read(request: SignedRequest): Claim | Refused {
  const [signature, list, timestamp] = [SIGNATURE, SIGNED_HEADERS, TIMESTAMP].map((it) =>
    request.headers.get(it),
  )
  if (!signature) return new Refused("missing_header", `no ${SIGNATURE}`)
  if (!list) return new Refused("missing_header", `no ${SIGNED_HEADERS}`)
  if (!timestamp) return new Refused("missing_header", `no ${TIMESTAMP}`)
  const names = list.split(",", MOST_HEADERS).map((name) => name.toLowerCase())
  const isList = names.every(isHeaderName) && new Set(names).size === names.length
  if (!isList || !names.includes(TIMESTAMP) || !names.includes(SIGNED_HEADERS))
    return new Refused(
      "malformed",
      `${SIGNED_HEADERS} is not a list of headers, each once, that includes itself and ${TIMESTAMP}`,
    )
  // lines are joined by semicolons, which values may have
  const begun = names.find((name) => names.some((it) => request.headers.get(it)?.includes(`;${name}:`)))
  if (begun !== undefined)
    return new Refused("malformed", `a signed header's value could be taken for ${begun} and its value`)
  const timestampMs = parseTime(timestamp, "ms")
  if (timestampMs === undefined) return new Refused("malformed", `${TIMESTAMP} is not a timestamp`)
  return { signatures: [signature], signed: canonical(request, names), timestampMs }
}

function canonical(
  { method, url, headers, body }: Pick<SignedRequest, "method" | "url" | "headers" | "body">,
  names: readonly string[],
): Signed {
  const lines = names
    .filter((name) => headers.has(name))
    .toSorted()
    .map((name) => `${name}:${headers.get(name)}`)
  return [`${method}\n${canonicalPath(url)}\n${lines.join(";")}\n`, body]
}

/** The path and the query, the latter escaped as a whole, as in Contentful's toolkit. */
function canonicalPath(url: string): string {
  const [path = "", search] = url
    .toWellFormed()
    .replace(/^https?:\/\/[^/?#]*/, "")
    .split("?", 2)
  const whole =
    search === undefined || search === "" ? path || "/" : `${path || "/"}?${encodeURIComponent(search)}`
  return encodeURI(whole)
}
