import { adyen } from "../schemes/adyen.ts"
import { anyOf } from "../schemes/any-of.ts"
import { contentful } from "../schemes/contentful.ts"
import { MOST_SIGNATURES, type Family } from "../schemes/family.ts"
import { mandrill, twilio } from "../schemes/form-signature.ts"
import type { HmacForm } from "../schemes/hmac-form.ts"
import { hmac } from "../schemes/hmac.ts"
import { hook0 } from "../schemes/hook0.ts"
import { hubspot } from "../schemes/hubspot.ts"
import { ASYMMETRIC, SYMMETRIC } from "../schemes/jwt-form.ts"
import {
  awsSns,
  ecdsaSignature,
  ed25519Signature,
  jwt,
  paypal,
  rsaSignature,
} from "../schemes/key-schemes.ts"
import { mailgun } from "../schemes/mailgun.ts"
import { msGraph } from "../schemes/ms-graph.ts"
import type { SchemeForm } from "../schemes/scheme-form.ts"
import { standardWebhooks } from "../schemes/standard-webhooks.ts"
import { basic, tokenAt, tokenIn } from "../schemes/token.ts"
import { HOURS, MINUTES, SECONDS } from "./delivery-facts.ts"

/*
 * How each known provider signs: all that a verifier needs of it. What people and other parts of a pipeline know of it is in
 * profiles.ts. Every row has a test in presets.test.ts that signs with other code.
 */

/** `t=<time>,v1=<signature>` in one header, of `{timestamp}.{body}`: Stripe's scheme, which others share. */
const likeStripe = (header: string, toleranceMs: number, own: Partial<HmacForm> = {}): SchemeForm => ({
  hmac: {
    header,
    list: ",",
    prefix: "v1=",
    payload: "{timestamp}.{body}",
    time: { item: "t=", unit: "s" },
    toleranceMs,
    ...own,
  },
})

/** A token that its user chooses. */
const HEADER_OR_QUERY = tokenIn("Authorization", {
  requires: [
    ["secret", "header"],
    ["secret", "query"],
  ],
})

