import { describe, expect, test } from "bun:test"
import { createHash, createHmac, createSign } from "node:crypto"
import { makeCertificate } from "../../test/support/certificate.ts"
import { defineProvider } from "./presets/own-provider.ts"
import { makeVerifier, type ProviderRef } from "./presets/providers.ts"
import type { VerifierSettings } from "./schemes/family.ts"
import { cutOf } from "./schemes/cut.ts"

/*
 * Schemes join what they sign by separators that the parts may contain, or by none. Each row has two requests with the same
 * signed text, hence the same signature: the sender's, and one that is cut elsewhere into another id, time, URL or body.
 */

const NOW = 1_790_000_000_000
const SECONDS = "1790000000"
const KEY = "example-not-a-secret"
const BASE = "https://h.example/in"

interface Parts {
  readonly headers?: { readonly [name: string]: string }
  readonly query?: string
  readonly body: string
}

async function outcome(
  provider: ProviderRef,
  settings: VerifierSettings,
  { headers, query = "", body }: Parts,
) {
  const request = { method: "POST", path: "/in", query, url: query === "" ? BASE : `${BASE}?${query}` }
  const verifier = makeVerifier(provider, settings, FETCHER)
  const signed = { ...request, headers: new Headers({ ...headers }), body: Buffer.from(body) }
  const result = await verifier.verify(signed, NOW)
  return result.kind === "verified" ? "verified" : `${result.reason}: ${result.detail}`
}

const mac = (text: string, encoding: "hex" | "base64" = "hex"): string =>
  createHmac("sha256", KEY).update(text).digest(encoding)
const authority = makeCertificate("Test Authority", { isCa: true, nowMs: NOW })
const certificate = makeCertificate("sns.amazonaws.com", { issuer: authority, nowMs: NOW })
const FETCHER = {
  fetch: () => Promise.resolve(new Response(certificate.pem)),
  rootCertificates: [authority.pem],
}

// ---- a request of a scheme, from its parts
type Made = readonly [provider: ProviderRef, settings: VerifierSettings, parts: Parts, text: string]

const secret = { secret: [KEY] }
function standard(id: string, time: string, body: string): Made {
  const text = `${id}.${time}.${body}`
  const key = { secret: [Buffer.from(KEY).toString("base64")] }
  const headers = {
    "webhook-id": id,
    "webhook-timestamp": time,
    "webhook-signature": `v1,${mac(text, "base64")}`,
  }
  return ["standard-webhooks", key, { headers, body }, text]
}
function twitch(id: string, time: string, body: string): Made {
  const headers = {
    "Twitch-Eventsub-Message-Id": id,
    "Twitch-Eventsub-Message-Timestamp": time,
    "Twitch-Eventsub-Message-Signature": `sha256=${mac(id + time + body)}`,
  }
  return ["twitch", secret, { headers, body }, id + time + body]
}
function square(query: string, body: string): Made {
  const text = (query === "" ? BASE : `${BASE}?${query}`) + body
  return [
    "square",
    secret,
    { headers: { "x-square-hmacsha256-signature": mac(text, "base64") }, query, body },
    text,
  ]
}
function trello(query: string, body: string): Made {
  const text = body + (query === "" ? BASE : `${BASE}?${query}`)
  const signature = createHmac("sha1", KEY).update(text).digest("base64")
  return ["trello", secret, { headers: { "X-Trello-Webhook": signature }, query, body }, text]
}
function hubspot(query: string, time: string, body: string): Made {
  const text = `POST${query === "" ? BASE : `${BASE}?${query}`}${body}${time}`
  const headers = { "X-HubSpot-Signature-v3": mac(text, "base64"), "X-HubSpot-Request-Timestamp": time }
  return ["hubspot", secret, { headers, query, body }, text]
}
function oldHubspot(version: "v1" | "v2", query: string, body: string): Made {
  const url = query === "" ? BASE : `${BASE}?${query}`
  const text = version === "v1" ? body : `POST${url}${body}`
  const headers = {
    "X-HubSpot-Signature-Version": version,
    "X-HubSpot-Signature": createHash("sha256")
      .update(KEY + text)
      .digest("hex"),
  }
  return ["hubspot", { ...secret, min_version: "1" }, { headers, query, body }, text]
}
function mailgun(timestamp: string, token: string): Made {
  const body = JSON.stringify({ signature: { timestamp, token, signature: mac(timestamp + token) } })
  return ["mailgun", { ...secret, tolerance: 0 }, { body }, timestamp + token]
}
function contentful(values: { [name: string]: string }, names = Object.keys(values)): Made {
  const lines = names
    .filter((name) => values[name] !== undefined)
    .toSorted()
    .map((name) => `${name}:${values[name]}`)
  const text = `POST\n/in\n${lines.join(";")}\n{}`
  return [
    "contentful",
    secret,
    { headers: { ...values, "x-contentful-signature": mac(text) }, body: "{}" },
    text,
  ]
}
function hook0(values: readonly (readonly [string, string])[], body: string): Made {
  const text = `${SECONDS}.${values.map(([name]) => name).join(" ")}.${values.map(([, it]) => it).join(".")}.${body}`
  const signature = `t=${SECONDS},h=${values.map(([name]) => name).join(" ")},v1=${mac(text)}`
  return [
    "coinbase",
    secret,
    { headers: { ...Object.fromEntries(values), "X-Hook0-Signature": signature }, body },
    text,
  ]
}
const ADYEN = "44782DEF547AAA06"
const adyenMac = (text: string) =>
  createHmac("sha256", Buffer.from(ADYEN, "hex")).update(text).digest("base64")
