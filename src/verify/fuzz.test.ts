import { expect, test } from "bun:test"
import * as fc from "fast-check"
import { BODY, NOW, OUTSIDE, sendersOfTests, URL_SENT_TO } from "../../test/support/senders.ts"
import { Event } from "../pipeline/event.ts"
import type { HandshakeContext } from "./handshakes/handshake.ts"
import { handshakeOf } from "./handshakes/handshakes.ts"
import { PROVIDER_NAMES, makeVerifier } from "./presets/providers.ts"
import type { SignedRequest } from "./verifier.ts"
import { cases } from "../../test/support/cases.ts"

const SENDERS = sendersOfTests()

/** Texts that headers may hold, of which many look like what schemes want. */
const value = fc.oneof(
  fc.string({ unit: "binary-ascii", maxLength: 80 }),
  fc.string({
    unit: fc.integer({ min: 0x80, max: 0xff }).map((it) => String.fromCharCode(it)),
    maxLength: 20,
  }),
  fc.constantFrom(
    "v1=",
    "t=1,v1=",
    "sha256=",
    "Bearer ",
    "Bearer a.b.c",
    "Basic ",
    "Basic Og==",
    "v1,",
    "v1a,",
    "0",
  ),
  fc.constantFrom("t=1790000000,v1=", "ts=1790000000;h1=", "a,b , ,", "9".repeat(400), "v1=,".repeat(500)),
  fc.stringMatching(/^[0-9a-f]{64}$/),
  fc.base64String({ minLength: 44, maxLength: 44 }),
  fc.integer({ min: Math.floor(NOW / 1000) - 100, max: Math.floor(NOW / 1000) + 100 }).map(String),
  fc.constant(new Date(NOW).toISOString()),
)

const json = fc.oneof(
  fc.jsonValue().map((it) => JSON.stringify(it)),
  fc.constantFrom("null", "[]", '{"value":[null]}', '{"notificationItems":[{}]}', '{"signature":{}}'),
  fc.constantFrom('{"value":[{"clientState":{}}]}', '{"Type":"Notification","SignatureVersion":"1"}'),
  fc.constant(
    '{"notificationItems":[{"NotificationRequestItem":{"additionalData":{"hmacSignature":"\u0161"}}}]}',
  ),
)
const body = fc.oneof(
  fc.uint8Array({ maxLength: 200 }),
  json.map((it) => new Uint8Array(Buffer.from(it))),
)
const url = fc.oneof(
  fc.constantFrom(
    URL_SENT_TO,
    "",
    "https://",
    "http://[::1]:99/%",
    "https://h/?bodySHA256=",
    "https://h/\ud800?\ud800",
  ),
  fc.webUrl({ withQueryParameters: true }),
  fc.string({ maxLength: 40 }),
)

const toHeaders = (pairs: readonly (readonly [string, string])[]): Headers => {
  const headers = new Headers()
  for (const [name, text] of pairs) {
    // what HTTP does not let through, a sender can't send
    const sendable = text.replace(/[\0\r\n]/g, "")
    headers.append(name, sendable)
  }
  return headers
}

const CONTEXT: HandshakeContext = {
  sign: () => "example",
  verifyTokens: ["example"],
  confirms: true,
  learn: () => true,
  fetch: () => Promise.reject(new Error("nothing is visited")),
}

test.each(PROVIDER_NAMES)("%s neither throws nor accepts on random requests", async (name) => {
  const { settings, send, body: own = BODY } = SENDERS[name]!
  const verifier = makeVerifier(name, settings, OUTSIDE)
  // the headers that the scheme looks at, and some that it does not
  const names = ["X-Other", ...Object.keys((await send(own, NOW, URL_SENT_TO)).headers ?? {})]
  const pairs = fc.array(fc.tuple(fc.constantFrom(...names), value), { maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(pairs, body, url, fc.string({ maxLength: 20 }), async (pairs, body, url, query) => {
      const request: SignedRequest = {
        method: "POST",
        url,
        path: "/in",
        query,
        headers: toHeaders(pairs),
        body,
      }
      expect((await verifier.verify(request, NOW)).kind).toBe("refused")
      expect((await verifier.explain(request, NOW)).result.kind).toBe("refused")
    }),
    { numRuns: cases(150) },
  )
})

/** What handshakes look for, with anything in it. */
const question = fc.oneof(
  body,
  fc
    .record(
      {
        type: fc.oneof(fc.jsonValue(), fc.constantFrom("url_verification", 0, 1)),
        event: fc.oneof(fc.jsonValue(), fc.constant("endpoint.url_validation")),
        events: fc.oneof(fc.jsonValue(), fc.constant([])),
        challenge: fc.oneof(fc.jsonValue(), fc.string()),
        payload: fc.oneof(fc.jsonValue(), fc.record({ plainToken: fc.string() })),
        verification_token: fc.oneof(fc.jsonValue(), fc.string({ minLength: 16 })),
        Type: fc.constantFrom("SubscriptionConfirmation", "UnsubscribeConfirmation"),
        SubscribeURL: fc.oneof(fc.jsonValue(), fc.webUrl()),
      },
      { requiredKeys: [] },
    )
    .map((it) => Buffer.from(JSON.stringify(it))),
  fc.constantFrom("[null]", '[{"data":null}]', "ssl_check=1", "webhook_id=1").map((it) => Buffer.from(it)),
)
const query = fc.tuple(
  fc.constantFrom("hub.mode=subscribe&hub.challenge", "crc_token", "challenge", "validationToken", "x"),
  fc.oneof(fc.string({ maxLength: 40 }), fc.webQueryParameters()),
)
const asked = fc.array(
  fc.tuple(
    fc.constantFrom(
      "X-Hook-Secret",
      "x-okta-verification-challenge",
      "WebHook-Request-Origin",
      "aeg-event-type",
    ),
    fc.oneof(value, fc.constantFrom("SubscriptionValidation", "eventgrid.azure.net")),
  ),
  { maxLength: 3 },
)

test.each(PROVIDER_NAMES.filter((name) => handshakeOf(name, CONTEXT) !== undefined))(
  "%s answers whatever it is asked with what HTTP can carry, or not at all",
  async (name) => {
    const handshake = handshakeOf(name, CONTEXT)!
    const method = fc.constantFrom("GET", "HEAD", "OPTIONS", "POST")
    await fc.assert(
      fc.asyncProperty(method, asked, query, question, async (method, pairs, [parameter, text], bytes) => {
        const headers = toHeaders([["Content-Type", "application/x-www-form-urlencoded"], ...pairs])
        const request = {
          id: "fuzz-1",
          method,
          headers,
          path: "/in",
          query: `${parameter}=${text}`,
          url: "",
          remoteAddress: "",
        }
        const event = new Event(request, new Uint8Array(bytes), NOW)
        const answers = [
          handshake.byHeaders?.(request),
          handshake.unsigned?.(event),
          await handshake.verified?.(event, 0),
        ]
        for (const answer of answers) {
          if (answer === undefined) continue
          const text = answer.kind === "answered" && answer.status !== 204 ? answer.body : null
          expect(
            () => new Response(text, { status: answer.status, headers: { ...answer.headers } }),
          ).not.toThrow()
        }
      }),
      { numRuns: cases(300) },
    )
  },
)
