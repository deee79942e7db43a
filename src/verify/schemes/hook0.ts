import { OPEN_BRACE, OPEN_BRACKET } from "../../json/tokens.ts"
import { Refused, type SignedRequest } from "../verifier.ts"
import { MOST_SIGNATURES, type Family } from "./family.ts"
import { formatTime, parseTime } from "./freshness.ts"
import { macFamily } from "./mac-family.ts"
import { withHeaders } from "./sendable.ts"
import type { Claim, Signed } from "./signature-verifier.ts"

const SIGNATURE = "X-Hook0-Signature"
const MOST_HEADERS = 64
/** Without dots, which end the list in the signed text. */
const FIELD_NAME = /^[0-9a-z_-]+$/
/*
 * Values and the body are separated by dots, which values may have. So only the last value may have dots, as the type of an
 * event has, and the body begins with the first bracket.
 */
const isValue = (text: string, i: number, all: readonly unknown[]): boolean =>
  !/[{[]/.test(text) && (i === all.length - 1 || !text.includes("."))
const isBody = ([first]: Uint8Array): boolean => first === OPEN_BRACE || first === OPEN_BRACKET

/**
 * Hook0, whose senders sign some headers, too: `t=<seconds>,h=<names, separated by spaces>,v1=<HMAC>` of
 * `{time}.{names}.{values, joined by dots}.{body}`. The older `v0`, of time and body, is not looked at.
 *
 * @see https://docs.cdp.coinbase.com/webhooks/verify-signatures
 * @see https://docs.rs/crate/hook0-client/2.0.1/source/src/signature.rs
 */
export function hook0(): Family {
  return macFamily(
    () => ({
      prefix: "v1=",
      read,
      write(request, nowMs, expected) {
        const time = formatTime(nowMs, "s")
        const names = ["content-type"].filter((name) => request.headers.has(name))
        const signature = expected(signedText({ time, names: names.join(" ") }, request)!)
        return withHeaders(request, { [SIGNATURE]: `t=${time},h=${names.join(" ")},${signature}` })
      },
    }),
    {
      family: "hook0",
      toleranceMs: 300_000,
      // which headers are signed is said by each request; senders sign content-type
      covers: () => ({
        body: "whole",
        time: true,
        id: false,
        headers: ["content-type"],
        signature: [SIGNATURE.toLowerCase(), "x-event-id", "x-event-type"],
      }),
    },
  )
}

function read(request: SignedRequest): Claim | Refused {
  const header = request.headers.get(SIGNATURE) ?? ""
  if (header === "") return new Refused("missing_header", `no ${SIGNATURE}`)
  const items = header.split(",", 2 * MOST_SIGNATURES).map((item) => item.trim())
  const valuesOf = (name: string): string[] =>
    items.filter((item) => item.startsWith(name)).map((item) => item.slice(name.length))
  const [times, lists] = [valuesOf("t="), valuesOf("h=")]
  const signatures = items.filter((item) => item.startsWith("v1="))
  if (times.length !== 1 || lists.length !== 1 || signatures.length === 0)
    return new Refused("malformed", `${SIGNATURE} has not one t=, one h= and a v1=`)
  const [time, names] = [times[0]!, lists[0]!]
  const timestampMs = parseTime(time, "s")
  if (timestampMs === undefined) return new Refused("malformed", `t of ${SIGNATURE} is not a timestamp`)
  if (!isBody(request.body)) return new Refused("malformed", "the body is neither a JSON object nor a list")
  const signed = signedText({ time, names }, request)
  return signed === undefined
    ? new Refused("malformed", `h of ${SIGNATURE} is not a list of headers whose values can be told apart`)
    : { signatures, signed, timestampMs }
}

/** undefined: a name is malformed, there is no such header, or its value's end can't be told. */
function signedText(
  { time, names }: { readonly time: string; readonly names: string },
  { headers, body }: Pick<SignedRequest, "headers" | "body">,
): Signed | undefined {
  const list = names === "" ? [] : names.split(" ", MOST_HEADERS)
  const values = list
    .flatMap((name) => (FIELD_NAME.test(name) ? (headers.get(name) ?? []) : []))
    .filter(isValue)
  return values.length === list.length ? [`${time}.${names}.${values.join(".")}.`, body] : undefined
}
