// Hot path: every event of a verified pipeline passes here.
import { toHeaderValue } from "../../headers.ts"
import { Refused, type SignedRequest } from "../verifier.ts"
import { couldBeChallenge } from "./challenge.ts"
import { cutOf } from "./cut.ts"
import { MOST_SIGNATURES } from "./family.ts"
import { parseTime, type TimeUnit } from "./freshness.ts"
import { readMember } from "./json-body.ts"
import type { MacTraits } from "./mac-family.ts"
import type { MacForm } from "./mac.ts"
import { readParameter } from "./query.ts"
import { parsePayload, type Claim } from "./signature-verifier.ts"

/** The signed time: a header, an item of the signature's header (with an empty name: the first), or a member of the JSON body. */
type TimeLocation =
  | { readonly header: string; readonly unit: TimeUnit }
  | { readonly item: string; readonly unit: TimeUnit }
  | { readonly member: string; readonly unit: TimeUnit }

/** An HMAC scheme as data. */
export interface HmacForm extends MacForm, Pick<MacTraits, "secret" | "toleranceMs" | "optional"> {
  /** The signature's header; of several, any may hold a valid one. With `query` there is none. */
  readonly header?: string | readonly string[] | undefined
  /** The signature's query parameter. */
  readonly query?: string | undefined
  /** Separator of a list; items that start with `prefix` are signatures. */
  readonly list?: "," | ";" | " " | undefined
  /** The separator as the provider writes it, which its library may split at; default: `list`. */
  readonly written?: string | undefined
  /** Whether the prefix may be missing. */
  readonly prefixOptional?: boolean | undefined
  /** Template of the signed text, see parsePayload; default: the body. */
  readonly payload?: string | undefined
  readonly time?: TimeLocation | undefined
  /** The header of the signed id. */
  readonly id?: string | undefined
  /** Whether the header, a list separated by commas, may come several times. */
  readonly repeatable?: boolean
  /** Whether the same key signs challenges for anyone who asks, so that no event may have the form of one. */
  readonly signsChallenges?: true
  /** Headers that must have these values: a supported version and algorithm. */
  readonly fixed?: { readonly [header: string]: string }
}

/** A public-key scheme as data, laid out like an HMAC scheme. */
export type AsymmetricForm = Omit<HmacForm, "algorithm" | "list" | "encoding" | "secret"> & {
  readonly encoding: "hex" | "base64"
}

/** Reads the claims of requests of a form. */
export function formReader(form: HmacForm): (request: SignedRequest) => Claim | Refused {
  const { time, id: idHeader } = form
  const headers = [form.header ?? []].flat()
  const fixed = Object.entries(form.fixed ?? {})
  const template = form.payload ?? "{body}"
  const payload = parsePayload(template)
  const signsUrl = template.includes("{url}")
  const cut = cutOf(template, time?.unit ?? "any")
  return (request: SignedRequest): Claim | Refused => {
    const found = readSignatures(form, headers, request)
    if (found instanceof Refused) return found
    const { signatures } = found
    for (const [header, value] of fixed) {
      const text = request.headers.get(header)
      if (text === null || text === "") return new Refused("missing_header", `no ${header}`)
      if (text !== value) return new Refused("malformed", `${header} is not ${value}`)
    }
    const stamp = time === undefined ? NO_TIME : readTime(time, found.timeItem, request)
    if (stamp instanceof Refused) return stamp
    const { timestamp, timestampMs } = stamp
    let id: string | undefined
    if (idHeader !== undefined) {
      id = request.headers.get(idHeader) ?? ""
      if (id === "") return new Refused("missing_header", `no ${idHeader}`)
    }
    const { method, url, body } = request
    const parts = { timestamp, id: id ?? "", method, url: signsUrl ? toHeaderValue(url) : "", body }
    const ambiguous = cut?.(parts)
    if (ambiguous !== undefined) return new Refused("malformed", ambiguous)
    const signed = payload(parts)
    if (form.signsChallenges === true && couldBeChallenge(signed))
      return new Refused("malformed", "the body has the form of a challenge, which is signed for anyone")
    return { signatures, signed, timestampMs, id }
  }
}

/** The signatures in the headers of a form, and the time among a list's items; empty: none. */
function readSignatures(
  { prefix = "", prefixOptional = false, query, list, time, repeatable = false }: HmacForm,
  headers: readonly string[],
  request: SignedRequest,
): { readonly signatures: string[]; readonly timeItem: string } | Refused {
  if (query !== undefined) {
    const signature = readParameter(request.query, query)
    return signature instanceof Refused ? signature : { signatures: [signature], timeItem: "" }
  }
  const withPrefix = (text: string): string =>
    prefixOptional && !text.startsWith(prefix) ? prefix + text : text
  const timePrefix = time !== undefined && "item" in time ? time.item : undefined
  const signatures: string[] = []
  let timeItem = ""
  for (const header of headers) {
    const value = request.headers.get(header)
    if (value === null || value === "") continue
    if (list === undefined) {
      signatures.push(withPrefix(value))
      continue
    }
    // duplicate headers are joined by a comma and a space; lists that may contain one have a time, once
    if ((!timePrefix || list !== ",") && !repeatable && value.includes(", "))
      return new Refused("malformed", `duplicate ${header}`)
    for (const spaced of value.split(list, 2 * MOST_SIGNATURES)) {
      const item = repeatable ? withPrefix(spaced.trim()) : spaced.trim()
      if (timePrefix === "" && timeItem === "") timeItem = item
      else if (item.startsWith(prefix)) signatures.push(item)
      else if (timePrefix !== undefined && item.startsWith(timePrefix)) {
        if (timeItem !== "") return new Refused("malformed", `${header} has more than one ${timePrefix}`)
        timeItem = item.slice(timePrefix.length)
      }
    }
    if (signatures.length === 0)
      return new Refused("malformed", `${header} has no signature that starts with ${prefix}`)
  }
  if (signatures.length === 0) return new Refused("missing_header", `no ${headers.join(" or ")}`)
  return { signatures, timeItem }
}

const NO_TIME = { timestamp: "", timestampMs: undefined }

/** The timestamp, also as spelled. @param timeItem the time among a list's items; empty: none */
function readTime(time: TimeLocation, timeItem: string, request: SignedRequest) {
  let timestamp = timeItem
  if ("header" in time) timestamp = request.headers.get(time.header) ?? ""
  else if ("member" in time) {
    const found = readMember(request.body, time.member)
    if (found instanceof Refused) return found
    timestamp = found ?? ""
  }
  if (timestamp === "")
    return new Refused("header" in time ? "missing_header" : "malformed", `no ${locationName(time)}`)
  const timestampMs = parseTime(timestamp, time.unit)
  if (timestampMs === undefined) return new Refused("malformed", `${locationName(time)} is not a timestamp`)
  return { timestamp, timestampMs }
}

const locationName = (time: TimeLocation): string =>
  "header" in time ? time.header : "item" in time ? time.item || "time" : time.member