/** A scheme is data where it has a form that custom providers can have, too. */
const ROWS = {
  // ---- Standard Webhooks
  "standard-webhooks": standardWebhooks("webhook-"),
  svix: standardWebhooks("svix-"),
  openai: standardWebhooks("webhook-"),
  anthropic: standardWebhooks("webhook-"),
  clerk: standardWebhooks("svix-"),
  resend: standardWebhooks("svix-"),
  "gitlab-signing-token": standardWebhooks("webhook-"),
  // https://github.com/polarsource/polar/pull/14117 : of secrets made since 2026-09-08 the decoded key signs
  polar: standardWebhooks("webhook-", "whsec or text"),
  supabase: standardWebhooks("webhook-"),
  replicate: standardWebhooks("webhook-"),
  render: standardWebhooks("webhook-"),
  brex: standardWebhooks("webhook-"),
  "dodo-payments": standardWebhooks("webhook-"),
  "incident-io": standardWebhooks("webhook-"),
  lithic: standardWebhooks("webhook-"),
  etsy: standardWebhooks("webhook-"),
  gemini: standardWebhooks("webhook-"),
  vanta: standardWebhooks("svix-"),
  stytch: standardWebhooks("svix-"),

  // ---- Time and signatures in one header
  stripe: likeStripe("Stripe-Signature", 5 * MINUTES),
  mux: likeStripe("Mux-Signature", 5 * MINUTES),
  calendly: likeStripe("Calendly-Webhook-Signature", 3 * MINUTES),
  workos: likeStripe("WorkOS-Signature", 3 * MINUTES, {
    written: ", ",
    time: { item: "t=", unit: "ms" },
  }),
  sanity: likeStripe("sanity-webhook-signature", 5 * MINUTES, {
    encoding: "base64url",
    time: { item: "t=", unit: "ms" },
  }),
  paddle: likeStripe("Paddle-Signature", 5 * SECONDS, {
    list: ";",
    prefix: "h1=",
    payload: "{timestamp}:{body}",
    time: { item: "ts=", unit: "s" },
  }),

  // ---- Time in its own header
  slack: {
    hmac: {
      header: "X-Slack-Signature",
      prefix: "v0=",
      payload: "v0:{timestamp}:{body}",
      time: { header: "X-Slack-Request-Timestamp", unit: "s" },
      toleranceMs: 5 * MINUTES,
    },
  },
  zoom: {
    hmac: {
      header: "x-zm-signature",
      prefix: "v0=",
      payload: "v0:{timestamp}:{body}",
      time: { header: "x-zm-request-timestamp", unit: "s" },
      // the last attempt may be that of 85 minutes before, signed as it was
      toleranceMs: 2 * HOURS,
      signsChallenges: true,
    },
  },
  grafana: hmac(
    {
      header: "X-Grafana-Alerting-Signature",
      toleranceMs: 5 * MINUTES,
      optional: ["header", "timestamp_header"],
    },
    ({ header = "X-Grafana-Alerting-Signature", timestamp_header }) =>
      timestamp_header === undefined
        ? { header }
        : {
            header,
            payload: "{timestamp}:{body}",
            time: { header: timestamp_header, unit: "s" },
          },
  ),
  webflow: {
    hmac: {
      header: "x-webflow-signature",
      payload: "{timestamp}:{body}",
      time: { header: "x-webflow-timestamp", unit: "ms" },
      toleranceMs: 5 * MINUTES,
    },
  },
  zendesk: {
    hmac: {
      header: "X-Zendesk-Webhook-Signature",
      encoding: "base64",
      payload: "{timestamp}{body}",
      time: { header: "X-Zendesk-Webhook-Signature-Timestamp", unit: "iso" },
      toleranceMs: 5 * MINUTES,
    },
  },
  twitch: {
    hmac: {
      header: "Twitch-Eventsub-Message-Signature",
      prefix: "sha256=",
      payload: "{id}{timestamp}{body}",
      time: { header: "Twitch-Eventsub-Message-Timestamp", unit: "iso" },
      id: "Twitch-Eventsub-Message-Id",
      toleranceMs: 10 * MINUTES,
    },
  },
  box: {
    hmac: {
      header: ["Box-Signature-Primary", "Box-Signature-Secondary"],
      encoding: "base64",
      payload: "{body}{timestamp}",
      time: { header: "Box-Delivery-Timestamp", unit: "iso" },
      fixed: { "Box-Signature-Version": "1", "Box-Signature-Algorithm": "HmacSHA256" },
      toleranceMs: 10 * MINUTES,
    },
  },
  klaviyo: {
    hmac: {
      header: "Klaviyo-Signature",
      payload: "{body}{timestamp}",
      time: { header: "Klaviyo-Timestamp", unit: "any" },
      toleranceMs: 5 * MINUTES,
    },
  },
  "customer-io": {
    hmac: {
      header: "X-CIO-Signature",
      payload: "v0:{timestamp}:{body}",
      time: { header: "X-CIO-Timestamp", unit: "s" },
      toleranceMs: 5 * MINUTES,
    },
  },
  persona: likeStripe("Persona-Signature", 5 * MINUTES),
  elevenlabs: likeStripe("ElevenLabs-Signature", 30 * MINUTES, { prefix: "v0=" }),
  revenuecat: likeStripe("X-RevenueCat-Webhook-Signature", 5 * MINUTES),
  recurly: {
    hmac: {
      header: "recurly-signature",
      list: ",",
      payload: "{timestamp}.{body}",
      time: { item: "", unit: "any" },
      toleranceMs: 5 * MINUTES,
    },
  },
  front: {
    hmac: {
      header: "X-Front-Signature",
      encoding: "base64",
      payload: "{timestamp}:{body}",
      time: { header: "X-Front-Request-Timestamp", unit: "ms" },
      toleranceMs: 5 * MINUTES,
    },
  },
  airwallex: {
    hmac: {
      header: "x-signature",
      payload: "{timestamp}{body}",
      time: { header: "x-timestamp", unit: "ms" },
      toleranceMs: 5 * MINUTES,
    },
  },
  revolut: {
    hmac: {
      header: "Revolut-Signature",
      list: ",",
      prefix: "v1=",
      payload: "v1.{timestamp}.{body}",
      time: { header: "Revolut-Request-Timestamp", unit: "ms" },
      toleranceMs: 5 * MINUTES,
    },
  },
  buildkite: likeStripe("X-Buildkite-Signature", 5 * MINUTES, {
    prefix: "signature=",
    time: { item: "timestamp=", unit: "s" },
  }),
  tiktok: likeStripe("TikTok-Signature", 5 * MINUTES, { prefix: "s=" }),

  // ---- Body only
  github: { hmac: { header: "X-Hub-Signature-256", prefix: "sha256=" } },
  bitbucket: { hmac: { header: "X-Hub-Signature", prefix: "sha256=" } },
  jira: { hmac: { header: "X-Hub-Signature", prefix: "sha256=" } },
  meta: { hmac: { header: "X-Hub-Signature-256", prefix: "sha256=" } },
  "x-twitter": {
    hmac: {
      header: ["X-Twitter-Webhooks-Signature-OAuth2", "X-Twitter-Webhooks-Signature"],
      prefix: "sha256=",
      encoding: "base64",
      signsChallenges: true,
    },
  },
  shopify: { hmac: { header: ["X-Shopify-Hmac-Sha256", "Shopify-Hmac-Sha256"], encoding: "base64" } },
  line: { hmac: { header: "x-line-signature", encoding: "base64" } },
  xero: { hmac: { header: "x-xero-signature", encoding: "base64" } },
  typeform: { hmac: { header: "Typeform-Signature", prefix: "sha256=", encoding: "base64" } },
  woocommerce: { hmac: { header: "X-WC-Webhook-Signature", encoding: "base64" } },
  docusign: {
    hmac: {
      header: Array.from({ length: MOST_SIGNATURES }, (_, i) => `X-DocuSign-Signature-${i + 1}`),
      encoding: "base64",
    },
  },
  "coinbase-commerce": { hmac: { header: "X-CC-Webhook-Signature" } },
  coinbase: hook0(),
  razorpay: { hmac: { header: "X-Razorpay-Signature" } },
  onfido: { hmac: { header: "X-SHA2-Signature" } },
  dropbox: { hmac: { header: "X-Dropbox-Signature" } },
  asana: { hmac: { header: "X-Hook-Signature" } },
  gocardless: { hmac: { header: "Webhook-Signature" } },
  mollie: {
    hmac: {
      header: "X-Mollie-Signature",
      list: ",",
      repeatable: true,
      prefix: "sha256=",
      prefixOptional: true,
    },
  },
  notion: { hmac: { header: "X-Notion-Signature", prefix: "sha256=" } },
  linear: {
    hmac: {
      header: "Linear-Signature",
      time: { member: "webhookTimestamp", unit: "ms" },
      toleranceMs: MINUTES,
    },
  },
  sentry: { hmac: { header: "Sentry-Hook-Signature" } },
  pagerduty: { hmac: { header: "X-PagerDuty-Signature", list: ",", prefix: "v1=" } },
  circleci: { hmac: { header: "circleci-signature", list: ",", prefix: "v1=" } },
  intercom: { hmac: { header: "X-Hub-Signature", prefix: "sha1=", algorithm: "sha1" } },
  vercel: { hmac: { header: "x-vercel-signature", algorithm: "sha1" } },
  "lemon-squeezy": { hmac: { header: "X-Signature" } },
  quickbooks: { hmac: { header: "intuit-signature", encoding: "base64" } },
  "cal-com": { hmac: { header: "X-Cal-Signature-256" } },
  clickup: { hmac: { header: "X-Signature" } },
  airtable: { hmac: { header: "X-Airtable-Content-MAC", prefix: "hmac-sha256=", secret: "base64" } },
  paystack: { hmac: { header: "x-paystack-signature", algorithm: "sha512" } },
  "help-scout": { hmac: { header: "X-HelpScout-Signature", algorithm: "sha1", encoding: "base64" } },
  tally: { hmac: { header: "Tally-Signature", encoding: "base64" } },
  "checkout-com": { hmac: { header: "Cko-Signature" } },
  pandadoc: { hmac: { query: "signature" } },
  heroku: { hmac: { header: "Heroku-Webhook-Hmac-SHA256", encoding: "base64" } },
  "terraform-cloud": { hmac: { header: "X-TFE-Notification-Signature", algorithm: "sha512" } },
  linkedin: {
    hmac: {
      header: "X-LI-Signature",
      prefix: "hmacsha256=",
      prefixOptional: true,
      payload: "hmacsha256={body}",
      signsChallenges: true,
    },
  },
  "ms-teams": { hmac: { header: "Authorization", prefix: "HMAC ", encoding: "base64", secret: "base64" } },
  gitea: { hmac: { header: "X-Gitea-Signature" } },
  forgejo: { hmac: { header: "X-Forgejo-Signature" } },

  // ---- URL and body: set public_url behind a proxy
  square: { hmac: { header: "x-square-hmacsha256-signature", encoding: "base64", payload: "{url}{body}" } },
  trello: {
    hmac: {
      header: "X-Trello-Webhook",
      algorithm: "sha1",
      encoding: "base64",
      payload: "{body}{url}",
    },
  },
  twilio: twilio(),
  mandrill: mandrill(),
  hubspot: hubspot(),
  contentful: contentful(),

  // ---- Signature in the body
  adyen: adyen(),
  mailgun: mailgun(),
  "ms-graph": msGraph(),

  // ---- Public keys
  discord: ed25519Signature({
    header: "X-Signature-Ed25519",
    encoding: "hex",
    payload: "{timestamp}{body}",
    time: { header: "X-Signature-Timestamp", unit: "s" },
    // it repeats for 10 minutes, and does not document whether it signs anew
    toleranceMs: 15 * MINUTES,
  }),
  sendgrid: ecdsaSignature({
    header: "X-Twilio-Email-Event-Webhook-Signature",
    encoding: "base64",
    payload: "{timestamp}{body}",
    time: { header: "X-Twilio-Email-Event-Webhook-Timestamp", unit: "s" },
    toleranceMs: 0,
  }),
  "aws-sns": awsSns(),
  paypal: paypal(),

  // ---- JSON Web Tokens
  plaid: jwt({
    header: "Plaid-Verification",
    algorithms: ["ES256"],
    bodyHash: { claim: "request_body_sha256", encoding: "hex" },
    limitsAge: true,
    toleranceMs: 5 * MINUTES,
    requires: [["public_key"]],
  }),
  fusionauth: jwt({
    header: "X-FusionAuth-Signature-JWT",
    algorithms: [...SYMMETRIC, ...ASYMMETRIC],
    bodyHash: { claim: "request_body_sha256", encoding: "base64" },
    requires: [["secret"], ["jwks_url"], ["public_key"]],
  }),
  netlify: jwt({
    header: "X-Webhook-Signature",
    issuer: "netlify",
    algorithms: ["HS256"],
    bodyHash: { claim: "sha256", encoding: "hex" },
    requires: [["secret"]],
  }),
  "gcp-pubsub": jwt({
    issuer: ["https://accounts.google.com", "accounts.google.com"],
    jwksUrl: "https://www.googleapis.com/oauth2/v3/certs",
    algorithms: ["RS256"],
    toleranceMs: MINUTES,
    requires: [["audience", "email"]],
    optional: ["jwks_url", "issuer"],
  }),
  "azure-eventgrid": anyOf(
    jwt({
      algorithms: ["RS256"],
      toleranceMs: 5 * MINUTES,
      requires: [["jwks_url", "issuer", "audience"]],
    }),
    HEADER_OR_QUERY,
  ),

  // ---- Tokens and passwords, which do not cover the body
  gitlab: { token: { header: "X-Gitlab-Token" } },
  telegram: { token: { header: "X-Telegram-Bot-Api-Secret-Token" } },
  okta: tokenIn("Authorization"),
  opsgenie: tokenIn("Authorization"),
  alertmanager: anyOf(tokenAt({ header: "Authorization", prefix: "Bearer " }), basic()),
  postmark: anyOf(basic(), HEADER_OR_QUERY),
  chargebee: basic(),

  // ---- Further ones with public keys
  telnyx: ed25519Signature({
    header: "telnyx-signature-ed25519",
    encoding: "base64",
    payload: "{timestamp}|{body}",
    time: { header: "telnyx-timestamp", unit: "s" },
    toleranceMs: 5 * MINUTES,
  }),
  wise: rsaSignature({ header: "X-Signature-SHA256", encoding: "base64" }),

  // ---- Further ones with JSON Web Tokens
  livekit: jwt({
    header: "Authorization",
    algorithms: ["HS256"],
    bodyHash: { claim: "sha256", encoding: "base64" },
    toleranceMs: 10 * SECONDS,
    requiresExp: true,
    requires: [["secret"]],
    optional: ["issuer"],
  }),
  monday: jwt({
    header: "Authorization",
    algorithms: ["HS256"],
    toleranceMs: MINUTES,
    requiresExp: true,
    requires: [["secret"]],
    optional: ["audience"],
  }),

  // ---- Further ones with tokens and passwords
  mailchimp: tokenIn("Authorization", { requires: [["secret", "query"]] }),
  pipedrive: basic(),
  auth0: tokenIn("Authorization"),
  figma: { token: { member: "passcode" } },
} satisfies { readonly [name: string]: SchemeForm | Family }

export type PresetName = keyof typeof ROWS

/** The schemes by provider. */
export const SCHEMES: { readonly [name: string]: SchemeForm | Family } = ROWS
