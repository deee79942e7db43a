import { createHmac, createSign, generateKeyPairSync, type KeyObject } from "node:crypto"
import AdyenValidator from "@adyen/api-library/lib/src/utils/hmacValidator.js"
import { Signature as HubSpot } from "@hubspot/api-client/lib/src/utils/signature.js"
import { sign as signForGithub, verify as verifyFromGithub } from "@octokit/webhooks-methods"
import { EventWebhook } from "@sendgrid/eventwebhook"
import "@shopify/shopify-api/adapters/web-api"
import { ApiVersion, LogSeverity, shopifyApi } from "@shopify/shopify-api"
import { isValidSlackRequest } from "@slack/bolt"
import { WebhooksHelper as Square } from "square"
import { Webhook as StandardWebhook } from "standardwebhooks"
import { Stripe } from "stripe"
import { Webhook as SvixWebhook } from "svix"
import {
  getExpectedBodyHash,
  getExpectedTwilioSignature,
  validateIncomingRequest,
} from "twilio/lib/webhooks/webhooks.js"
import type { VerifierSettings } from "../../src/verify/schemes/family.ts"

/** A request between one who signs and one who verifies. */
export interface Signed {
  readonly url: string
  /** Names in lower case. */
  readonly headers: { readonly [name: string]: string }
  readonly body: string
}

/** A secret, or a pair of keys, as each side has to be given it. */
export interface Keys {
  readonly secret: string
  readonly verifier: VerifierSettings
  readonly signer: VerifierSettings
}

/** What a provider gives its customers to verify its webhooks with. */
export interface ProviderSdk {
  /** The preset. */
  readonly provider: string
  /** The header of the signature, in lower case; undefined: it is in the body. */
  readonly signature: string | undefined
  /** The header of the signed time, in lower case, where it has one of its own. */
  readonly time?: string
  readonly signsUrl?: true
  /** Further headers that the SDK requires, with names in lower case. */
  readonly headers?: { readonly [name: string]: string }
  /** Bodies other than JSON objects. */
  readonly body?: "form" | "payment"
  /** Keys of this number; different ones for different numbers. */
  keys(number: number): Keys
  /** Signs now, by the SDK, or, where that only verifies, after the provider's documentation. */
  sign(request: Signed, keys: Keys): Signed | Promise<Signed>
  /** Whether the SDK takes the request as genuine, now. It may throw instead of false. */
  accepts(request: Signed, keys: Keys): boolean | Promise<boolean>
}

const shared = (secret: string): Keys => ({
  secret,
  verifier: { secret: [secret] },
  signer: { secret: [secret] },
})
const text = (number: number): Keys => shared(`secret ${number} \u2713`)
const hex = (number: number): Keys => shared(Buffer.from(`key ${number}`).toString("hex").padEnd(64, "0"))
const whsec = (number: number): Keys =>
  shared(`whsec_${Buffer.from(`key ${number}`.padEnd(24)).toString("base64")}`)

const withHeaders = (request: Signed, headers: { readonly [name: string]: string }): Signed => ({
  ...request,
  headers: { ...request.headers, ...headers },
})
const seconds = (): number => Math.floor(Date.now() / 1000)
const hmacOf = (secret: string, signed: string, encoding: "hex" | "base64"): string =>
  createHmac("sha256", secret).update(signed).digest(encoding)

function standard(
  provider: string,
  prefix: string,
  Webhook: typeof StandardWebhook | typeof SvixWebhook,
): ProviderSdk {
  return {
    provider,
    signature: `${prefix}-signature`,
    time: `${prefix}-timestamp`,
    keys: whsec,
    sign: (request, { secret }) =>
      withHeaders(request, {
        [`${prefix}-id`]: "msg_1",
        [`${prefix}-timestamp`]: `${seconds()}`,
        [`${prefix}-signature`]: new Webhook(secret).sign("msg_1", new Date(seconds() * 1000), request.body),
      }),
    accepts({ headers, body }, { secret }) {
      new Webhook(secret).verify(body, { ...headers })
      return true
    },
  }
}

const adyen = new AdyenValidator()
type AdyenItem = Parameters<typeof adyen.validateHMAC>[0]
const adyenItem = (body: string): AdyenItem => {
  const json = JSON.parse(body) as { notificationItems: [{ NotificationRequestItem: AdyenItem }] }
  return json.notificationItems[0].NotificationRequestItem
}

