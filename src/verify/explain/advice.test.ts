import { expect, test } from "bun:test"
import { REFUSALS } from "../../http/answer.ts"
import { UNAVAILABLE } from "../../pipeline/service-unavailable.ts"
import { REFUSED_REASONS } from "../verifier.ts"
import { adviceOn, textOfAdvice, unknownPath, type RefusedRequest } from "./advice.ts"

const LIMITS = { max_body_bytes: 1024 ** 2, content_types: ["application/json"], rate_limit: 5 }

const advice = (reason: string, status = 400, more: Partial<RefusedRequest> = {}) =>
  adviceOn({ reason, pipeline: "inbox", headers: new Headers(), body: undefined, ...more }, status, LIMITS)

test.each([
  ["invalid_json", {}, null],
  ["form_body", {}, "[pipeline:inbox:Decoder]\nformat = auto"],
  ["not_an_object", {}, "[pipeline:inbox:Decoder]\nlists = split"],
  ["body_too_large", {}, "[pipeline:inbox:WebHookSource]\nmax_body_bytes = 2MiB"],
  [
    "body_too_large",
    { "Content-Length": "5000000" },
    "[pipeline:inbox:WebHookSource]\nmax_body_bytes = 8MiB",
  ],
  ["body_too_large", { "Content-Length": "5000000000" }, null],
  [
    "content_type",
    { "Content-Type": "Text/XML; charset=utf-8" },
    "[pipeline:inbox:WebHookSource]\ncontent_types = application/json, text/xml",
  ],
  ["content_type", { "Content-Type": "text/xml\u00a0[x]" }, null],
  ["rate_limited", {}, "[pipeline:inbox:WebHookSource]\nrate_limit = 10"],
  ["in_flight_full", {}, null],
])("%s with the headers %p is mended by lines of the configuration", (reason, headers, lines) => {
  expect(advice(reason, 400, { headers: new Headers(headers as {}) })!.configuration).toBe(lines)
})

test("a form is named as one, whatever the case of its content type", () => {
  const headers = new Headers({ "Content-Type": "Multipart/Form-Data; boundary=x" })
  expect(advice("invalid_json", 400, { headers, body: Buffer.from("a=1") })).toEqual({
    text: "It is a form. A Decoder turns it into a JSON object.",
    excerpt: null,
    configuration: "[pipeline:inbox:Decoder]\nformat = auto",
  })
})

test("a Decoder is advised for text, and not for JSON with a mistake", () => {
  const headers = new Headers({ "Content-Type": "text/plain" })
  const of = (body: string) => advice("invalid_json", 400, { headers, body: Buffer.from(body) })!
  expect(of("hello").configuration).toBe("[pipeline:inbox:Decoder]\nformat = auto")
  expect(of('{"a":1,}').configuration).toBeNull()
})

test.each([
  ['{"a":1,}', '{"a":1,}\n       ^'],
  ["{'a':1}", "{'a':1}\n ^"],
  ["{\n}x", "{␊}x\n   ^"],
  [`{"first":"${"é".repeat(40)}",}`, `…${"é".repeat(15)}",}\n${" ".repeat(18)}^`],
])("the text around what is not JSON is shown: %s", (body, excerpt) => {
  expect(advice("invalid_json", 400, { body: Buffer.from(body) })!.excerpt).toBe(excerpt)
})

test("a signature's failure has a report of its own, and a sentence for all of them", () => {
  for (const reason of REFUSED_REASONS.filter(
    (it) => it !== "keys_unavailable" && it !== "duplicate_member",
  )) {
    expect(advice(`unverified_${reason}`, 401)).toBeNull()
    expect(textOfAdvice(`unverified_${reason}`, 401)).toBeString()
  }
})

test("each 413, 415, 429 and 503 has advice", () => {
  for (const reason of Object.keys(UNAVAILABLE)) expect(textOfAdvice(reason, 503)).toBeString()
  for (const { reason, status } of Object.values(REFUSALS))
    if ([413, 415, 429].includes(status))
      expect([reason, textOfAdvice(reason, status)]).not.toContain(undefined)
})

test("where no pipeline has the path, those that have one are named", () => {
  expect(unknownPath(["/a", "/b", "/c", "/d", "/e", "/f", "/g"])).toBe(
    "No pipeline has this path. Pipelines listen at /a, /b, /c, /d, /e and 2 more.",
  )
})
