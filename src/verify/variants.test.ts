import { expect, test } from "bun:test"
import { createHash, createHmac, createSign } from "node:crypto"
import { makeCertificate } from "../../test/support/certificate.ts"
import type { VerifierSettings } from "./schemes/family.ts"
import { makeSigner, makeVerifier } from "./presets/providers.ts"
import { newRsaKey } from "../../test/support/rsa-keys.ts"

// What a provider does in addition to its usual way, which presets.test.ts has.

const NOW = 1_790_000_000_000
const mac = (key: string | Buffer, text: string, encoding: "hex" | "base64"): string =>
  createHmac("sha256", key).update(text).digest(encoding)

interface Received {
  readonly headers?: { readonly [name: string]: string }
  readonly body?: string
  readonly query?: string
}
const authority = makeCertificate("Test Authority", { isCa: true, nowMs: NOW })
const snsCertificate = makeCertificate("sns.amazonaws.com", { issuer: authority, nowMs: NOW })
const chinaCertificate = makeCertificate("sns-cn-north-1.amazonaws.com.cn", { issuer: authority, nowMs: NOW })
const sovereignCertificate = makeCertificate("sns.amazonaws.eu", { issuer: authority, nowMs: NOW })
/** The certificate at a URL, by its host's end; SNS's usual one elsewhere. */
const CERTIFICATES = { "amazonaws.com.cn": chinaCertificate, "amazonaws.eu": sovereignCertificate }
const certificateAt = (url: string) =>
  Object.entries(CERTIFICATES).find(([domain]) => new URL(url).hostname.endsWith(domain))?.[1] ??
  snsCertificate
const outcome = async (name: string, settings: VerifierSettings, received: Received): Promise<string> => {
  const fetcher = {
    fetch: async (url: string) => new Response(certificateAt(url).pem),
    rootCertificates: [authority.pem],
  }
  const { headers = {}, body = "{}", query = "" } = received
  const result = await makeVerifier(name, settings, fetcher).verify(
    {
      method: "POST",
      url: "https://h.example/",
      path: "/",
      query,
      headers: new Headers(headers),
      body: Buffer.from(body),
    },
    NOW,
  )
  return result.kind === "verified" ? "verified" : result.reason
}

const mailgunSubaccount = (more: object): Received => ({
  body: JSON.stringify({
    signature: { timestamp: "1790000000", token: "t", signature: mac("sub", "1790000000t", "hex"), ...more },
  }),
})
const hubspot = (version: "v1" | "v2"): Received => ({
  headers: {
    "X-HubSpot-Signature-Version": version,
    "X-HubSpot-Signature": createHash("sha256")
      .update(version === "v1" ? "k{}" : "kPOSThttps://h.example/{}")
      .digest("hex"),
  },
})
const ADYEN_KEY = "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056"
const adyenItem = (more: object = {}, signature?: string): object => {
  const item = {
    pspReference: "7914073381342284",
    merchantAccountCode: "TestMerchant",
    merchantReference: "TestPayment-1407325143704",
    amount: { value: 1130, currency: "EUR" },
    eventCode: "AUTHORISATION",
    success: "true",
  }
  const text = "7914073381342284::TestMerchant:TestPayment-1407325143704:1130:EUR:AUTHORISATION:true"
  const hmacSignature = signature ?? mac(Buffer.from(ADYEN_KEY, "hex"), text, "base64")
  return { NotificationRequestItem: { ...item, ...more, additionalData: { hmacSignature } } }
}
const adyenBody = (...items: object[]): Received => ({
  body: JSON.stringify({ live: "false", notificationItems: items }),
})

test.each<[string, Received, string]>([
  ["by its item", adyenBody(adyenItem()), "verified"],
  ["with another amount", adyenBody(adyenItem({ amount: { value: 1131, currency: "EUR" } })), "no_match"],
  ["with a change where nothing is signed", adyenBody(adyenItem({ reason: "changed" })), "verified"],
  ["without a signature", adyenBody(adyenItem({}, "")), "malformed"],
  ["with two items, of which one would go unverified", adyenBody(adyenItem(), adyenItem()), "missing_header"],
  [
    "with a signature of other characters that share low bytes",
    adyenBody(adyenItem({}, "\u0161".repeat(44))),
    "malformed",
  ],
])("Adyen: a payment %s", async (_name, received, expected) => {
  expect(await outcome("adyen", { secret: [ADYEN_KEY] }, received)).toBe(expected)
})