const ADYEN_ITEM = {
  pspReference: "7914073381342284",
  originalReference: "",
  merchantAccountCode: "TestMerchant",
  merchantReference: "order:1",
  value: "1130",
  currency: "EUR",
  eventCode: "AUTHORISATION",
  success: "true",
}
function adyen(more: { [name in keyof typeof ADYEN_ITEM]?: unknown }): Made {
  const { value, currency, ...fields } = { ...ADYEN_ITEM, ...more }
  const text = Object.values({ ...ADYEN_ITEM, ...more })
    .map((it) => (typeof it === "object" ? "" : String(it)))
    .join(":")
  const item = { ...fields, amount: { value, currency }, additionalData: { hmacSignature: adyenMac(text) } }
  const body = JSON.stringify({ notificationItems: [{ NotificationRequestItem: item }] })
  return ["adyen", { secret: [ADYEN] }, { body }, text]
}
function adyenHeader(body: string): Made {
  return ["adyen", { secret: [ADYEN] }, { headers: { HmacSignature: adyenMac(body) }, body }, body]
}
const ID = "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324"
function sns(more: { [name: string]: unknown }): Made {
  const message: { [name: string]: unknown } = {
    Type: "Notification",
    MessageId: ID,
    TopicArn: "arn:aws:sns:eu-west-1:1:t",
    Message: "hello",
    Timestamp: new Date(NOW).toISOString(),
    ...more,
  }
  const text = ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"]
    .map((name) => (typeof message[name] === "string" ? `${name}\n${message[name]}\n` : ""))
    .join("")
  const body = JSON.stringify({
    ...message,
    SignatureVersion: "2",
    SigningCertURL:
      "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-7506a1e35b36ef5a444dd1a8e7cc3ed8.pem",
    Signature: createSign("sha256").update(text).sign(certificate.privateKey, "base64"),
  })
  return ["aws-sns", { topic_arn: "arn:aws:sns:eu-west-1:1:t" }, { body }, text]
}
/** A sender of the generic scheme, or a provider of one's own. */
function own(
  payload: string,
  { id, time, query = "", body }: { id?: string; time?: string; query?: string; body: string },
): Made {
  const url = query === "" ? BASE : `${BASE}?${query}`
  const text = payload.replaceAll(
    /\{(\w+)\}/g,
    (_, name: string) => ({ id, timestamp: time, url, method: "POST", body })[name] ?? "",
  )
  const provider = defineProvider("acme", {
    scheme: "hmac",
    header: ["X-Signature"],
    payload,
    ...(id !== undefined && { idHeader: "X-Id" }),
    ...(time !== undefined && { timestampHeader: "X-Time" }),
  })
  const headers = {
    "X-Signature": mac(text),
    ...(id !== undefined && { "X-Id": Buffer.from(id).toString("latin1") }),
    ...(time !== undefined && { "X-Time": time }),
  }
  return [
    provider,
    { ...secret, ...(time !== undefined && { tolerance: 0 }) },
    { headers, query, body },
    text,
  ]
}

