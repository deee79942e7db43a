import { escape } from "node:querystring"
import type { Family } from "./family.ts"
import { parseTime } from "./freshness.ts"
import { macFamily } from "./mac-family.ts"
import type { Signed } from "./payload.ts"
import type { Claim } from "./signature.ts"
import { Refused, type SignedRequest } from "./verifier.ts"

const SIGNATURE = "x-contentful-signature"
const SIGNED_HEADERS = "x-contentful-signed-headers"
const TIMESTAMP = "x-contentful-timestamp"
const MOST_HEADERS = 64

/**
 * Contentful: HMAC of the method, the path, the headers that a header lists, and the body, a line each.
 *
 * @see https://www.contentful.com/developers/docs/extensibility/app-framework/request-verification/
 */
export function contentful(): Family {
  return macFamily(
    () => ({
      signsUrl: true,
      algorithm: "sha256",
      encoding: "hex",
      read,
      write(request, nowMs, expected) {
        const headers = new Headers(request.headers)
        headers.set(TIMESTAMP, String(nowMs))
        headers.set(SIGNED_HEADERS, [SIGNED_HEADERS, TIMESTAMP].join(","))
        headers.set(SIGNATURE, expected(canonical({ ...request, headers }, [SIGNED_HEADERS, TIMESTAMP])))
        return { method: request.method, url: request.url, headers, body: request.body }
      },
    }),
    { family: "contentful", signsUrl: true, toleranceMs: 30_000 },
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
  if (!names.includes(TIMESTAMP) || !names.every((name) => FIELD_NAME.test(name)))
    return new Refused("malformed", `${SIGNED_HEADERS} is not a list of headers with ${TIMESTAMP}`)
  const timestampMs = parseTime(timestamp, "ms")
  if (timestampMs === undefined) return new Refused("malformed", `${TIMESTAMP} is not a time`)
  return { signatures: [signature], signed: canonical(request, names), timestampMs }
}

/** A header's name, RFC 9110, 5.6.2. */
const FIELD_NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/

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

/** The path and, escaped as a whole, the query, as Contentful's toolkit spells them. */
function canonicalPath(url: string): string {
  const [path = "", search] = url
    .toWellFormed()
    .replace(/^https?:\/\/[^/?#]*/, "")
    .split("?", 2)
  const whole = search === undefined || search === "" ? path || "/" : `${path || "/"}?${escape(search)}`
  return encodeURI(whole)
}