test.each<[string, unknown, string]>([
  ["of one right and one wrong state", [{ clientState: "s" }, { clientState: "t" }], "no_match"],
  ["of one state that is missing", [{ clientState: "s" }, {}], "missing_header"],
  ["of none", [], "missing_header"],
  ["of too many", Array.from({ length: 10_001 }, () => ({ clientState: "s" })), "malformed"],
])("Microsoft Graph: notifications %s", async (_name, value, expected) => {
  expect(await outcome("ms-graph", { secret: ["s"] }, { body: JSON.stringify({ value }) })).toBe(expected)
})

const entra = newRsaKey()
const jwks = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: () => Response.json({ keys: [{ ...entra.publicKey.export({ format: "jwk" }), kid: "e" }] }),
})
test("Event Grid: a Microsoft Entra ID token instead of a secret", async () => {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url")
  const text = `${part({ alg: "RS256", kid: "e" })}.${part({ iss: "https://sts.example/", aud: "app", exp: NOW / 1000 + 9 })}`
  const Authorization = `Bearer ${text}.${createSign("sha256").update(text).sign(entra.privateKey, "base64url")}`
  const settings = {
    jwks_url: `http://127.0.0.1:${jwks.port}/`,
    issuer: "https://sts.example/",
    audience: "app",
  }
  const verifier = makeVerifier("azure-eventgrid", settings)
  const request = { method: "POST", url: "", path: "/", query: "", body: new Uint8Array() }
  const result = await verifier.verify({ ...request, headers: new Headers({ Authorization }) }, NOW)
  await jwks.stop(true)
  expect(result).toMatchObject({ kind: "verified" })
})