const ISO = new Date(NOW).toISOString()
const SIGNED = "x-contentful-signed-headers"
const STAMP = "x-contentful-timestamp"
const NAMES = `x-contentful-crn,${SIGNED},${STAMP},x-contentful-topic`
const context = { [SIGNED]: NAMES, [STAMP]: String(NOW) }

const ROWS: readonly (readonly [what: string, genuine: Made, recut: Made])[] = [
  [
    "standard-webhooks: the id has the time and the body's beginning",
    standard("msg_1", SECONDS, `{"note":".${SECONDS}.type=paid&x="}`),
    standard(`msg_1.${SECONDS}.{"note":"`, SECONDS, 'type=paid&x="}'),
  ],
  [
    "twitch: the id has the time and the body's beginning",
    twitch("m1", ISO, `a${ISO}b`),
    twitch(`m1${ISO}a`, ISO, "b"),
  ],
  ["square: the query has the body's beginning", square("a=1", '{"x":"b=2"}'), square('a=1{"x":"', 'b=2"}')],
  ["square: the body has the query's end", square("a=1", '{"x":1}'), square("a=", '1{"x":1}')],
  ["trello: the body's end is the URL", trello("", `{"t":"${BASE}?a"}`), trello(`a"}${BASE}`, '{"t":"')],
  [
    "hubspot: the query has the body's beginning",
    hubspot("a=1", String(NOW), '[{"x":1},2]'),
    hubspot('a=1[{"x":1},', String(NOW), "2]"),
  ],
  [
    "hubspot v2: a text of the URL and the body, as v1's body",
    oldHubspot("v2", "", "[1]"),
    oldHubspot("v1", "", `POST${BASE}[1]`),
  ],
  [
    "hubspot v2: the query has the body's beginning",
    oldHubspot("v2", "a=1", "[1,2]"),
    oldHubspot("v2", "a=1[1,", "2]"),
  ],
  ["mailgun: the time has the token's beginning", mailgun(SECONDS, "5abc"), mailgun(`${SECONDS}5`, "abc")],
  ["mailgun: the token has the time's end", mailgun(SECONDS, "abc"), mailgun(SECONDS.slice(0, 9), "0abc")],
  [
    "contentful: a header's value has the next header",
    contentful({ ...context, "x-contentful-crn": "crn", "x-contentful-topic": "publish" }),
    contentful(
      {
        [SIGNED]: NAMES,
        "x-contentful-crn": `crn;${SIGNED}:${NAMES}`,
        [STAMP]: String(NOW),
        "x-contentful-topic": "publish",
      },
      ["x-contentful-crn", STAMP, "x-contentful-topic"],
    ),
  ],
  [
    "contentful: a header's value has a header that is left out",
    contentful({ ...context, "x-contentful-crn": "crn", "x-contentful-topic": "publish" }),
    contentful({
      [SIGNED]: `${NAMES}`,
      "x-contentful-crn": "crn",
      [STAMP]: `${NOW};x-contentful-topic:publish`,
    }),
  ],
  [
    "hook0: the id has the beginning of the type",
    hook0(
      [
        ["x-event-id", "1"],
        ["x-event-type", "a.b"],
      ],
      "{}",
    ),
    hook0(
      [
        ["x-event-id", "1.a"],
        ["x-event-type", "b"],
      ],
      "{}",
    ),
  ],
  [
    "hook0: a header's value has the body's beginning",
    hook0([["content-type", "application/json"]], '[1.5,{"a":1}]'),
    hook0([["content-type", "application/json.[1"]], '5,{"a":1}]'),
  ],
  ["adyen: the reference has the amount", adyen({}), adyen({ merchantReference: "order", value: "1:1130" })],
  ["adyen: a field that is no text goes unsigned", adyen({}), adyen({ originalReference: { forged: 1 } })],
  [
    "adyen: an item's fields as a body",
    adyen({}),
    adyenHeader("7914073381342284::TestMerchant:order:1:1130:EUR:AUTHORISATION:true"),
  ],
  ["aws-sns: the id has the subject", sns({ Subject: "s" }), sns({ MessageId: `${ID}\nSubject\ns` })],
  ["aws-sns: a subject that is no text goes unsigned", sns({}), sns({ Subject: { forged: 1 } })],
  [
    "own: {id}.{body}",
    own("{id}.{body}", { id: "1", body: "a.b" }),
    own("{id}.{body}", { id: "1.a", body: "b" }),
  ],
  [
    "own: {id}é{body}",
    own("{id}é{body}", { id: "1", body: "aéb" }),
    own("{id}é{body}", { id: "1éa", body: "b" }),
  ],
  [
    "own: {id}{body}",
    own("{id}{body}", { id: "1", body: "{a}" }),
    own("{id}{body}", { id: "1{", body: "a}" }),
  ],
  [
    "own: {body}.{id}",
    own("{body}.{id}", { id: "1", body: "a.b" }),
    own("{body}.{id}", { id: "b.1", body: "a" }),
  ],
  [
    "own: {body}{id}",
    own("{body}{id}", { id: "1", body: "{a}" }),
    own("{body}{id}", { id: "}1", body: "{a" }),
  ],
  [
    "own: {timestamp}{body}",
    own("{timestamp}{body}", { time: SECONDS, body: "{}" }),
    own("{timestamp}{body}", { time: SECONDS.slice(0, 9), body: "0{}" }),
  ],
  [
    "own: {timestamp}{body}, seconds for milliseconds",
    own("{timestamp}{body}", { time: `${SECONDS}123`, body: "a" }),
    own("{timestamp}{body}", { time: SECONDS, body: "123a" }),
  ],
  [
    "own: {body}{timestamp}",
    own("{body}{timestamp}", { time: SECONDS, body: "a" }),
    own("{body}{timestamp}", { time: SECONDS.slice(1), body: "a1" }),
  ],
  [
    "own: {body}{timestamp}, seconds for milliseconds",
    own("{body}{timestamp}", { time: `179${SECONDS}`, body: "a" }),
    own("{body}{timestamp}", { time: SECONDS, body: "a179" }),
  ],
  [
    "own: {id}{timestamp}{body}",
    own("{id}{timestamp}{body}", { id: "a1", time: SECONDS, body: "{}" }),
    own("{id}{timestamp}{body}", { id: "a", time: `1${SECONDS.slice(0, 9)}`, body: "0{}" }),
  ],
  [
    "own: {url}|{body}",
    own("{url}|{body}", { query: "a", body: "b|c" }),
    own("{url}|{body}", { query: "a|b", body: "c" }),
  ],
  [
    "own: {url}{body}, a body for a query",
    own("{url}{body}", { query: "a", body: "{}" }),
    own("{url}{body}", { body: "?a{}" }),
  ],
  [
    "own: {url}{timestamp}.{body}",
    own("{url}{timestamp}.{body}", { query: "a", time: SECONDS, body: `b${SECONDS}.c` }),
    own("{url}{timestamp}.{body}", { query: `a${SECONDS}.b`, time: SECONDS, body: "c" }),
  ],
]

