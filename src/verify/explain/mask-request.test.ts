import { describe, expect, test } from "bun:test"
import { someOf } from "../../../test/support/cases.ts"
import { NOW, OUTSIDE, requestOf, sendersWith, toRequest } from "../../../test/support/senders.ts"
import { makeVerifier } from "../presets/providers.ts"
import { maskRequest } from "./mask-request.ts"

const SENDERS = sendersWith("https://keys.example.com/")

const shown = ({ url, headers, body }: Awaited<ReturnType<typeof maskRequest>>): string =>
  [url, ...headers.map((it) => it.join(": ")), Buffer.from(body).toString()].join("\n")

describe.each(Object.entries(SENDERS))("a request of %s", (provider, sender) => {
  const { settings } = sender
  test("does not show its signature or token, nor a secret", async () => {
    const request = await requestOf(sender)
    const { received } = await makeVerifier(provider, settings, OUTSIDE).explain(request, NOW)
    const text = shown(await maskRequest(request, [{ provider, settings }], NOW))
    for (const it of [...received, ...(settings.secret ?? []), ...(settings.password ?? [])])
      for (const spelled of [it, encodeURIComponent(it), Buffer.from(it).toString("base64")])
        expect(text).not.toContain(spelled)
  })

  test("shown masked, it can't be sent by whoever sees it", async () => {
    if (sender.signs === "nothing" && settings.secret === undefined) return
    const request = await requestOf(sender)
    const verifier = makeVerifier(provider, settings, OUTSIDE)
    const before = await verifier.verify(request, NOW)
    const { url, headers, body: maskedBody } = await maskRequest(request, [{ provider, settings }], NOW)
    const { search } = new URL(url)
    const masked = {
      ...request,
      url,
      query: search.slice(1),
      headers: new Headers(headers.map(([name, value]): [string, string] => [name, value])),
      body: maskedBody,
    }
    expect(Object.hasOwn(before, "reason")).toBe(false)
    expect(await verifier.verify(masked, NOW)).toHaveProperty("reason")
  })
})

test.each([
  ["Authorization", "Bearer obviously-fake-token", "Bearer (20 characters)"],
  ["Authorization", "obviously-fake-token", "(20 characters)"],
  ["Proxy-Authorization", "Basic dXNlcjpvYnZpb3VzbHktZmFrZQ==", "Basic (28 characters)"],
  ["Cookie", "a=b; session=obviously-fake", "(27 characters)"],
  ["X-Api-Key", "obviously-fake", "(14 characters)"],
  ["X-Auth-Token", "obviously-fake", "(14 characters)"],
  ["X-Webhook-Auth", "obviously-fake", "(14 characters)"],
  ["X-Access-Key", "obviously-fake", "(14 characters)"],
  ["X-Original-Url", "/in?a=1&code=obviously-fake", "/in?a=1&code=(14 characters)"],
  ["X-Goog-Iap-Jwt-Assertion", "eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl", "(38 characters)"],
  ["X-Hub-Signature", `sha1=${"0f".repeat(20)}`, "sha1=0f0f0f...(40 characters)"],
  ["Content-Digest", `sha-256=:${"A".repeat(43)}=:`, "sha-256=:AAAAAA...(44 characters):"],
  ["Content-Type", "application/json", "application/json"],
  ["X-Github-Delivery", "72d3162e-cc78-11e3-81ab-4c9367dc0958", "72d3162e-cc78-11e3-81ab-4c9367dc0958"],
  [
    "User-Agent",
    "Stripe/1.0 (+https://stripe.com/docs/webhooks)",
    "Stripe/1.0 (+https://stripe.com/docs/webhooks)",
  ],
] as const)("without a Verifier too, %s: %s is shown as %s", async (name, value, expected) => {
  const { headers } = await maskRequest(toRequest({ headers: { [name]: value } }), [], NOW)
  expect(headers).toEqual([[name.toLowerCase(), expected]])
})

test.each([
  ['{"access_token":"obviously-fake","id":"evt_1"}', '{"access_token":"(14 characters)","id":"evt_1"}'],
  ['{"a":{"clientSecret" : "with \\" inside"}}', '{"a":{"clientSecret" : "(14 characters)"}}'],
  ['{"private_key":"obviously-fake"}', '{"private_key":"(14 characters)"}'],
  [
    String.raw`{"Message":"{\"token\":\"obviously-fake\",\"id\":1}"}`,
    String.raw`{"Message":"{\"token\":\"(14 characters)\",\"id\":1}"}`,
  ],
  ["a=1&api_key=obviously-fake&b=2", "a=1&api_key=(14 characters)&b=2"],
  [
    '{"id":"evt_1","tokens":["a"],"note":"password"}',
    '{"id":"evt_1","tokens":["(1 characters)"],"note":"password"}',
  ],
])("the body %s is shown as %s", async (body, expected) => {
  const masked = await maskRequest(toRequest({ body }), [], NOW)
  expect(Buffer.from(masked.body).toString()).toBe(expected)
})

const REPEATED = [
  "[",
  "{",
  '{"a":',
  '"{',
  "--a\r\n",
  "<a ",
  "<a>",
  "a=",
  "?a",
  "://a:",
  "Bearer ",
  "'",
  "eyJ",
  "eyJaaaaaaaa.",
  '"token',
  '\\"token\\"',
  "&token",
  "&a",
  "a",
  " ",
  "\\",
  "a=\n",
  "a: ",
  "#a=",
  "{a:",
  '{"a":1}',
  "{//",
  "/*",
  "<token>",
  "--a\r\nb:c\r\n",
  "-----BEGIN PRIVATE KEY-----",
  "A\n",
]
test.each(someOf(REPEATED, 10))("a body of nothing but %p is masked in time of its length", async (part) => {
  const request = toRequest({ body: part.repeat(1_000_000 / part.length) })
  expect(await maskRequest(request, [], NOW)).toHaveProperty("body")
})

test("bytes that are no text stay as they are", async () => {
  const body = Uint8Array.from({ length: 256 }, (_, byte) => byte)
  const request = { ...toRequest({}), body }
  expect((await maskRequest(request, [], NOW)).body).toBe(body)
})

test.each(["token", "code", "key", "auth", "sig", "X-Amz-Credential", "%74oken", "token[]", "%"])(
  "the query's parameter %s is shown if it is no token, and so are others",
  async (name) => {
    const url = `https://hooks.example.com/in?x=1&${name}=obviously-fake&y=2`
    const shown = name === "%" ? "obviously-fake" : "(14 characters)"
    expect((await maskRequest(toRequest({ url }), [], NOW)).url).toBe(
      `https://hooks.example.com/in?x=1&${name}=${shown}&y=2`,
    )
  },
)
