import {
  createHash,
  createHmac,
  createSign,
  generateKeyPairSync,
  sign as signBytes,
  type KeyObject,
} from "node:crypto"
import { crc32 } from "node:zlib"
import { afterAll } from "bun:test"
import { makeCertificate } from "./certificate.ts"
import { stripeSignature } from "./stripe-events.ts"
import type { VerifierSettings } from "../../src/verify/schemes/family.ts"
import type { SignedRequest } from "../../src/verify/verifier.ts"
import type { Fetcher } from "../../src/verify/fetch/fetcher.ts"
import { newRsaKey } from "./rsa-keys.ts"

/** A request as one of these senders makes it. */
export interface Sent {
  readonly headers?: { readonly [name: string]: string }
  /** Where the sender changes the body or the URL that it was given. */
  readonly body?: string
  readonly url?: string
}

/** A provider, written out after its own documentation, with nothing of src/verify in it. */
export interface Sender {
  readonly settings: VerifierSettings
  /** Settings of somebody else. */
  readonly wrong: VerifierSettings
  send(body: string, atMs: number, url: string): Sent | Promise<Sent>
  /** What of the request is signed; a change of anything else passes. Default: the body. */
  readonly signs?: "body" | "nothing"
  /** Whether the URL is signed. */
  readonly signsUrl?: boolean
  /** Whether a time is signed, and is to be checked within this many seconds. */
  readonly toleranceS?: number
  /** A body other than the usual one, as the provider's are. */
  readonly body?: string
}

/** A sender's request as a verifier gets it. */
export function toRequest({ headers = {}, url = URL_SENT_TO, body = BODY }: Sent): SignedRequest {
  const { pathname, search } = new URL(url)
  return {
    method: "POST",
    url,
    path: pathname,
    query: search.slice(1),
    headers: new Headers(headers),
    body: Buffer.from(body),
  }
}

/** What a sender sends at a time, as a verifier gets it. */
export async function requestOf(sender: Sender, atMs = NOW): Promise<SignedRequest> {
  const body = sender.body ?? BODY
  const sent = await sender.send(body, atMs, URL_SENT_TO)
  return toRequest({ ...sent, body: sent.body ?? body })
}

/** What they send, unless they name another body. */
export const BODY = '{"id":"evt_1","type":"order.paid","note":"h\u00e9llo \ud83d\ude00","webhookTimestamp":0}'
const FORM = "mandrill_events=%5B%7B%22event%22%3A%22send%22%7D%5D&b=2&a=1"
/** Where they believe to send to. */
export const URL_SENT_TO = "https://hooks.example.com/in?x=1&y=a%2Cb"
/** When these senders send by default, in milliseconds since 1970. */
export const NOW = 1_790_000_000_400

