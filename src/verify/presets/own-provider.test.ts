import { describe, expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import {
  OUTSIDE,
  NOW,
  requestOf,
  sendersOfTests,
  toRequest,
  BODY,
  URL_SENT_TO,
} from "../../../test/support/senders.ts"
import { readConfigurationFile } from "../../config/file/configuration-file.ts"
import { atOnce } from "../../clock/slices.ts"
import { sampleRequest } from "../samples/samples.ts"
import type { HmacForm } from "../schemes/hmac-form.ts"
import type { SchemeForm } from "../schemes/scheme-form.ts"
import type { TokenLocation } from "../schemes/token.ts"
import { planProviders } from "../../runtime/plan/providers.ts"
import { defineProvider } from "./own-provider.ts"
import { PRESETS } from "./presets.ts"
import { type OwnProvider, makeSigner, makeVerifier } from "./providers.ts"

const SENDERS = sendersOfTests()

/** The providers of a file with these sections. */
function providersIn(file: string): readonly OwnProvider[] {
  const bytes = Buffer.from(file)
  return planProviders(atOnce(readConfigurationFile(bytes, "own.conf", { env: {}, baseDir: "/tmp" })))
}
const own = (lines: string): OwnProvider => providersIn(`[provider:own]\n${lines}`)[0]!

/** A preset's scheme as a section spells it. */
function keysOf(scheme: SchemeForm): string {
  const lines = "hmac" in scheme ? hmacKeys(scheme.hmac) : tokenKeys(scheme.token)
  return lines.map(([key, value]) => (value === undefined ? "" : `${key} = ${String(value)}\n`)).join("")
}

function hmacKeys(form: HmacForm): [string, unknown][] {
  const { header, list, prefix = "", time, toleranceMs, fixed = {} } = form
  const isItem = time !== undefined && "item" in time && time.item !== ""
  return [
    ["header", header === undefined ? undefined : [header].flat().join(", ")],
    ["query", form.query],
    ["separator", list === " " ? "space" : list],
    isItem ? ["signature_item", prefix.slice(0, -1)] : ["prefix", prefix === "" ? undefined : `"${prefix}"`],
    ["prefix_optional", form.prefixOptional === true ? "true" : undefined],
    ["timestamp_item", time !== undefined && "item" in time ? time.item.slice(0, -1) || "*" : undefined],
    ["timestamp_header", time !== undefined && "header" in time ? time.header : undefined],
    ["timestamp_member", time !== undefined && "member" in time ? time.member : undefined],
    ["timestamp_unit", time?.unit],
    ["tolerance", toleranceMs === undefined ? undefined : toleranceMs === 0 ? "0" : `${toleranceMs}ms`],
    ["id_header", form.id],
    ["payload", form.payload],
    ["algorithm", form.algorithm],
    ["encoding", form.encoding],
    ["secret_encoding", form.secret],
    ["fixed_headers", Object.keys(fixed).length === 0 ? undefined : pairs(fixed)],
  ]
}

const tokenKeys = (location: TokenLocation): [string, unknown][] => [
  ["scheme", "token"],
  ...Object.entries(location).map(([key, value]): [string, unknown] => [
    key,
    key === "prefix" && value !== undefined ? `"${value}"` : value,
  ]),
]

const pairs = (headers: { readonly [name: string]: string }): string =>
  Object.entries(headers)
    .map(([name, value]) => `${name}=${value}`)
    .join(", ")

const expressible = Object.entries(PRESETS).flatMap(([name, { scheme }]) =>
  "hmac" in scheme || "token" in scheme ? [[name, scheme] as const] : [],
)

test("most presets are data that a section can say", () => {
  expect(expressible.length).toBeGreaterThan(40)
})

describe.each(expressible)("the scheme of %s as a section", (name, scheme) => {
  const sender = SENDERS[name]!
  const provider = own(keysOf(scheme))

  test("verifies what the provider sends, and nothing else", async () => {
    const request = await requestOf(sender)
    const { settings, wrong } = sender
    expect(await makeVerifier(provider, settings, OUTSIDE).verify(request, NOW)).toMatchObject({
      kind: "verified",
    })
    expect(await makeVerifier(provider, wrong, OUTSIDE).verify(request, NOW)).toMatchObject({
      kind: "refused",
    })
  })

  test("signs what the preset verifies", async () => {
    const secret = sender.settings.secret!
    const unsigned = {
      method: "POST",
      url: URL_SENT_TO,
      headers: new Headers(),
      body: Buffer.from(BODY),
      id: "msg_1",
    }
    const sent = await makeSigner(provider, { secret: [secret[1]!] }).sign(unsigned, NOW)
    const { pathname, search } = new URL(sent.url)
    const result = makeVerifier(name, sender.settings).verify(
      { ...sent, path: pathname, query: search.slice(1) },
      NOW,
    )
    expect(await result).toMatchObject({ kind: "verified" })
  })
})

test("code and file give the same provider", () => {
  const inCode = defineProvider("own", {
    title: "Acme",
    docs: "https://acme.example/docs",
    header: ["X-Acme"],
    timestampItem: "t",
    signatureItem: "s",
    timestampUnit: "ms",
    payload: "{timestamp}.{body}",
    tolerance: 120_000,
    secretEncoding: "hex",
    eventId: "json:/id",
    sample: '{"id":"{id}"}',
    sampleHeaders: ["X-Kind=a"],
  })
  const inFile = own(`title = Acme
docs = https://acme.example/docs
header = X-Acme
timestamp_item = t
signature_item = s
timestamp_unit = ms
payload = {timestamp}.{body}
tolerance = 2m
secret_encoding = hex
event_id = json:/id
sample = {"id":"{id}"}
sample_headers = X-Kind=a`)
  expect(inCode).toEqual(inFile)
  expect(inFile).toMatchObject({ name: "own", title: "Acme", event: { id: "json:/id" } })
})

test("what its bodies are is spelled as a Decoder's options", () => {
  expect(own("header = A")).not.toHaveProperty("body")
  expect(own("header = A\nlists = split").body).toEqual({ format: "auto", lists: "split" })
  expect(own("header = A\nformat = form\nunwrap = p\njson_fields = a, b").body).toEqual({
    format: "form",
    unwrap: "p",
    json_fields: "a\nb",
  })
})

test("the tolerance of a signed time is 5 min, unless the section says another", () => {
  const timed = "header = X-A\ntimestamp_header = X-At\npayload = {timestamp}{body}"
  expect(own(timed).scheme).toMatchObject({ hmac: { toleranceMs: 300_000 } })
  expect(own(`${timed}\ntolerance = 0`).scheme).toMatchObject({ hmac: { toleranceMs: 0 } })
  expect(own("header = X-A\ntimestamp_member = at").scheme).toMatchObject({ hmac: { toleranceMs: 300_000 } })
})

test("a sample has its placeholders replaced; braces that are none stay", () => {
  const provider = own(`header = X-A
sample = {"id":"{id}","n":"=number","at":"=unix","text":"{number} of {people}","nested":[{"a":"{constructor}"}]}
sample_headers = X-Event-Id={id}`)
  const { headers, body } = sampleRequest(provider, { id: "e1", number: 7, atMs: 1_790_000_000_400 })
  expect(JSON.parse(Buffer.from(body).toString())).toEqual({
    id: "e1",
    n: 7,
    at: 1_790_000_000,
    text: "7 of {people}",
    nested: [{ a: "{constructor}" }],
  })
  expect(headers.get("x-event-id")).toBe("e1")
})

test.each<[string, string]>([
  ["", "header: is missing; add header = <the header of the signature>, or query"],
  ["header = X A", 'header: "X A" is not a header\'s name'],
  ["scheme = token", "header: is missing; add header = <a header's name>, query or member"],
  ["scheme = token\nheader = A\nquery = b", "query: conflicts with header; remove one of them"],
  ["scheme = token\nheader = A, B", "header: has several names; a token is in one header"],
  ["scheme = token\nquery = b\nprefix = c", "prefix: is of a header; remove it, or name the header"],
  [
    "scheme = token\nheader = A\nencoding = hex",
    "encoding: has no effect with scheme = token; remove it, or set scheme = hmac",
  ],
  ["header = A\nquery = b", "query: conflicts with header; remove one of them"],
  ["query = b\nseparator = ,", "separator: is of a header's items; remove it, or name the header"],
  ["member = b", "member: has no effect with scheme = hmac; remove it, or set scheme = token"],
  ["scheme = token\nmember = a\nquery = b", "member: conflicts with query; remove one of them"],
  ["scheme = token\nmember = a\nprefix = b", "prefix: is of a header; remove it, or name the header"],
  [
    "header = A\ntimestamp_header = B\ntimestamp_item = t\nsignature_item = s\npayload = {timestamp}{body}",
    "timestamp_item: conflicts with timestamp_header; the signed time is in one place",
  ],
  [
    "header = A\ntimestamp_header = B",
    "timestamp_header: {timestamp} in payload and timestamp_header, or timestamp_item, belong together",
  ],
  [
    "header = A\npayload = {timestamp}{body}",
    "payload: {timestamp} in payload and timestamp_header, or timestamp_item, belong together",
  ],
  ["header = A\npayload = {id}{body}", "id_header: and {id} in payload belong together"],
  ["header = A\nid_header = B", "id_header: and {id} in payload belong together"],
  ["header = A\npayload = {time}{body}", "payload: unknown placeholder {time}; expected one of {timestamp}"],
  ["header = A\npayload = {url}", "payload: has no {body}"],
  ["header = A\ntolerance = 5m", "tolerance: has no effect without a signed time"],
  ["header = A\ntimestamp_unit = s", "timestamp_unit: has no effect without a signed time"],
  ["header = A\nprefix = s=\nsignature_item = s", "prefix: conflicts with signature_item"],
  ["header = A\ntimestamp_item = t\npayload = {timestamp}{body}", "timestamp_item: needs signature_item"],
  [
    "header = A\ntimestamp_item = t\nseparator = ;\npayload = {timestamp}{body}",
    "timestamp_item: needs signature_item",
  ],
  [
    "header = A\ntimestamp_item = t\nsignature_item = t\npayload = {timestamp}{body}",
    "timestamp_item: begins as signatures do",
  ],
  [
    "header = A\ntimestamp_item = v1\nseparator = ;\nprefix = v\npayload = {timestamp}{body}",
    "timestamp_item: begins as signatures do",
  ],
  ["header = A\nprefix_optional = true", "prefix_optional: has no effect without prefix"],
  [
    "header = A\nformat = text\nsample = {}",
    "sample: is sent as JSON or as a form, and format is text; remove it",
  ],
  [
    "header = A\nformat = form\nsample = []",
    "sample: is no JSON object; with format = form it has the form's fields",
  ],
  ["header = A\nformat = xml", 'format: "xml" is not one of json, form, multipart, text, auto'],
  ["header = A\nevent_id = id", 'event_id: "id" is not header:Name or json:/pointer (RFC 6901)'],
  ["header = A\nevent_type = event:type", 'event_type: "event:type" is not header:Name or json:/pointer'],
  ["header = A\nsample = {", "sample: is no JSON: "],
  [
    "header = A\nsample_file = /tmp/hookline-no-such-file",
    "sample_file: the file /tmp/hookline-no-such-file does not exist",
  ],
  ["header = A\nsample = {}\nsample_file = a.json", "sample_file: conflicts with sample; remove one of them"],
  [
    "header = A\nfixed_headers = X-Version",
    'fixed_headers: "X-Version" is not a header\'s name, =, and its value',
  ],
  ["header = A\nsample_headers = X=a\u0001b", "sample_headers: "],
  ["header = A\nheadr = B", "headr: unknown key; did you mean `header`?"],
  ["header = A\ndocs = acme", 'docs: "acme" is not an http or https URL'],
])("%p is refused: %s", (lines, message) => {
  expect(() => own(lines)).toThrow(`[provider:own] ${message}`)
})

test.each([
  ["stripe", "stripe is a built-in provider; choose another name, such as stripe-own"],
  ["hmac", "hmac is a built-in provider; choose another name, such as hmac-own"],
  ["Acme", "invalid name; write lower-case letters, digits and hyphens, as in [provider:acme-shop]"],
  ["a_b", "invalid name; write lower-case"],
])("the name %s is refused", (name, message) => {
  expect(() => providersIn(`[provider:${name}]\nheader = A`)).toThrow(
    `own.conf:1: [provider:${name}]: ${message}`,
  )
  expect(() => defineProvider(name, { header: ["A"] })).toThrow(`in code: provider "${name}": ${message}`)
})

test("wrong options of code are named as code names them", () => {
  expect(() => defineProvider("own", { header: ["A"], timestampHeader: "B" })).toThrow(
    'in code: provider "own", option timestampHeader: {timestamp} in payload and timestampHeader, or timestampItem, belong together',
  )
})

const signed = (text: string): string => createHmac("sha256", "key").update(text).digest("hex")
const TIMED = "header = X-S\ntimestamp_item = *\ntimestamp_unit = ms\npayload = {timestamp}.{body}"

test.each<[string, string, { headers?: { [name: string]: string }; query?: string; body?: string }, string]>([
  [
    "a time before signatures, without a name",
    TIMED,
    { headers: { "X-S": `${NOW},00,${signed(`${NOW}.{}`)}` } },
    "verified",
  ],
  ["no time before the signatures", TIMED, { headers: { "X-S": `${signed(`${NOW}.{}`)},00` } }, "malformed"],
  [
    "a time that is old",
    TIMED,
    { headers: { "X-S": `${NOW - 301_000},${signed(`${NOW - 301_000}.{}`)}` } },
    "stale",
  ],
  [
    "a time and a signature that come twice",
    TIMED,
    { headers: { "X-S": `${NOW},${signed(`${NOW}.{}`)}, ${NOW},00` } },
    "malformed",
  ],
  ["a signature in the query", "query = sig", { query: `a=1&sig=${signed("{}")}` }, "verified"],
  ["a signature of another body in the query", "query = sig", { query: `sig=${signed("{ }")}` }, "no_match"],
  ["two signatures in the query", "query = sig", { query: `sig=${signed("{}")}&sig=0` }, "malformed"],
  ["no signature in the query", "query = sig", { query: "a=1" }, "missing_header"],
  ["a token in the body", "scheme = token\nmember = pass", { body: '{"pass":"key"}' }, "verified"],
  ["another token in the body", "scheme = token\nmember = pass", { body: '{"pass":"keys"}' }, "no_match"],
  [
    "two tokens in the body",
    "scheme = token\nmember = pass",
    { body: '{"pass":"x","pass":"key"}' },
    "duplicate_member",
  ],
  [
    "a token deeper in the body",
    "scheme = token\nmember = pass",
    { body: '{"a":{"pass":"key"}}' },
    "missing_header",
  ],
])(
  "%s, where a section says %j, given %j, is %s",
  async (_name, lines, { headers, query = "", body = "{}" }, expected) => {
    const request = { ...toRequest({ body, ...(headers && { headers }) }), query }
    const result = await makeVerifier(own(lines), { secret: ["key"] }, OUTSIDE).verify(request, NOW)
    expect(result.kind === "verified" ? result.kind : result.reason).toBe(expected)
  },
)