const generic = { secret: ["k"], header: "X-S", payload: "{timestamp}{body}", timestamp_header: "X-T" }
const basic = `Basic ${Buffer.from("u:p").toString("base64")}`
test.each<[string, string, VerifierSettings, Received, string]>([
  [
    "Alertmanager: basic_auth",
    "alertmanager",
    { username: "u", password: ["p"] },
    { headers: { Authorization: basic } },
    "verified",
  ],
  [
    "Alertmanager: the scheme in lower case",
    "alertmanager",
    { secret: ["t"] },
    { headers: { Authorization: "bearer t" } },
    "verified",
  ],
  [
    "Alertmanager: another scheme",
    "alertmanager",
    { secret: ["t"] },
    { headers: { Authorization: "Basic t" } },
    "malformed",
  ],
  [
    "Postmark: a custom header",
    "postmark",
    { secret: ["t"], header: "X-T" },
    { headers: { "X-T": "t" } },
    "verified",
  ],
  [
    "Grafana: no time in the signature",
    "grafana",
    { secret: ["k"] },
    { headers: { "X-Grafana-Alerting-Signature": mac("k", "{}", "hex") } },
    "verified",
  ],
  [
    "Grafana: a header of another name",
    "grafana",
    { secret: ["k"], header: "X-S" },
    { headers: { "X-S": mac("k", "{}", "hex") } },
    "verified",
  ],
  [
    "Mollie: the signature without its prefix",
    "mollie",
    { secret: ["k"] },
    { headers: { "X-Mollie-Signature": mac("k", "{}", "hex") } },
    "verified",
  ],
  [
    "Mollie: the header twice, as while a secret is rotated",
    "mollie",
    { secret: ["k"] },
    {
      headers: { "X-Mollie-Signature": `sha256=${mac("new", "{}", "hex")}, sha256=${mac("k", "{}", "hex")}` },
    },
    "verified",
  ],
  [
    "Mollie: the header twice, without the prefix",
    "mollie",
    { secret: ["k"] },
    { headers: { "X-Mollie-Signature": `${mac("k", "{}", "hex")}, ${mac("old", "{}", "hex")}` } },
    "verified",
  ],
  [
    "Mollie: the header twice, with signatures of others",
    "mollie",
    { secret: ["k"] },
    { headers: { "X-Mollie-Signature": `sha256=${mac("a", "{}", "hex")}, sha256=${mac("b", "{}", "hex")}` } },
    "no_match",
  ],
  [
    "Bitbucket: the example of its documentation",
    "bitbucket",
    { secret: ["It's a Secret to Everybody"] },
    {
      headers: {
        "X-Hub-Signature": "sha256=a4771c39fbe90f317c7824e83ddef3caae9cb3d976c214ace1f2937e133263c9",
      },
      body: "Hello World!",
    },
    "verified",
  ],
  [
    "Shopify: Events, which have a header of their own",
    "shopify",
    { secret: ["k"] },
    { headers: { "Shopify-Hmac-Sha256": mac("k", "{}", "base64") } },
    "verified",
  ],
  [
    "X: an app with an OAuth 2.0 client secret",
    "x-twitter",
    { secret: ["client"] },
    { headers: { "X-Twitter-Webhooks-Signature-OAuth2": `sha256=${mac("client", "{}", "base64")}` } },
    "verified",
  ],
  [
    "X: both signatures, of which only the consumer secret is known",
    "x-twitter",
    { secret: ["consumer"] },
    {
      headers: {
        "X-Twitter-Webhooks-Signature-OAuth2": `sha256=${mac("client", "{}", "base64")}`,
        "X-Twitter-Webhooks-Signature": `sha256=${mac("consumer", "{}", "base64")}`,
      },
    },
    "verified",
  ],
  ["HubSpot: version 1", "hubspot", { secret: ["k"] }, hubspot("v1"), "missing_header"],
  ["HubSpot: version 2", "hubspot", { secret: ["k"] }, hubspot("v2"), "missing_header"],
  [
    "HubSpot: version 1 where 2 is the oldest",
    "hubspot",
    { secret: ["k"], min_version: "2" },
    hubspot("v1"),
    "missing_header",
  ],
  [
    "HubSpot: version 2 where it may be",
    "hubspot",
    { secret: ["k"], min_version: "2" },
    hubspot("v2"),
    "verified",
  ],
  [
    "HubSpot: version 1 where it may be",
    "hubspot",
    { secret: ["k"], min_version: "1" },
    hubspot("v1"),
    "verified",
  ],
  ["Mailgun: no signature", "mailgun", { secret: ["k"] }, { body: '{"event-data":{}}' }, "missing_header"],
  [
    "Mailgun: a signature without its token",
    "mailgun",
    { secret: ["k"] },
    { body: '{"signature":{"timestamp":"1","signature":"s"}}' },
    "malformed",
  ],
  [
    "Mailgun: an event of a subaccount, by the key of its parent",
    "mailgun",
    { secret: ["parent"], tolerance: 0 },
    mailgunSubaccount({ "parent-signature": mac("parent", "1790000000t", "hex") }),
    "verified",
  ],
  [
    "Mailgun: an event of a subaccount, by its own key",
    "mailgun",
    { secret: ["sub"], tolerance: 0 },
    mailgunSubaccount({ "parent-signature": mac("parent", "1790000000t", "hex") }),
    "verified",
  ],
  [
    "Mailgun: a parent's signature by another key",
    "mailgun",
    { secret: ["parent"], tolerance: 0 },
    mailgunSubaccount({ "parent-signature": mac("other", "1790000000t", "hex") }),
    "no_match",
  ],
  [
    "Mailgun: the signature in base64",
    "mailgun",
    { secret: ["k"], tolerance: 0 },
    {
      body: JSON.stringify({
        signature: { timestamp: "1790000000", token: "t", signature: mac("k", "1790000000t", "base64") },
      }),
    },
    "malformed",
  ],
  ["a token in the query", "token", { secret: ["t&"], query: "k" }, { query: "a=1&k=t%26" }, "verified"],
  ["a token in the query, twice", "token", { secret: ["t"], query: "k" }, { query: "k=t&k=t" }, "malformed"],
  ["a time in milliseconds, recognized by its size", "hmac", generic, timed(String(NOW - 1)), "verified"],
  [
    "a time in RFC 3339, recognized by its form",
    "hmac",
    generic,
    timed(new Date(NOW).toISOString()),
    "verified",
  ],
  ["a time of another form", "hmac", generic, timed("today"), "malformed"],
  ["seventeen signatures, the right one last", "pagerduty", { secret: ["k"] }, pagerDuty(17), "no_match"],
  ["sixteen signatures, the right one last", "pagerduty", { secret: ["k"] }, pagerDuty(16), "verified"],
])("%s", async (_name, provider, settings, received, expected) => {
  expect(await outcome(provider, settings, received)).toBe(expected)
})

function timed(time: string): Received {
  return { headers: { "X-T": time, "X-S": mac("k", `${time}{}`, "hex") } }
}
function pagerDuty(n: number): Received {
  const wrong = Array.from({ length: n - 1 }, () => `v1=${"0".repeat(64)}`)
  return { headers: { "X-PagerDuty-Signature": [...wrong, `v1=${mac("k", "{}", "hex")}`].join(",") } }
}