/** Digests and signatures, recognized by their length. */
const DIGEST = /[0-9a-f]{40,}|[A-Za-z0-9+/_-]{27,}={0,2}(?=$|,|;|")/g
/** A text with each signature in it written in hexadecimal where it is base64, and the other way round. */
export const reencode = (text: string): string =>
  text.replace(DIGEST, (it) =>
    /^[0-9a-f]+$/.test(it)
      ? Buffer.from(it, "hex").toString("base64")
      : Buffer.from(it, "base64").toString("hex"),
  )
/** Headers that are long, and no signature. */
const NO_SIGNATURES = ["content-type", "x-contentful-signed-headers", "paypal-cert-url"]
/** Headers with the signatures in another encoding. */
export const reencodeHeaders = (headers: Headers): Headers =>
  new Headers([...headers].map(([name, it]) => [name, NO_SIGNATURES.includes(name) ? it : reencode(it)]))

const mac = (
  hash: string,
  key: string | Buffer,
  text: string,
  encoding: "hex" | "base64" | "base64url",
): string => createHmac(hash, key).update(text).digest(encoding)
const seconds = (ms: number): string => String(Math.floor(ms / 1000))
const SECRET: Pick<Sender, "settings" | "wrong"> = {
  settings: { secret: ["not the one that matches", "It's a Secret \u2713"] },
  wrong: { secret: ["It's a Secret \u2717"] },
}
const KEY = SECRET.settings.secret![1]!

/** HMAC of the body in a header. */
const ofBody = (header: string, make: (body: string) => string): Sender => ({
  ...SECRET,
  send: (body) => ({ headers: { [header]: make(body) } }),
})
const hex256 = (body: string): string => mac("sha256", KEY, body, "hex")
const base64of256 = (body: string): string => mac("sha256", KEY, body, "base64")

/** Time and signature in one header. */
const timed = (header: string, toleranceS: number, make: (body: string, ms: number) => string): Sender => ({
  ...SECRET,
  toleranceS,
  send: (body, ms) => ({ headers: { [header]: make(body, ms) } }),
})

/** https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md#symmetric */
export const standardSignature = (key: string | Buffer, id: string, atMs: number, body: string): string =>
  `v1,${mac("sha256", key, `${id}.${seconds(atMs)}.${body}`, "base64")}`
/** The key that the text of a secret has. */
export const keyOfSecret = (secret: string): Buffer => Buffer.from(secret.slice("whsec_".length), "base64")
const WHSEC = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
const standard = (prefix: string): Sender => ({
  settings: { secret: ["whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", WHSEC] },
  wrong: { secret: ["whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"] },
  toleranceS: 300,
  send: (body, ms) => ({
    headers: {
      [`${prefix}-id`]: "msg_1",
      [`${prefix}-timestamp`]: seconds(ms),
      [`${prefix}-signature`]: standardSignature(keyOfSecret(WHSEC), "msg_1", ms, body),
    },
  }),
})

const token = (header: string, settings: VerifierSettings = {}, prefix = ""): Sender => ({
  settings: { ...settings, secret: ["other", "s3cret-token"] },
  wrong: { ...settings, secret: ["other"] },
  signs: "nothing",
  send: () => ({ headers: { [header]: `${prefix}s3cret-token` } }),
})

const basicAuth: Sender = {
  settings: { username: "hook", password: ["other", "pa:ss"] },
  wrong: { username: "hook", password: ["other"] },
  signs: "nothing",
  send: () => ({ headers: { Authorization: `Basic ${Buffer.from("hook:pa:ss").toString("base64")}` } }),
}

// ---- JSON Web Tokens, by hand
const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url")
const hmacJwt = (claims: object): string => {
  const text = `${part({ alg: "HS256", typ: "JWT" })}.${part(claims)}`
  return `${text}.${mac("sha256", KEY, text, "base64url")}`
}
const keyJwt = (alg: "RS256" | "ES256", kid: string, key: KeyObject, claims: object): string => {
  const text = `${part({ alg, kid, typ: "JWT" })}.${part(claims)}`
  const signature = signBytes("sha256", Buffer.from(text), { key, dsaEncoding: "ieee-p1363" })
  return `${text}.${signature.toString("base64url")}`
}
const bodyHash = (body: string, encoding: "hex" | "base64"): string =>
  createHash("sha256").update(body).digest(encoding)

const rsa = newRsaKey()
const otherRsa = newRsaKey()
const ec = generateKeyPairSync("ec", { namedCurve: "P-256" })
const otherEc = generateKeyPairSync("ec", { namedCurve: "P-256" })
const ed = generateKeyPairSync("ed25519")
const otherEd = generateKeyPairSync("ed25519")
const pem = (key: KeyObject): string => key.export({ format: "pem", type: "spki" }).toString()

/** What Google, or any other issuer of these tokens, serves at its JWKS URL. */
export const JWKS = { keys: [{ ...rsa.publicKey.export({ format: "jwk" }), kid: "k1", alg: "RS256" }] }

/** The private keys that signers sign with, in PEM, by provider. */
export const PRIVATE_KEYS: { readonly [name: string]: string } = {
  jwt: privatePem(rsa.privateKey),
  "gcp-pubsub": privatePem(rsa.privateKey),
  plaid: privatePem(ec.privateKey),
  sendgrid: privatePem(ec.privateKey),
  ecdsa: privatePem(ec.privateKey),
  discord: privatePem(ed.privateKey),
  telnyx: privatePem(ed.privateKey),
  wise: privatePem(rsa.privateKey),
  ed25519: privatePem(ed.privateKey),
}

/** What the provider signs with: a private key in place of the public one. */
export function signingSettings(provider: string, { settings }: Sender): VerifierSettings {
  const key = PRIVATE_KEYS[provider]
  return key === undefined ? settings : { ...settings, secret: [key] }
}

/** The section of a Verifier of nothing but the provider and what its scheme needs. */
export const verifierSection = (pipeline: string, provider: string, { settings }: Sender): string =>
  [
    `[pipeline:${pipeline}:Verifier]\nprovider = ${provider}`,
    ...Object.entries(settings).map(([key, value]) => `${key} = ${inFile(value)}`),
  ].join("\n")
const inFile = (value: unknown): string =>
  Array.isArray(value)
    ? value.map((it) => `\n  ${String(it).replaceAll("\n", "\n  ")}`).join("")
    : String(value)

// ---- certificates, which providers serve at hosts of their own
const root = makeCertificate("Test Authority", { isCa: true, nowMs: NOW })
const paypalCertificate = makeCertificate("messageverificationcerts.paypal.com", { issuer: root, nowMs: NOW })
const snsCertificate = makeCertificate("sns.amazonaws.com", { issuer: root, nowMs: NOW })
const CERTIFICATES: { readonly [url: string]: string } = {
  "https://api.paypal.com/v1/notifications/certs/CERT-1": paypalCertificate.pem,
  "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-7506a1e35b36ef5a444dd1a8e7cc3ed8.pem":
    snsCertificate.pem,
}
/** What verifiers reach outside: the certificates of this file, and else the network. */
export const OUTSIDE: Fetcher = {
  fetch: (url, init) =>
    url in CERTIFICATES ? Promise.resolve(new Response(CERTIFICATES[url])) : fetch(url, init),
  rootCertificates: [root.pem],
}

const gcpClaims = (ms: number) => ({
  iss: "https://accounts.google.com",
  aud: "hookline",
  email: "push@project.iam.gserviceaccount.com",
  email_verified: true,
  iat: Math.floor(ms / 1000),
  exp: Math.floor(ms / 1000) + 3600,
})
const gcpSettings = (jwksUrl: string): VerifierSettings => ({
  audience: "hookline",
  email: "push@project.iam.gserviceaccount.com",
  jwks_url: jwksUrl,
})

/** The senders, with a server that has their keys while the tests of a file run. */
export function sendersOfTests(): { readonly [name: string]: Sender } {
  const keys = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => Response.json(JWKS) })
  afterAll(() => keys.stop(true))
  return sendersWith(`http://127.0.0.1:${keys.port}/keys`)
}

