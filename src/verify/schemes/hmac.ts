import { toHeaderValue } from "../../headers.ts"
import type { Coverage, Family, VerifierSettings } from "./family.ts"
import { formatTime } from "./freshness.ts"
import { formReader, type HmacForm } from "./hmac-form.ts"
import { withMember } from "./json-body.ts"
import { macFamily, type MacScheme } from "./mac-family.ts"
import { withQuery } from "./query.ts"
import { parsePayload } from "./signature-verifier.ts"

/** The family of an HMAC form, which settings may `adapt`. */
export function hmac(form: HmacForm, adapt?: (settings: VerifierSettings) => HmacForm): Family {
  const fixed = hmacScheme(form)
  const coverage = coverageOf(form)
  return macFamily((settings) => (adapt === undefined ? fixed : hmacScheme(adapt(settings))), {
    family: "hmac",
    signsUrl: form.payload?.includes("{url}") ?? false,
    covers: (settings) => (adapt === undefined ? coverage : coverageOf(adapt(settings))),
    secret: form.secret,
    toleranceMs: form.toleranceMs,
    optional: form.optional,
  })
}

export const coverageOf = ({
  header = [],
  query,
  payload,
  time,
  id,
  fixed = {},
}: Omit<HmacForm, "algorithm" | "list" | "encoding" | "secret">): Coverage => ({
  body: "whole",
  time: time !== undefined,
  id: id !== undefined,
  headers: [time !== undefined && "header" in time ? time.header : [], id ?? []]
    .flat()
    .map((name) => name.toLowerCase()),
  signature: [header, Object.keys(fixed)].flat().map((name) => name.toLowerCase()),
  url: payload?.includes("{url}") ?? false,
  isInQuery: query !== undefined,
  renewed: time !== undefined && "member" in time ? time.member : undefined,
})

/** Reads and writes requests of a form. */
export function hmacScheme(form: HmacForm): MacScheme {
  const { algorithm, encoding, prefix = "", list, time, id: idHeader } = form
  const headers = [form.header ?? []].flat()
  const fixed = Object.entries(form.fixed ?? {})
  const payload = parsePayload(form.payload ?? "{body}")

  const write: MacScheme["write"] = (
    { method, url, headers: given, body: givenBody, id },
    nowMs,
    expected,
  ) => {
    const timestamp = time === undefined ? "" : formatTime(nowMs, time.unit)
    const body =
      time !== undefined && "member" in time ? withMember(givenBody, time.member, nowMs) : givenBody
    const signature = expected(payload({ timestamp, id, method, url: toHeaderValue(url), body }))
    const items = time !== undefined && "item" in time ? [time.item + timestamp, signature] : [signature]
    const written = new Headers(given)
    const text = items.join(form.written ?? list)
    if (form.query === undefined) written.set(headers[0]!, text)
    if (time !== undefined && "header" in time) written.set(time.header, timestamp)
    if (idHeader !== undefined) written.set(idHeader, id)
    for (const [name, value] of fixed) written.set(name, value)
    return {
      method,
      url: form.query === undefined ? url : withQuery(url, form.query, text),
      headers: written,
      body,
    }
  }

  return {
    signsUrl: form.payload?.includes("{url}") ?? false,
    algorithm,
    encoding,
    prefix,
    read: formReader(form),
    write,
  }
}