test.each(["twilio", "mandrill"])(
  "%s: a form of too many fields is refused before it is sorted",
  async (provider) => {
    const ofFields = (count: number): Received => {
      const body = Array.from({ length: count }, () => "a=1").join("&")
      const signed = `https://h.example/${"a1".repeat(provider === "twilio" ? 1 : count)}`
      const signature = createHmac("sha1", "k").update(signed).digest("base64")
      const headers = { "Content-Type": "application/x-www-form-urlencoded" }
      return {
        headers: { ...headers, "X-Twilio-Signature": signature, "X-Mandrill-Signature": signature },
        body,
      }
    }
    expect(await outcome(provider, { secret: ["k"] }, ofFields(1000))).toBe("verified")
    expect(await outcome(provider, { secret: ["k"] }, ofFields(1001))).toBe("malformed")
  },
)

const POLAR_KEY = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
const polar = (key: string | Buffer): Received => ({
  headers: {
    "webhook-id": "msg_1",
    "webhook-timestamp": String(NOW / 1000),
    "webhook-signature": `v1,${mac(key, `msg_1.${NOW / 1000}.{}`, "base64")}`,
  },
})
const polarDecoded = Buffer.from(POLAR_KEY.slice("whsec_".length), "base64")
test.each<[string, readonly string[], Received, string]>([
  ["made since 2026-09-08, which is decoded", [POLAR_KEY], polar(polarDecoded), "verified"],
  ["made before, whose text is the key", [POLAR_KEY], polar(POLAR_KEY), "verified"],
  ["of the second of two", ["polar_whs_other", POLAR_KEY], polar(polarDecoded), "verified"],
  ["without a prefix, which is never decoded", [POLAR_KEY.slice(6)], polar(polarDecoded), "no_match"],
  ["that is not base64 after whsec_", ["whsec_not base64"], polar("whsec_not base64"), "verified"],
  ["of another endpoint", [POLAR_KEY], polar("whsec_other"), "no_match"],
  ["of no bytes", [POLAR_KEY], polar(""), "no_match"],
])("Polar: a secret %s", async (_name, secret, received, expected) => {
  expect(await outcome("polar", { secret }, received)).toBe(expected)
})

test("Polar: the report shows one expected signature for a secret, the one that matches where there is one", async () => {
  const verifier = makeVerifier("polar", { secret: [POLAR_KEY, "polar_whs_other"] })
  for (const key of [polarDecoded, POLAR_KEY]) {
    const headers = new Headers(polar(key).headers)
    const request = { method: "POST", url: "", path: "/", query: "", headers, body: Buffer.from("{}") }
    const { received, expected } = await verifier.explain(request, NOW)
    expect([expected.length, expected[0]]).toEqual([2, received[0]])
  }
})

test("Polar: a secret that begins with whsec_ signs as those do that Polar makes now", async () => {
  const request = {
    method: "POST",
    url: "https://h.example/",
    headers: new Headers(),
    body: Buffer.from("{}"),
  }
  const { headers } = await makeSigner("polar", { secret: [POLAR_KEY] }).sign(
    { ...request, id: "msg_1" },
    NOW,
  )
  expect(headers.get("webhook-signature")).toBe(polar(polarDecoded).headers!["webhook-signature"]!)
})

const SETTINGS = "X-Twilio-Webhooks-Signature-Settings"
const twilio = (
  body: string,
  type: string,
  algorithm = "sha1",
  settings?: string,
  signed = "https://h.example/a1b2",
): Received => ({
  body,
  headers: {
    "Content-Type": type,
    "X-Twilio-Signature": createHmac(algorithm, "k").update(signed).digest("base64"),
    ...(settings !== undefined && { [SETTINGS]: settings }),
  },
})
const twilioForm = (algorithm: string, settings?: string): Received =>
  twilio("b=2&a=1", "application/x-www-form-urlencoded", algorithm, settings)