const pairs = Array.from({ length: 2 }, () => generateKeyPairSync("ec", { namedCurve: "P-256" }))
const pem = (key: KeyObject, type: "spki" | "pkcs8"): string => key.export({ format: "pem", type }).toString()

const FORM = "application/x-www-form-urlencoded"
/** A form as web frameworks read it: a name that comes several times has a list. */
function readForm(body: string): { [name: string]: string | string[] } {
  const form = new URLSearchParams(body)
  const names = [...new Set(form.keys())]
  return Object.fromEntries(
    names.map((name) => [name, form.getAll(name).length === 1 ? form.get(name)! : form.getAll(name)]),
  )
}

const SHOPIFY_HEADERS = {
  "x-shopify-api-version": "2026-01",
  "x-shopify-shop-domain": "shop.example",
  "x-shopify-topic": "orders/create",
  "x-shopify-webhook-id": "b54557e4-bdd9-4b37-8a5f-bf7d70bcd043",
}

export const PROVIDER_SDKS: { readonly [name: string]: ProviderSdk } = {
  stripe: {
    provider: "stripe",
    signature: "stripe-signature",
    keys: text,
    sign: async (request, { secret }) =>
      withHeaders(request, {
        "stripe-signature": await Stripe.webhooks.generateTestHeaderStringAsync({
          payload: request.body,
          secret,
        }),
      }),
    async accepts({ headers, body }, { secret }) {
      await Stripe.webhooks.constructEventAsync(body, headers["stripe-signature"]!, secret)
      return true
    },
  },
  "@octokit/webhooks-methods": {
    provider: "github",
    signature: "x-hub-signature-256",
    keys: text,
    sign: async (request, { secret }) =>
      withHeaders(request, { "x-hub-signature-256": await signForGithub(secret, request.body) }),
    accepts: ({ headers, body }, { secret }) =>
      verifyFromGithub(secret, body, headers["x-hub-signature-256"]!),
  },
  standardwebhooks: standard("standard-webhooks", "webhook", StandardWebhook),
  svix: standard("svix", "svix", SvixWebhook),
  "@slack/bolt, which does not sign": {
    provider: "slack",
    signature: "x-slack-signature",
    time: "x-slack-request-timestamp",
    keys: text,
    sign(request, { secret }) {
      const time = `${seconds()}`
      const signature = `v0=${hmacOf(secret, `v0:${time}:${request.body}`, "hex")}`
      return withHeaders(request, { "x-slack-request-timestamp": time, "x-slack-signature": signature })
    },
    accepts: ({ headers, body }, { secret }) =>
      isValidSlackRequest({
        signingSecret: secret,
        body,
        headers: {
          "x-slack-signature": headers["x-slack-signature"]!,
          "x-slack-request-timestamp": Number(headers["x-slack-request-timestamp"]),
        },
      }),
  },
  twilio: {
    provider: "twilio",
    signature: "x-twilio-signature",
    signsUrl: true,
    keys: text,
    sign(request, { secret }) {
      const url = `${request.url}${request.url.includes("?") ? "&" : "?"}bodySHA256=${getExpectedBodyHash(request.body)}`
      return withHeaders(
        { ...request, url },
        { "x-twilio-signature": getExpectedTwilioSignature(secret, url, {}) },
      )
    },
    accepts: acceptedByTwilio,
  },
  "twilio with forms": {
    provider: "twilio",
    signature: "x-twilio-signature",
    signsUrl: true,
    body: "form",
    keys: text,
    sign: (request, { secret }) =>
      withHeaders(request, {
        "x-twilio-signature": getExpectedTwilioSignature(secret, request.url, readForm(request.body)),
      }),
    accepts: acceptedByTwilio,
  },
  "@hubspot/api-client": {
    provider: "hubspot",
    signature: "x-hubspot-signature-v3",
    time: "x-hubspot-request-timestamp",
    signsUrl: true,
    keys: text,
    sign(request, { secret }) {
      const timestamp = Date.now()
      const options = {
        signature: "",
        clientSecret: secret,
        requestBody: request.body,
        url: request.url,
        timestamp,
      }
      return withHeaders(request, {
        "x-hubspot-request-timestamp": `${timestamp}`,
        "x-hubspot-signature-v3": HubSpot.getSignature("POST", "v3", options),
      })
    },
    accepts: ({ url, headers, body }, { secret }) =>
      HubSpot.isValid({
        signatureVersion: "v3",
        signature: headers["x-hubspot-signature-v3"]!,
        clientSecret: secret,
        requestBody: body,
        method: "POST",
        url,
        timestamp: Number(headers["x-hubspot-request-timestamp"]),
      }),
  },
  "square, which does not sign": {
    provider: "square",
    signature: "x-square-hmacsha256-signature",
    signsUrl: true,
    keys: text,
    sign: (request, { secret }) =>
      withHeaders(request, {
        "x-square-hmacsha256-signature": hmacOf(secret, request.url + request.body, "base64"),
      }),
    accepts: ({ url, headers, body }, { secret }) =>
      Square.verifySignature({
        requestBody: body,
        signatureHeader: headers["x-square-hmacsha256-signature"]!,
        signatureKey: secret,
        notificationUrl: url,
      }),
  },
  "@adyen/api-library with platform webhooks": {
    provider: "adyen",
    signature: "hmacsignature",
    keys: hex,
    sign: (request, { secret }) =>
      withHeaders(request, { hmacsignature: adyen.calculateHmac(request.body, secret) }),
    accepts: ({ headers, body }, { secret }) =>
      adyen.validateHMACSignature(secret, headers["hmacsignature"]!, body),
  },
  "@adyen/api-library with payment webhooks": {
    provider: "adyen",
    signature: undefined,
    body: "payment",
    keys: hex,
    sign(request, { secret }) {
      const hmacSignature = adyen.calculateHmac(adyenItem(request.body), secret)
      return {
        ...request,
        body: request.body.replace(
          '"additionalData":{}',
          JSON.stringify({ additionalData: { hmacSignature } }).slice(1, -1),
        ),
      }
    },
    accepts: ({ body }, { secret }) => adyen.validateHMAC(adyenItem(body), secret),
  },
  "@shopify/shopify-api, which does not sign": {
    provider: "shopify",
    signature: "x-shopify-hmac-sha256",
    headers: SHOPIFY_HEADERS,
    keys: text,
    sign: (request, { secret }) =>
      withHeaders(request, {
        ...SHOPIFY_HEADERS,
        "x-shopify-hmac-sha256": hmacOf(secret, request.body, "base64"),
      }),
    async accepts({ url, headers, body }, { secret }) {
      const { webhooks } = shopifyApi({
        apiKey: "obviously-fake",
        apiSecretKey: secret,
        apiVersion: Object.values(ApiVersion)[0]!,
        hostName: "app.example",
        isEmbeddedApp: false,
        logger: { level: LogSeverity.Error },
      })
      const rawRequest = new Request(url, { method: "POST", headers: { ...headers } })
      return (await webhooks.validate({ rawBody: body, rawRequest })).valid
    },
  },
  "@sendgrid/eventwebhook, which does not sign": {
    provider: "sendgrid",
    signature: "x-twilio-email-event-webhook-signature",
    time: "x-twilio-email-event-webhook-timestamp",
    keys(number) {
      const { publicKey, privateKey } = pairs[number % pairs.length]!
      const secret = pem(privateKey, "pkcs8")
      return { secret, verifier: { public_key: [pem(publicKey, "spki")] }, signer: { secret: [secret] } }
    },
    sign(request, { secret }) {
      const time = `${seconds()}`
      return withHeaders(request, {
        "x-twilio-email-event-webhook-timestamp": time,
        "x-twilio-email-event-webhook-signature": createSign("sha256")
          .update(time + request.body)
          .sign(secret, "base64"),
      })
    },
    accepts({ headers, body }, { verifier }) {
      const sendgrid = new EventWebhook()
      return sendgrid.verifySignature(
        sendgrid.convertPublicKeyToECDSA(verifier.public_key![0]!),
        body,
        headers["x-twilio-email-event-webhook-signature"]!,
        headers["x-twilio-email-event-webhook-timestamp"]!,
      )
    },
  },
}

function acceptedByTwilio({ url, headers, body }: Signed, { secret }: Keys): boolean {
  const request = {
    protocol: "https",
    header: (name: string) => headers[name.toLowerCase()],
    headers: { host: new URL(url).host },
    originalUrl: url,
    rawBody: body,
    body: headers["content-type"] === FORM ? readForm(body) : {},
  }
  return validateIncomingRequest(
    request as unknown as Parameters<typeof validateIncomingRequest>[0],
    secret,
    { url },
  )
}