/**
 * A sender for every preset and generic kind.
 *
 * @param jwksUrl where JWKS is served
 */
export const sendersWith = (jwksUrl: string): { readonly [name: string]: Sender } => ({
  "standard-webhooks": standard("webhook"),
  svix: standard("svix"),
  openai: standard("webhook"),
  anthropic: standard("webhook"),
  clerk: standard("svix"),
  resend: standard("svix"),
  "gitlab-signing-token": standard("webhook"),

  stripe: {
    ...SECRET,
    toleranceS: 300,
    send: (body, ms) => ({ headers: { "Stripe-Signature": stripeSignature(KEY, body, ms) } }),
  },
  mux: timed("mux-signature", 300, (body, ms) => `t=${seconds(ms)},v1=${hex256(`${seconds(ms)}.${body}`)}`),
  calendly: timed(
    "Calendly-Webhook-Signature",
    180,
    (body, ms) => `t=${seconds(ms)},v1=${hex256(`${seconds(ms)}.${body}`)}`,
  ),
  workos: timed("WorkOS-Signature", 180, (body, ms) => `t=${ms}, v1=${hex256(`${ms}.${body}`)}`),
  sanity: timed(
    "sanity-webhook-signature",
    300,
    (body, ms) => `t=${ms},v1=${mac("sha256", KEY, `${ms}.${body}`, "base64url")}`,
  ),
  paddle: timed(
    "Paddle-Signature",
    5,
    (body, ms) => `ts=${seconds(ms)};h1=${hex256(`${seconds(ms)}:${body}`)}`,
  ),

  slack: {
    ...SECRET,
    toleranceS: 300,
    send: (body, ms) => ({
      headers: {
        "X-Slack-Request-Timestamp": seconds(ms),
        "X-Slack-Signature": `v0=${hex256(`v0:${seconds(ms)}:${body}`)}`,
      },
    }),
  },
  zoom: {
    ...SECRET,
    toleranceS: 7200,
    send: (body, ms) => ({
      headers: {
        "x-zm-request-timestamp": seconds(ms),
        "x-zm-signature": `v0=${hex256(`v0:${seconds(ms)}:${body}`)}`,
      },
    }),
  },
  grafana: {
    settings: { ...SECRET.settings, timestamp_header: "X-Grafana-Alerting-Timestamp" },
    wrong: { ...SECRET.wrong, timestamp_header: "X-Grafana-Alerting-Timestamp" },
    toleranceS: 300,
    send: (body, ms) => ({
      headers: {
        "X-Grafana-Alerting-Timestamp": seconds(ms),
        "X-Grafana-Alerting-Signature": hex256(`${seconds(ms)}:${body}`),
      },
    }),
  },
  webflow: {
    ...SECRET,
    toleranceS: 300,
    send: (body, ms) => ({
      headers: { "x-webflow-timestamp": String(ms), "x-webflow-signature": hex256(`${ms}:${body}`) },
    }),
  },
  zendesk: {
    ...SECRET,
    toleranceS: 300,
    send: (body, ms) => {
      const time = new Date(ms).toISOString().replace(/\.\d+/, "")
      return {
        headers: {
          "X-Zendesk-Webhook-Signature-Timestamp": time,
          "X-Zendesk-Webhook-Signature": base64of256(time + body),
        },
      }
    },
  },
  twitch: {
    ...SECRET,
    toleranceS: 600,
    send: (body, ms) => {
      const time = new Date(ms).toISOString().replace("Z", "634226Z")
      return {
        headers: {
          "Twitch-Eventsub-Message-Id": "e76c6bd4",
          "Twitch-Eventsub-Message-Timestamp": time,
          "Twitch-Eventsub-Message-Signature": `sha256=${hex256(`e76c6bd4${time}${body}`)}`,
        },
      }
    },
  },
  box: {
    ...SECRET,
    toleranceS: 600,
    send: (body, ms) => {
      const time = new Date(ms - 7 * 3_600_000).toISOString().replace(/\.\d+Z/, "-07:00")
      return {
        headers: {
          "Box-Delivery-Timestamp": time,
          "Box-Signature-Version": "1",
          "Box-Signature-Algorithm": "HmacSHA256",
          "Box-Signature-Secondary": base64of256(body + time),
        },
      }
    },
  },

  github: ofBody("X-Hub-Signature-256", (body) => `sha256=${hex256(body)}`),
  bitbucket: ofBody("X-Hub-Signature", (body) => `sha256=${hex256(body)}`),
  jira: ofBody("X-Hub-Signature", (body) => `sha256=${hex256(body)}`),
  meta: ofBody("X-Hub-Signature-256", (body) => `sha256=${hex256(body)}`),
  "x-twitter": ofBody("x-twitter-webhooks-signature", (body) => `sha256=${base64of256(body)}`),
  shopify: ofBody("X-Shopify-Hmac-SHA256", base64of256),
  line: ofBody("x-line-signature", base64of256),
  xero: ofBody("x-xero-signature", base64of256),
  typeform: ofBody("Typeform-Signature", (body) => `sha256=${base64of256(body)}`),
  woocommerce: ofBody("X-WC-Webhook-Signature", base64of256),
  docusign: ofBody("X-DocuSign-Signature-2", base64of256),
  "coinbase-commerce": ofBody("X-CC-Webhook-Signature", hex256),
  coinbase: {
    ...SECRET,
    toleranceS: 300,
    send: (body, ms) => {
      const v0 = hex256(`${seconds(ms)}.${body}`)
      const v1 = hex256(`${seconds(ms)}.content-type.application/json.${body}`)
      return {
        headers: {
          "Content-Type": "application/json",
          "X-Hook0-Signature": `t=${seconds(ms)},v0=${v0},h=content-type,v1=${v1}`,
        },
      }
    },
  },
  razorpay: ofBody("X-Razorpay-Signature", hex256),
  onfido: ofBody("X-SHA2-Signature", hex256),
  dropbox: ofBody("X-Dropbox-Signature", hex256),
  asana: ofBody("X-Hook-Signature", hex256),
  gocardless: ofBody("Webhook-Signature", hex256),
  mollie: ofBody("X-Mollie-Signature", (body) => `sha256=${hex256(body)}`),
  notion: ofBody("X-Notion-Signature", (body) => `sha256=${hex256(body)}`),
  linear: {
    ...SECRET,
    toleranceS: 60,
    send(given, ms) {
      const body = given.replace('"webhookTimestamp":0', `"webhookTimestamp":${ms}`)
      return { body, headers: { "Linear-Signature": hex256(body) } }
    },
  },
  sentry: ofBody("Sentry-Hook-Signature", hex256),
  pagerduty: ofBody("X-PagerDuty-Signature", (body) => `v1=${"0".repeat(64)},v1=${hex256(body)}`),
  circleci: ofBody("circleci-signature", (body) => `v1=${hex256(body)}`),
  intercom: ofBody("X-Hub-Signature", (body) => `sha1=${mac("sha1", KEY, body, "hex")}`),
  vercel: ofBody("x-vercel-signature", (body) => mac("sha1", KEY, body, "hex")),

  square: {
    ...SECRET,
    signsUrl: true,
    send: (body, _ms, url) => ({ headers: { "x-square-hmacsha256-signature": base64of256(url + body) } }),
  },
  trello: {
    ...SECRET,
    signsUrl: true,
    send: (body, _ms, url) => ({ headers: { "X-Trello-Webhook": mac("sha1", KEY, body + url, "base64") } }),
  },
  twilio: {
    ...SECRET,
    signsUrl: true,
    body: "To=%2B1800&From=%2B1415&Body=a+b",
    send: (body, _ms, url) => ({
      headers: {
        "Content-Type": "application/x-www-form-urlencoded",
        "X-Twilio-Signature": mac(
          "sha1",
          KEY,
          url +
            [...new URLSearchParams(body)]
              .map(([name, value]) => name + value)
              .toSorted()
              .join(""),
          "base64",
        ),
      },
    }),
  },
  mandrill: {
    ...SECRET,
    signsUrl: true,
    body: FORM,
    send: (body, _ms, url) => {
      const form = new URLSearchParams(body)
      const text = [...form.keys()].toSorted().reduce((data, key) => data + key + form.get(key), url)
      return {
        headers: {
          "Content-Type": "application/x-www-form-urlencoded",
          "X-Mandrill-Signature": mac("sha1", KEY, text, "base64"),
        },
      }
    },
  },
  hubspot: {
    ...SECRET,
    signsUrl: true,
    toleranceS: 300,
    send: (body, ms, url) => ({
      headers: {
        "X-HubSpot-Request-Timestamp": String(ms),
        "X-HubSpot-Signature-v3": base64of256(`POST${url.replace("%2C", ",")}${body}${ms}`),
      },
    }),
  },
  contentful: {
    ...SECRET,
    signsUrl: true,
    toleranceS: 30,
    send: (body, ms) => {
      const names = "content-type,x-contentful-signed-headers,x-contentful-timestamp"
      const lines = `content-type:application/json;x-contentful-signed-headers:${names};x-contentful-timestamp:${ms}`
      return {
        headers: {
          "content-type": "application/json",
          "x-contentful-signed-headers": names,
          "x-contentful-timestamp": String(ms),
          // the query is escaped as a whole, and then once more with the path
          "x-contentful-signature": hex256(`POST\n/in?x%253D1%2526y%253Da%25252Cb\n${lines}\n${body}`),
        },
      }
    },
  },

  adyen: {
    settings: { secret: ["AA", "44782DEF547AAA06"] },
    wrong: { secret: ["AA"] },
    send: (body) => ({
      headers: { HmacSignature: mac("sha256", Buffer.from("44782DEF547AAA06", "hex"), body, "base64") },
    }),
  },
  mailgun: {
    ...SECRET,
    signs: "nothing",
    toleranceS: 9 * 3600,
    send: (body, ms) => {
      // of each second another one, as the body is
      const token = `t0k3n${seconds(ms)}`
      const signature = { timestamp: seconds(ms), token, signature: hex256(`${seconds(ms)}${token}`) }
      return { body: JSON.stringify({ ...JSON.parse(body), signature }) }
    },
  },
  "ms-graph": {
    settings: { secret: ["other", "state"] },
    wrong: { secret: ["other"] },
    signs: "nothing",
    send: () => ({
      body: JSON.stringify({
        value: [{ clientState: "state" }, { clientState: "state", changeType: "created" }],
      }),
    }),
  },

  discord: {
    settings: { public_key: [rawHex(otherEd.publicKey), rawHex(ed.publicKey)] },
    wrong: { public_key: [rawHex(otherEd.publicKey)] },
    toleranceS: 900,
    send: (body, ms) => ({
      headers: {
        "X-Signature-Timestamp": seconds(ms),
        "X-Signature-Ed25519": signBytes(null, Buffer.from(seconds(ms) + body), ed.privateKey).toString(
          "hex",
        ),
      },
    }),
  },
  sendgrid: {
    settings: { public_key: [der(otherEc.publicKey), der(ec.publicKey)] },
    wrong: { public_key: [der(otherEc.publicKey)] },
    toleranceS: 300,
    send: (body, ms) => ({
      headers: {
        "X-Twilio-Email-Event-Webhook-Timestamp": seconds(ms),
        "X-Twilio-Email-Event-Webhook-Signature": createSign("sha256")
          .update(seconds(ms) + body)
          .sign(ec.privateKey, "base64"),
      },
    }),
  },
  "aws-sns": {
    settings: { topic_arn: "arn:aws:sns:eu-west-1:1:orders" },
    wrong: { topic_arn: "arn:aws:sns:eu-west-1:2:orders" },
    toleranceS: 300,
    send(Message, ms) {
      const Timestamp = new Date(ms).toISOString()
      const TopicArn = "arn:aws:sns:eu-west-1:1:orders"
      const text =
        `Message\n${Message}\nMessageId\n1f2e3d4c-5b6a-4798-8796-a5b4c3d2e1f0\nTimestamp\n${Timestamp}\n` +
        `TopicArn\n${TopicArn}\nType\nNotification\n`
      const signed = {
        Type: "Notification",
        MessageId: "1f2e3d4c-5b6a-4798-8796-a5b4c3d2e1f0",
        TopicArn,
        Message,
        Timestamp,
        SignatureVersion: "2",
      }
      return {
        body: JSON.stringify({
          ...signed,
          Signature: createSign("sha256").update(text).sign(snsCertificate.privateKey, "base64"),
          SigningCertURL:
            "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-7506a1e35b36ef5a444dd1a8e7cc3ed8.pem",
        }),
      }
    },
  },
  paypal: {
    settings: { webhook_id: "4JH86294D6297924G" },
    wrong: { webhook_id: "4JH86294D6297924H" },
    toleranceS: 4 * 86_400,
    send(body, ms) {
      const time = new Date(ms).toISOString().replace(/\.\d+/, "")
      const text = `b2384410-f8d2|${time}|4JH86294D6297924G|${crc32(body)}`
      return {
        headers: {
          "PAYPAL-TRANSMISSION-ID": "b2384410-f8d2",
          "PAYPAL-TRANSMISSION-TIME": time,
          "PAYPAL-TRANSMISSION-SIG": createSign("sha256")
            .update(text)
            .sign(paypalCertificate.privateKey, "base64"),
          "PAYPAL-CERT-URL": "https://api.paypal.com/v1/notifications/certs/CERT-1",
          "PAYPAL-AUTH-ALGO": "SHA256withRSA",
        },
      }
    },
  },

  plaid: {
    settings: { public_key: [jwk(otherEc.publicKey), jwk(ec.publicKey)] },
    wrong: { public_key: [jwk(otherEc.publicKey)] },
    toleranceS: 300,
    send: (body, ms) => ({
      headers: {
        "Plaid-Verification": keyJwt("ES256", "p1", ec.privateKey, {
          iat: Math.floor(ms / 1000),
          request_body_sha256: bodyHash(body, "hex"),
        }),
      },
    }),
  },
  fusionauth: ofBody("X-FusionAuth-Signature-JWT", (body) =>
    hmacJwt({ request_body_sha256: bodyHash(body, "base64") }),
  ),
  netlify: ofBody("X-Webhook-Signature", (body) =>
    hmacJwt({ iss: "netlify", sha256: bodyHash(body, "hex") }),
  ),
  "gcp-pubsub": {
    settings: gcpSettings(jwksUrl),
    wrong: { ...gcpSettings(jwksUrl), audience: "somebody else" },
    signs: "nothing",
    send: (_body, ms) => ({
      headers: { Authorization: `Bearer ${keyJwt("RS256", "k1", rsa.privateKey, gcpClaims(ms))}` },
    }),
  },
  "azure-eventgrid": {
    settings: { secret: ["other", "s3cret"], query: "code" },
    wrong: { secret: ["other"], query: "code" },
    signs: "nothing",
    send: (_body, _ms, url) => ({ url: `${url}&code=s3cret` }),
  },

  gitlab: token("X-Gitlab-Token"),
  telegram: token("X-Telegram-Bot-Api-Secret-Token"),
  okta: token("Authorization"),
  opsgenie: token("X-Opsgenie-Secret", { header: "X-Opsgenie-Secret" }),
  alertmanager: token("Authorization", {}, "Bearer "),
  postmark: basicAuth,
  chargebee: basicAuth,

  ...newer(),

  // ---- the generic kinds
  hmac: {
    settings: {
      ...SECRET.settings,
      header: "X-Sig",
      algorithm: "sha512",
      encoding: "base64",
      prefix: "sig=",
      payload: "{method}|{url}|{id}|{timestamp}|{body}",
      timestamp_header: "X-Time",
      id_header: "X-Id",
    },
    get wrong() {
      return { ...this.settings, ...SECRET.wrong }
    },
    signsUrl: true,
    toleranceS: 300,
    send: (body, ms, url) => ({
      headers: {
        "X-Id": "7",
        "X-Time": seconds(ms),
        "X-Sig": `sig=${mac("sha512", KEY, `POST|${url}|7|${seconds(ms)}|${body}`, "base64")}`,
      },
    }),
  },
  token: token("X-Token", { header: "X-Token" }),
  basic: basicAuth,
  jwt: {
    settings: { jwks_url: jwksUrl, issuer: "https://sender.example", audience: "hookline" },
    wrong: { jwks_url: jwksUrl, issuer: "https://other.example", audience: "hookline" },
    signs: "nothing",
    send: (_body, ms) => ({
      headers: {
        Authorization: `Bearer ${keyJwt("RS256", "k1", rsa.privateKey, {
          iss: "https://sender.example",
          aud: ["hookline", "else"],
          exp: Math.floor(ms / 1000) + 60,
        })}`,
      },
    }),
  },
  ed25519: {
    settings: {
      public_key: [pem(otherEd.publicKey), pem(ed.publicKey)],
      header: "X-Sig",
      encoding: "base64",
    },
    wrong: { public_key: [pem(otherEd.publicKey)], header: "X-Sig", encoding: "base64" },
    send: (body) => ({
      headers: { "X-Sig": signBytes(null, Buffer.from(body), ed.privateKey).toString("base64") },
    }),
  },
  ecdsa: {
    settings: { public_key: [pem(ec.publicKey)], header: "X-Sig" },
    wrong: { public_key: [pem(otherEc.publicKey)], header: "X-Sig" },
    send: (body) => ({
      headers: { "X-Sig": createSign("sha256").update(body).sign(ec.privateKey, "hex") },
    }),
  },
})