test.each<[string, Received, string]>([
  [
    "the form that was signed",
    twilio("b=2&a=1", "application/x-www-form-urlencoded; charset=UTF-8"),
    "verified",
  ],
  ["the signed text of a form as a body of its own", twilio("a1b2", "text/plain"), "malformed"],
  ["a shared key with SHA-256", twilioForm("sha256", "key=WK1,algorithm=HMAC_SHA256"), "verified"],
  [
    "a shared key with SHA-256, other spaces",
    twilioForm("sha256", "key=, algorithm=HMAC_SHA256"),
    "verified",
  ],
  ["a shared key with SHA-1", twilioForm("sha1", "key=WK1,algorithm=HMAC_SHA1"), "verified"],
  ["SHA-1 where the header names SHA-256", twilioForm("sha1", "key=WK1,algorithm=HMAC_SHA256"), "malformed"],
  ["SHA-256 where the header names SHA-1", twilioForm("sha256", "key=WK1,algorithm=HMAC_SHA1"), "malformed"],
  ["SHA-256 without the header", twilioForm("sha256"), "malformed"],
  ["an algorithm to come", twilioForm("sha512", "key=WK1,algorithm=HMAC_SHA512"), "malformed"],
  ["settings that leave the algorithm at its default", twilioForm("sha1", "key=WK1"), "verified"],
  ["two algorithms", twilioForm("sha1", "key=WK1,algorithm=HMAC_SHA1,algorithm=HMAC_SHA256"), "malformed"],
])("Twilio: %s", async (_name, received, expected) => {
  expect(await outcome("twilio", { secret: ["k"] }, received)).toBe(expected)
})

test("Twilio: a SHA-256 signature of another key, and of another body by its hash, is refused", async () => {
  const settings = "key=WK1,algorithm=HMAC_SHA256"
  expect(await outcome("twilio", { secret: ["other"] }, twilioForm("sha256", settings))).toBe("no_match")
  const hash = createHash("sha256").update("{}").digest("hex")
  const url = `https://h.example/?bodySHA256=${hash}`
  const { headers } = twilio("{}", "application/json", "sha256", settings, url)
  const judge = async (body: string): Promise<string> => {
    const request = { method: "POST", url, path: "/", query: new URL(url).search.slice(1) }
    const sent = { ...request, headers: new Headers(headers), body: Buffer.from(body) }
    return (await makeVerifier("twilio", { secret: ["k"] }).verify(sent, NOW)).kind
  }
  expect([await judge("{}"), await judge("[]")]).toEqual(["verified", "refused"])
})

test("Contentful: a time outside the signed headers is refused", async () => {
  const names = "x-contentful-signed-headers"
  const headers = {
    [names]: names,
    "x-contentful-timestamp": String(NOW),
    "x-contentful-signature": mac("k", `POST\n/\n${names}:${names}\n{}`, "hex"),
  }
  expect(await outcome("contentful", { secret: ["k"] }, { headers })).toBe("malformed")
})

const snsMessage = (
  more: { readonly [name: string]: string },
  hash = "sha256",
  { privateKey } = snsCertificate,
): Received => {
  const message: { [name: string]: string } = {
    Type: "SubscriptionConfirmation",
    MessageId: "1f2e3d4c-5b6a-4798-8796-a5b4c3d2e1f0",
    Token: "t",
    TopicArn: "arn:aws:sns:eu-west-1:1:t",
    Message: "You have chosen",
    SubscribeURL: "https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription",
    Timestamp: "2026-09-21T14:13:20.000Z",
    SignatureVersion: "2",
    SigningCertURL:
      "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-7506a1e35b36ef5a444dd1a8e7cc3ed8.pem",
    ...more,
  }
  const names = ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"]
  const text = names.map((name) => `${name}\n${message[name]}\n`).join("")
  return {
    body: JSON.stringify({
      Signature: createSign(hash).update(text).sign(privateKey, "base64"),
      ...message,
      ...more,
    }),
  }
}
test.each<[string, Received, string]>([
  ["a confirmation", snsMessage({}), "verified"],
  ["version 1, by SHA-1", snsMessage({ SignatureVersion: "1" }, "sha1"), "verified"],
  ["version 2, by SHA-1", snsMessage({}, "sha1"), "no_match"],
  ["version 3", snsMessage({ SignatureVersion: "3" }), "malformed"],
  ["another topic", snsMessage({ TopicArn: "arn:aws:sns:eu-west-1:2:t" }), "wrong_claim"],
  [
    "a certificate of another host",
    snsMessage({ SigningCertURL: "https://sns.evil.example/S.pem" }),
    "wrong_claim",
  ],
  [
    "a certificate in a bucket",
    snsMessage({
      SigningCertURL:
        "https://sns.s3-us-west-2.amazonaws.com/SimpleNotificationService-7506a1e35b36ef5a444dd1a8e7cc3ed8.pem",
    }),
    "wrong_claim",
  ],
  [
    "a certificate of another region",
    snsMessage({
      SigningCertURL:
        "https://sns.us-west-2.amazonaws.com/SimpleNotificationService-7506a1e35b36ef5a444dd1a8e7cc3ed8.pem",
    }),
    "wrong_claim",
  ],
  ["another type", snsMessage({ Type: "Other" }), "malformed"],
])("Amazon SNS: %s", async (_name, received, expected) => {
  expect(await outcome("aws-sns", { topic_arn: "arn:aws:sns:eu-west-1:1:t" }, received)).toBe(expected)
})