describe.each(ROWS)("%s", (_what, genuine, recut) => {
  test("is refused, and what the sender sent is not", async () => {
    const [provider, settings, parts] = genuine
    expect(await outcome(provider, settings, parts)).toBe("verified")
    expect(await outcome(recut[0], recut[1], recut[2])).toMatch(/^(?:malformed|stale|future): /)
  })

  test("has the sender's signature", () => {
    expect(recut[3]).toBe(genuine[3])
  })
})

test.each<[payload: string, Partial<Parameters<NonNullable<ReturnType<typeof cutOf>>>[0]>]>([
  ["{body}", {}],
  ["v0:{timestamp}:{body}", { timestamp: "1" }],
  ["{timestamp}.{body}", { timestamp: SECONDS }],
  ["{id}.{timestamp}.{body}", { id: "msg.a.1", timestamp: SECONDS }],
  ["{id}{timestamp}{body}", { id: "a-12", timestamp: ISO }],
  ["{url}{body}", { url: `${BASE}?a=b%22&c='d'/é`.replace("é", "%C3%A9") }],
  ["{body}{url}", { url: `${BASE}?a=https://other.example/` }],
  ["{body}{timestamp}", { timestamp: "15000000" }],
  ["{method}{url}{body}{timestamp}", { url: `${BASE}?a=1`, timestamp: String(NOW) }],
])("%s: %p is clear", (payload, parts) => {
  const any = { method: "POST", timestamp: "", id: "", url: BASE, body: Buffer.from('{"a":1}'), ...parts }
  expect(cutOf(payload, "any")?.(any)).toBeUndefined()
})