/** Time and signature in headers of their own. */
const apart = (
  signature: string,
  timestamp: string,
  toleranceS: number,
  make: (body: string, time: string) => string,
  spell: (ms: number) => string = seconds,
): Sender => ({
  ...SECRET,
  toleranceS,
  send: (body, ms) => ({ headers: { [timestamp]: spell(ms), [signature]: make(body, spell(ms)) } }),
})

/** Senders that were added later, by family. */
const newer = (): { readonly [name: string]: Sender } => ({
  polar: {
    ...standard("webhook"),
    settings: { secret: ["polar_whs_other", "polar_whs_ovyN6cPrTv56AApvzCaJno08SSmGJmgbWilb33N2JuK"] },
    wrong: { secret: ["polar_whs_other"] },
    send: (body, ms) => ({
      headers: {
        "webhook-id": "msg_1",
        "webhook-timestamp": seconds(ms),
        "webhook-signature": standardSignature(
          "polar_whs_ovyN6cPrTv56AApvzCaJno08SSmGJmgbWilb33N2JuK",
          "msg_1",
          ms,
          body,
        ),
      },
    }),
  },
  supabase: {
    ...standard("webhook"),
    settings: { secret: ["v1,whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", `v1,${WHSEC}`] },
    wrong: { secret: ["v1,whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"] },
  },

  replicate: standard("webhook"),
  render: standard("webhook"),
  brex: standard("webhook"),
  "dodo-payments": standard("webhook"),
  "incident-io": standard("webhook"),
  lithic: standard("webhook"),
  etsy: standard("webhook"),
  gemini: standard("webhook"),
  vanta: standard("svix"),
  stytch: standard("svix"),

  klaviyo: apart(
    "Klaviyo-Signature",
    "Klaviyo-Timestamp",
    300,
    (body, time) => hex256(body + time),
    (ms) => new Date(ms).toUTCString(),
  ),
  "customer-io": apart("X-CIO-Signature", "X-CIO-Timestamp", 300, (body, time) =>
    hex256(`v0:${time}:${body}`),
  ),
  persona: timed(
    "Persona-Signature",
    300,
    (body, ms) =>
      `t=${seconds(ms)},v1=${"0".repeat(64)} t=${seconds(ms)},v1=${hex256(`${seconds(ms)}.${body}`)}`,
  ),
  elevenlabs: timed(
    "ElevenLabs-Signature",
    1800,
    (body, ms) => `t=${seconds(ms)},v0=${hex256(`${seconds(ms)}.${body}`)}`,
  ),
  revenuecat: timed(
    "X-RevenueCat-Webhook-Signature",
    300,
    (body, ms) => `t=${seconds(ms)},v1=${hex256(`${seconds(ms)}.${body}`)}`,
  ),
  recurly: timed(
    "recurly-signature",
    300,
    (body, ms) => `${ms},${"0".repeat(64)},${hex256(`${ms}.${body}`)}`,
  ),
  front: apart(
    "X-Front-Signature",
    "X-Front-Request-Timestamp",
    300,
    (body, time) => base64of256(`${time}:${body}`),
    String,
  ),
  airwallex: apart("x-signature", "x-timestamp", 300, (body, time) => hex256(time + body), String),
  revolut: apart(
    "Revolut-Signature",
    "Revolut-Request-Timestamp",
    300,
    (body, time) => `v1=${"0".repeat(64)},v1=${hex256(`v1.${time}.${body}`)}`,
    String,
  ),
  buildkite: timed(
    "X-Buildkite-Signature",
    300,
    (body, ms) => `timestamp=${seconds(ms)},signature=${hex256(`${seconds(ms)}.${body}`)}`,
  ),
  tiktok: timed(
    "Tiktok-Signature",
    300,
    (body, ms) => `t=${seconds(ms)},s=${hex256(`${seconds(ms)}.${body}`)}`,
  ),

  "lemon-squeezy": ofBody("X-Signature", hex256),
  quickbooks: ofBody("intuit-signature", base64of256),
  "cal-com": ofBody("X-Cal-Signature-256", hex256),
  clickup: ofBody("X-Signature", hex256),
  airtable: {
    settings: { secret: ["b3RoZXI=", "dGhlIGtleSBvZiBBaXJ0YWJsZQ=="] },
    wrong: { secret: ["b3RoZXI="] },
    send: (body) => ({
      headers: {
        "X-Airtable-Content-MAC": `hmac-sha256=${mac("sha256", "the key of Airtable", body, "hex")}`,
      },
    }),
  },
  paystack: ofBody("x-paystack-signature", (body) => mac("sha512", KEY, body, "hex")),
  "help-scout": ofBody("X-HelpScout-Signature", (body) => mac("sha1", KEY, body, "base64")),
  tally: ofBody("Tally-Signature", base64of256),
  "checkout-com": ofBody("Cko-Signature", hex256),
  pandadoc: { ...SECRET, send: (body, _ms, url) => ({ url: `${url}&signature=${hex256(body)}` }) },
  heroku: ofBody("Heroku-Webhook-Hmac-SHA256", base64of256),
  "terraform-cloud": ofBody("X-TFE-Notification-Signature", (body) => mac("sha512", KEY, body, "hex")),
  linkedin: ofBody("X-LI-Signature", (body) => hex256(`hmacsha256=${body}`)),
  "ms-teams": {
    settings: { secret: ["b3RoZXI=", "dGhlIGtleSBvZiBUZWFtcw=="] },
    wrong: { secret: ["b3RoZXI="] },
    send: (body) => ({
      headers: { Authorization: `HMAC ${mac("sha256", "the key of Teams", body, "base64")}` },
    }),
  },
  gitea: ofBody("X-Gitea-Signature", hex256),
  forgejo: ofBody("X-Forgejo-Signature", hex256),

  telnyx: {
    settings: { public_key: [rawBase64(otherEd.publicKey), rawBase64(ed.publicKey)] },
    wrong: { public_key: [rawBase64(otherEd.publicKey)] },
    toleranceS: 300,
    send: (body, ms) => ({
      headers: {
        "telnyx-timestamp": seconds(ms),
        "telnyx-signature-ed25519": signBytes(
          null,
          Buffer.from(`${seconds(ms)}|${body}`),
          ed.privateKey,
        ).toString("base64"),
      },
    }),
  },
  wise: {
    settings: { public_key: [pem(otherRsa.publicKey), pem(rsa.publicKey)] },
    wrong: { public_key: [pem(otherRsa.publicKey)] },
    send: (body) => ({
      headers: { "X-Signature-SHA256": createSign("RSA-SHA256").update(body).sign(rsa.privateKey, "base64") },
    }),
  },
  livekit: {
    ...SECRET,
    send: (body, ms) => ({
      headers: {
        Authorization: hmacJwt({
          iss: "APIkey",
          exp: Math.floor(ms / 1000) + 300,
          sha256: bodyHash(body, "base64"),
        }),
      },
    }),
  },
  monday: {
    ...SECRET,
    signs: "nothing",
    send: (_body, ms, url) => ({
      headers: { Authorization: hmacJwt({ accountId: 1, aud: url, exp: Math.floor(ms / 1000) + 300 }) },
    }),
  },
  mailchimp: {
    settings: { secret: ["other", "s3cret"], query: "key" },
    wrong: { secret: ["other"], query: "key" },
    signs: "nothing",
    send: (_body, _ms, url) => ({ url: `${url}&key=s3cret` }),
  },
  pipedrive: basicAuth,
  auth0: token("Authorization"),
  figma: {
    settings: { secret: ["other", "s3cret-passcode"] },
    wrong: { secret: ["other"] },
    signs: "nothing",
    send: (body) => ({ body: JSON.stringify({ ...JSON.parse(body), passcode: "s3cret-passcode" }) }),
  },
})

function rawBase64(key: KeyObject): string {
  return Buffer.from(key.export({ format: "jwk" }).x!, "base64url").toString("base64")
}
function rawHex(key: KeyObject): string {
  return Buffer.from(key.export({ format: "jwk" }).x!, "base64url").toString("hex")
}
function der(key: KeyObject): string {
  return key.export({ format: "der", type: "spki" }).toString("base64")
}
function jwk(key: KeyObject): string {
  return JSON.stringify(key.export({ format: "jwk" }))
}
function privatePem(key: KeyObject): string {
  return key.export({ format: "pem", type: "pkcs8" }).toString()
}