test.each([
  ["its own name", sovereignCertificate, "eu", "verified"],
  ["the name of another partition", snsCertificate, "eu", "no_match"],
  ["another partition's host", sovereignCertificate, "com", "wrong_claim"],
])(
  "Amazon SNS in the European Sovereign Cloud: a certificate of %s",
  async (_name, certificate, end, expected) => {
    const TopicArn = "arn:aws-eusc:sns:eusc-de-east-1:1:t"
    const SigningCertURL = `https://sns.eusc-de-east-1.amazonaws.${end}/SimpleNotificationService-7506a1e35b36ef5a444dd1a8e7cc3ed8.pem`
    const received = snsMessage({ TopicArn, SigningCertURL }, "sha256", certificate)
    expect(await outcome("aws-sns", { topic_arn: TopicArn }, received)).toBe(expected)
  },
)

test.each([
  ["its own name", chinaCertificate, "verified"],
  ["the name of another partition", snsCertificate, "no_match"],
])("Amazon SNS in China: a certificate of %s", async (_name, certificate, expected) => {
  const TopicArn = "arn:aws-cn:sns:cn-north-1:1:t"
  const SigningCertURL =
    "https://sns.cn-north-1.amazonaws.com.cn/SimpleNotificationService-7506a1e35b36ef5a444dd1a8e7cc3ed8.pem"
  const received = snsMessage({ TopicArn, SigningCertURL }, "sha256", certificate)
  expect(await outcome("aws-sns", { topic_arn: TopicArn }, received)).toBe(expected)
})

test.each([
  [
    "hmac",
    { header: "X-Signature", algorithm: "sha512", prefix: "sha512=" },
    "X-Signature",
    "sha512=",
    "sha512",
  ],
  ["github", {}, "X-Hub-Signature-256", "sha256=", "sha256"],
] as const)(
  "%s: hexadecimal digits may be in upper case, the prefix as it is",
  async (name, settings, header, prefix, hash) => {
    const digest = createHmac(hash, "k").update("{}").digest("hex").toUpperCase()
    const judge = (text: string): Promise<string> =>
      outcome(name, { secret: ["other", "k"], ...settings }, { headers: { [header]: text } })
    expect(await judge(prefix + digest)).toBe("verified")
    expect(await judge(prefix.toUpperCase() + digest)).toBe("malformed")
    expect(await judge(prefix + digest.replace(/^./, (it) => (it === "0" ? "1" : "0")))).toBe("no_match")
  },
)

const hook0 = (names: string, values: string, body: string, more: Record<string, string> = {}): Received => ({
  headers: {
    "X-Hook0-Signature": `t=1790000000,h=${names},v1=${mac("k", `1790000000.${names}.${values}.${body}`, "hex")}`,
    "x-event-id": "e-1",
    ...more,
  },
  body,
})
test.each<[string, Received, string]>([
  ["without signed headers", hook0("", "", "{}"), "verified"],
  ["with a signed header", hook0("x-event-id", "e-1", "{}"), "verified"],
  ["with another value of it", hook0("x-event-id", "e-2", "{}"), "no_match"],
  ["with one that the request lacks", hook0("x-other", "", "{}"), "malformed"],
  [
    "with the body's beginning moved into a header",
    { ...hook0("x-event-id", 'e-1.{"a":"', 'x"}', { "x-event-id": 'e-1.{"a":"' }) },
    "malformed",
  ],
  ["with a header's value in the list of names", hook0("x-event-id.e-1", "", "{}"), "malformed"],
])("Hook0's scheme, %s", async (_name, received, expected) => {
  expect(await outcome("coinbase", { secret: ["k"], tolerance: 0 }, received)).toBe(expected)
})

test.each<[string, VerifierSettings, number]>([
  ["zoom", { secret: ["k"] }, 85],
  ["discord", { public_key: ["0".repeat(64)] }, 10],
])("%s: its last attempt, signed as the first was, is within the tolerance", (name, settings, minutes) => {
  expect(makeVerifier(name, settings).toleranceMs).toBeGreaterThan(minutes * 60_000)
})
