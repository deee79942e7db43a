// Hot path: every event of a verified pipeline passes here.
import {
  MOST_SIGNATURES,
  type Coverage,
  type Family,
  type SettingKey,
  type VerifierSettings,
} from "./family.ts"
import { formatTime, parseTime, type TimeUnit } from "./freshness.ts"
import { readMember, withMember } from "./json-body.ts"
import { macFamily, type MacScheme } from "./mac-family.ts"
import type { Algorithm, Encoding } from "./mac.ts"
import { parsePayload } from "./payload.ts"
import type { SecretForm } from "./secrets.ts"
import type { Claim } from "./signature.ts"
import { Refused, type SignedRequest } from "./verifier.ts"

/** Where the signed time stands: in a header of its own, in an item of the signature's header, or in the JSON body. */
type TimePlace =
  | { readonly header: string; readonly unit: TimeUnit }
  | { readonly item: string; readonly unit: TimeUnit }
  | { readonly member: string; readonly unit: TimeUnit }

/** An HMAC scheme as data. */
export interface HmacForm {
  /** Where the signature stands; of several headers, any may hold a right one. */
  readonly header: string | readonly string[]
  /** What separates the items where the header is a list; those that begin with `prefix` are signatures. */
  readonly list?: "," | ";" | " "
  /** What the signature begins with: `sha256=`, `v0=`. */
  readonly prefix?: string | undefined
  /** Whether the prefix may be left out. */
  readonly prefixOptional?: boolean
  /** Default: sha256. */
  readonly algorithm?: Algorithm | undefined
  readonly encoding: Encoding
  /** Template of what is signed, see payload.ts; undefined: the body. */
  readonly payload?: string | undefined
  readonly time?: TimePlace | undefined
  /** The header of the id that is signed. */
  readonly id?: string | undefined
  /** Headers that must have these values: the version and algorithm that the scheme was read for. */
  readonly fixed?: { readonly [header: string]: string }
}

/** What a family of an HMAC form needs to be told beside the form. */
export interface HmacTraits {
  readonly secret?: SecretForm
  /** Milliseconds; 0: not checked unless set; undefined: no time is signed. */
  readonly toleranceMs?: number
  /** Keys that change the form. */
  readonly optional?: readonly SettingKey[]
}

/** The family of an HMAC form; `adapt` where settings change it. */
export function hmac(
  form: HmacForm,
  traits: HmacTraits = {},
  adapt?: (settings: VerifierSettings) => HmacForm,
): Family {
  const fixed = hmacScheme(form)
  return macFamily((settings) => (adapt === undefined ? fixed : hmacScheme(adapt(settings))), {
    family: "hmac",
    signsUrl: form.payload?.includes("{url}") ?? false,
    covers: (settings) => coverageOf(adapt?.(settings) ?? form),
    ...traits,
  })
}

/** What a form signs: the body whole, and what else it has a place for. */
export const coverageOf = ({ time, id }: Pick<HmacForm, "time" | "id">): Coverage => ({
  body: "whole",
  time: time !== undefined,
  id: id !== undefined,
})

/** How requests of this form are read and written. */
export function hmacScheme(form: HmacForm): MacScheme {
  const { algorithm = "sha256", encoding, prefix = "", list, time, id: idHeader } = form
  const headers = typeof form.header === "string" ? [form.header] : form.header
  const fixed = Object.entries(form.fixed ?? {})
  const payload = parsePayload(form.payload ?? "{body}")

  const read = (request: SignedRequest): Claim | Refused => {
    const signatures: string[] = []
    let timestamp = ""
    for (const header of headers) {
      const value = request.headers.get(header)
      if (value === null || value === "") continue
      if (list === undefined) {
        signatures.push(form.prefixOptional === true && !value.startsWith(prefix) ? prefix + value : value)
        continue
      }
      const timeItem = time !== undefined && "item" in time ? time.item : undefined
      // Two headers are joined by a comma and a space. Where such lists may have spaces, they have a time, once.
      if ((timeItem === undefined || list !== ",") && value.includes(", "))
        return new Refused("malformed", `${header} is there twice`)
      for (const spaced of value.split(list, 2 * MOST_SIGNATURES)) {
        const item = spaced.trim()
        if (item.startsWith(prefix)) signatures.push(item)
        else if (timeItem !== undefined && item.startsWith(timeItem)) {
          if (timestamp !== "") return new Refused("malformed", `${header} has two of ${timeItem}`)
          timestamp = item.slice(timeItem.length)
        }
      }
      if (signatures.length === 0)
        return new Refused("malformed", `${header} has no signature that begins with ${prefix}`)
    }
    if (signatures.length === 0) return new Refused("missing_header", `no ${headers.join(" or ")}`)
    for (const [header, value] of fixed) {
      const found = request.headers.get(header)
      if (found === null || found === "") return new Refused("missing_header", `no ${header}`)
      if (found !== value) return new Refused("malformed", `${header} is not ${value}`)
    }
    let timestampMs: number | undefined
    if (time !== undefined) {
      if ("header" in time) timestamp = request.headers.get(time.header) ?? ""
      else if ("member" in time) {
        const found = readMember(request.body, time.member)
        if (found instanceof Refused) return found
        timestamp = found ?? ""
      }
      if (timestamp === "")
        return new Refused("header" in time ? "missing_header" : "malformed", `no ${placeOf(time)}`)
      timestampMs = parseTime(timestamp, time.unit)
      if (timestampMs === undefined) return new Refused("malformed", `${placeOf(time)} is not a time`)
    }
    let id: string | undefined
    if (idHeader !== undefined) {
      id = request.headers.get(idHeader) ?? ""
      if (id === "") return new Refused("missing_header", `no ${idHeader}`)
    }
    const { method, url, body } = request
    return { signatures, signed: payload({ timestamp, id: id ?? "", method, url, body }), timestampMs, id }
  }

  const write: MacScheme["write"] = (
    { method, url, headers: given, body: givenBody, id },
    nowMs,
    expected,
  ) => {
    const timestamp = time === undefined ? "" : formatTime(nowMs, time.unit)
    const body =
      time !== undefined && "member" in time ? withMember(givenBody, time.member, nowMs) : givenBody
    const signature = expected(payload({ timestamp, id, method, url, body }))
    const items = time !== undefined && "item" in time ? [time.item + timestamp, signature] : [signature]
    const written = new Headers(given)
    written.set(headers[0]!, items.join(list))
    if (time !== undefined && "header" in time) written.set(time.header, timestamp)
    if (idHeader !== undefined) written.set(idHeader, id)
    for (const [name, value] of fixed) written.set(name, value)
    return { method, url, headers: written, body }
  }

  return { signsUrl: form.payload?.includes("{url}") ?? false, algorithm, encoding, prefix, read, write }
}

const placeOf = (time: TimePlace): string =>
  "header" in time ? time.header : "item" in time ? time.item : time.member
