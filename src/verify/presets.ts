import { adyen } from "./adyen.ts"
import { anyOf } from "./any-of.ts"
import { ecdsaSignature, ed25519Signature } from "./asymmetric.ts"
import { awsSns } from "./aws-sns.ts"
import { contentful } from "./contentful.ts"
import { MOST_SIGNATURES, type Family } from "./family.ts"
import { mandrill, twilio } from "./form-signature.ts"
import { hmac } from "./hmac.ts"
import { hubspot } from "./hubspot.ts"
import { ASYMMETRIC, jwt, SYMMETRIC } from "./jwt.ts"
import { mailgun } from "./mailgun.ts"
import { msGraph } from "./ms-graph.ts"
import { paypal } from "./paypal.ts"
import { standardWebhooks } from "./standard-webhooks.ts"
import { basic, tokenAt, tokenIn } from "./token.ts"

/** A provider whose scheme is known. */
export interface Preset {
  /** As the provider writes its name. */
  readonly title: string
  readonly scheme: Family
  /** The provider's own page, or the source of its own library, that the row was written after. */
  readonly docs: string
  /** What goes wrong easily. One sentence. */
  readonly note?: string
  /** Whether the tolerance is Hookline's own choice: a time is signed, and the provider names no figure. */
  readonly toleranceIsOurs?: true
}

const MINUTES = 60_000
const SECONDS = 1000

const NO_TOLERANCE =
  "The provider names no tolerance and may deliver late, so that the time is not checked unless tolerance is set."

/**
 * The providers, by their names in the configuration. Tolerances are in milliseconds. Every row has a test that signs
 * by other code, in presets.test.ts.
 */
export const PRESETS: { readonly [name: string]: Preset } = {
  // ---- Standard Webhooks
  "standard-webhooks": {
    title: "Standard Webhooks",
    scheme: standardWebhooks("webhook-"),
    docs: "https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md",
    note: "The secret is base64 after whsec_; for senders that sign asymmetrically set public_key (whpk_) instead.",
  },
  svix: {
    title: "Svix",
    scheme: standardWebhooks("svix-"),
    docs: "https://docs.svix.com/receiving/verifying-payloads/how-manual",
    note: "Where the sender's headers begin with webhook-, the preset is standard-webhooks.",
  },
  openai: {
    title: "OpenAI",
    scheme: standardWebhooks("webhook-"),
    docs: "https://platform.openai.com/docs/guides/webhooks",
  },
  anthropic: {
    title: "Anthropic",
    scheme: standardWebhooks("webhook-"),
    docs: "https://github.com/anthropics/anthropic-sdk-typescript/blob/main/src/resources/beta/webhooks.ts",
  },
  clerk: {
    title: "Clerk",
    scheme: standardWebhooks("svix-"),
    docs: "https://clerk.com/docs/guides/development/webhooks/syncing",
  },
  resend: {
    title: "Resend",
    scheme: standardWebhooks("svix-"),
    docs: "https://resend.com/docs/dashboard/webhooks/verify-webhooks-requests",
  },
  "gitlab-signing-token": {
    title: "GitLab (signing token)",
    scheme: standardWebhooks("webhook-"),
    docs: "https://gitlab.com/gitlab-org/gitlab/-/merge_requests/230944",
    note: "For webhooks with a signing token (whsec_); those with a secret token are of the preset gitlab.",
  },

  // ---- A time and signatures in one header
  stripe: {
    title: "Stripe",
    scheme: hmac(
      {
        header: "Stripe-Signature",
        list: ",",
        prefix: "v1=",
        encoding: "hex",
        payload: "{timestamp}.{body}",
        time: { item: "t=", unit: "s" },
      },
      { toleranceMs: 5 * MINUTES },
    ),
    docs: "https://docs.stripe.com/webhooks/signature",
    note: "The secret is the whole text, whsec_ included; the CLI and the dashboard have different ones.",
  },
  mux: {
    title: "Mux",
    scheme: hmac(
      {
        header: "Mux-Signature",
        list: ",",
        prefix: "v1=",
        encoding: "hex",
        payload: "{timestamp}.{body}",
        time: { item: "t=", unit: "s" },
      },
      { toleranceMs: 5 * MINUTES },
    ),
    docs: "https://www.mux.com/docs/core/verify-webhook-signatures",
  },
  calendly: {
    title: "Calendly",
    scheme: hmac(
      {
        header: "Calendly-Webhook-Signature",
        list: ",",
        prefix: "v1=",
        encoding: "hex",
        payload: "{timestamp}.{body}",
        time: { item: "t=", unit: "s" },
      },
      { toleranceMs: 3 * MINUTES },
    ),
    docs: "https://developer.calendly.com/api-docs/overview/webhooks/webhook-signatures",
  },
  workos: {
    title: "WorkOS",
    scheme: hmac(
      {
        header: "WorkOS-Signature",
        list: ",",
        prefix: "v1=",
        encoding: "hex",
        payload: "{timestamp}.{body}",
        time: { item: "t=", unit: "ms" },
      },
      { toleranceMs: 3 * MINUTES },
    ),
    docs: "https://workos.com/docs/events/data-syncing/webhooks",
    note: "The time is in milliseconds.",
  },
  sanity: {
    title: "Sanity",
    scheme: hmac(
      {
        header: "sanity-webhook-signature",
        list: ",",
        prefix: "v1=",
        encoding: "base64url",
        payload: "{timestamp}.{body}",
        time: { item: "t=", unit: "ms" },
      },
      { toleranceMs: 0 },
    ),
    docs: "https://github.com/sanity-io/webhook-toolkit",
    note: NO_TOLERANCE,
  },
  paddle: {
    title: "Paddle",
    scheme: hmac(
      {
        header: "Paddle-Signature",
        list: ";",
        prefix: "h1=",
        encoding: "hex",
        payload: "{timestamp}:{body}",
        time: { item: "ts=", unit: "s" },
      },
      { toleranceMs: 5 * SECONDS },
    ),
    docs: "https://developer.paddle.com/webhooks/signature-verification",
    note: "The tolerance of 5 s is Paddle's own: the clock has to be right.",
  },

  // ---- A time in a header of its own
  slack: {
    title: "Slack",
    scheme: hmac(
      {
        header: "X-Slack-Signature",
        prefix: "v0=",
        encoding: "hex",
        payload: "v0:{timestamp}:{body}",
        time: { header: "X-Slack-Request-Timestamp", unit: "s" },
      },
      { toleranceMs: 5 * MINUTES },
    ),
    docs: "https://docs.slack.dev/authentication/verifying-requests-from-slack",
    note: "The secret is the app's signing secret, not a token.",
  },
  zoom: {
    title: "Zoom",
    scheme: hmac(
      {
        header: "x-zm-signature",
        prefix: "v0=",
        encoding: "hex",
        payload: "v0:{timestamp}:{body}",
        time: { header: "x-zm-request-timestamp", unit: "s" },
      },
      { toleranceMs: 5 * MINUTES },
    ),
    docs: "https://developers.zoom.us/docs/api/webhooks/#verify-webhook-events",
    note: "The secret is the app's secret token; the verification token is another, older thing.",
    toleranceIsOurs: true,
  },
  grafana: {
    title: "Grafana Alerting",
    scheme: hmac(
      { header: "X-Grafana-Alerting-Signature", encoding: "hex" },
      { toleranceMs: 5 * MINUTES, optional: ["header", "timestamp_header"] },
      ({ header = "X-Grafana-Alerting-Signature", timestamp_header }) =>
        timestamp_header === undefined
          ? { header, encoding: "hex" }
          : {
              header,
              encoding: "hex",
              payload: "{timestamp}:{body}",
              time: { header: timestamp_header, unit: "s" },
            },
    ),
    docs: "https://grafana.com/docs/grafana/latest/alerting/configure-notifications/manage-contact-points/integrations/webhook-notifier/",
    note: "Set timestamp_header where the contact point has one: the time is signed then.",
    toleranceIsOurs: true,
  },
  webflow: {
    title: "Webflow",
    scheme: hmac(
      {
        header: "x-webflow-signature",
        encoding: "hex",
        payload: "{timestamp}:{body}",
        time: { header: "x-webflow-timestamp", unit: "ms" },
      },
      { toleranceMs: 5 * MINUTES },
    ),
    docs: "https://developers.webflow.com/data/docs/working-with-webhooks",
    note: "Webhooks that were made in the dashboard are not signed.",
  },
  zendesk: {
    title: "Zendesk",
    scheme: hmac(
      {
        header: "X-Zendesk-Webhook-Signature",
        encoding: "base64",
        payload: "{timestamp}{body}",
        time: { header: "X-Zendesk-Webhook-Signature-Timestamp", unit: "iso" },
      },
      { toleranceMs: 5 * MINUTES },
    ),
    docs: "https://developer.zendesk.com/documentation/webhooks/verifying/",
    toleranceIsOurs: true,
  },
  twitch: {
    title: "Twitch EventSub",
    scheme: hmac(
      {
        header: "Twitch-Eventsub-Message-Signature",
        prefix: "sha256=",
        encoding: "hex",
        payload: "{id}{timestamp}{body}",
        time: { header: "Twitch-Eventsub-Message-Timestamp", unit: "iso" },
        id: "Twitch-Eventsub-Message-Id",
      },
      { toleranceMs: 10 * MINUTES },
    ),
    docs: "https://dev.twitch.tv/docs/eventsub/handling-webhook-events/#verifying-the-event-message",
  },
  box: {
    title: "Box",
    scheme: hmac(
      {
        header: ["Box-Signature-Primary", "Box-Signature-Secondary"],
        encoding: "base64",
        payload: "{body}{timestamp}",
        time: { header: "Box-Delivery-Timestamp", unit: "iso" },
        fixed: { "Box-Signature-Version": "1", "Box-Signature-Algorithm": "HmacSHA256" },
      },
      { toleranceMs: 10 * MINUTES },
    ),
    docs: "https://developer.box.com/guides/webhooks/v2/signatures-v2/",
    note: "Both keys, primary and secondary, are secrets here: a request is right when one of them is.",
  },

  // ---- The body alone
  github: {
    title: "GitHub",
    scheme: hmac({ header: "X-Hub-Signature-256", prefix: "sha256=", encoding: "hex" }),
    docs: "https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries",
    note: "A redelivery has the id of the first delivery; ids are not signed.",
  },
  bitbucket: {
    title: "Bitbucket",
    scheme: hmac({ header: "X-Hub-Signature", prefix: "sha256=", encoding: "hex" }),
    docs: "https://support.atlassian.com/bitbucket-cloud/docs/manage-webhooks/#Secure-webhooks",
  },
  jira: {
    title: "Jira",
    scheme: hmac({ header: "X-Hub-Signature", prefix: "sha256=", encoding: "hex" }),
    docs: "https://developer.atlassian.com/cloud/jira/platform/webhooks/#secure-admin-webhooks",
    note: "For webhooks with a secret; those of Connect apps carry a JWT instead.",
  },
  meta: {
    title: "Meta (Facebook, Instagram, WhatsApp)",
    scheme: hmac({ header: "X-Hub-Signature-256", prefix: "sha256=", encoding: "hex" }),
    docs: "https://developers.facebook.com/docs/graph-api/webhooks/getting-started#validate-payloads",
    note: "The secret is the app secret; the handshake needs verify_token, which is another, made up by you.",
  },
  "x-twitter": {
    title: "X (Twitter)",
    scheme: hmac({
      header: ["X-Twitter-Webhooks-Signature-OAuth2", "X-Twitter-Webhooks-Signature"],
      prefix: "sha256=",
      encoding: "base64",
    }),
    docs: "https://docs.x.com/x-api/webhooks/introduction#signature-headers",
    note: "The secret is the app's OAuth 2.0 client secret, or the consumer secret of older apps; of both, the client secret goes first.",
  },
  shopify: {
    title: "Shopify",
    scheme: hmac({ header: ["X-Shopify-Hmac-Sha256", "Shopify-Hmac-Sha256"], encoding: "base64" }),
    docs: "https://shopify.dev/docs/apps/build/webhooks/subscribe/https",
    note: "The secret is the app's client secret; webhooks made in the admin have one of their own. Its newer Events have another header, which is read too.",
  },
  line: {
    title: "LINE",
    scheme: hmac({ header: "x-line-signature", encoding: "base64" }),
    docs: "https://developers.line.biz/en/docs/messaging-api/verify-webhook-signature/",
    note: "The secret is the channel secret.",
  },
  xero: {
    title: "Xero",
    scheme: hmac({ header: "x-xero-signature", encoding: "base64" }),
    docs: "https://developer.xero.com/documentation/guides/webhooks/configuring-your-server/",
    note: "The secret looks like base64 and is used as text; Xero tests the endpoint with wrong signatures.",
  },
  typeform: {
    title: "Typeform",
    scheme: hmac({ header: "Typeform-Signature", prefix: "sha256=", encoding: "base64" }),
    docs: "https://www.typeform.com/developers/webhooks/secure-your-webhooks/",
  },
  woocommerce: {
    title: "WooCommerce",
    scheme: hmac({ header: "X-WC-Webhook-Signature", encoding: "base64" }),
    docs: "https://woocommerce.com/document/webhooks/",
    note: "The ping when a webhook is made is not signed.",
  },
  docusign: {
    title: "DocuSign Connect",
    scheme: hmac({
      header: Array.from({ length: MOST_SIGNATURES }, (_, i) => `X-DocuSign-Signature-${i + 1}`),
      encoding: "base64",
    }),
    docs: "https://developers.docusign.com/platform/webhooks/connect/validate/",
    note: "DocuSign signs with each of the account's keys; one of the first 16 is enough.",
  },
  "coinbase-commerce": {
    title: "Coinbase Commerce",
    scheme: hmac({ header: "X-CC-Webhook-Signature", encoding: "hex" }),
    docs: "https://github.com/coinbase/coinbase-commerce-node/blob/master/lib/Webhook.js",
  },
  razorpay: {
    title: "Razorpay",
    scheme: hmac({ header: "X-Razorpay-Signature", encoding: "hex" }),
    docs: "https://razorpay.com/docs/webhooks/validate-test/",
    note: "The secret is the webhook's own, not the API key's.",
  },
  onfido: {
    title: "Onfido (Entrust)",
    scheme: hmac({ header: "X-SHA2-Signature", encoding: "hex" }),
    docs: "https://documentation.identity.entrust.com/api/manual-webhook-signature-verification/",
  },
  dropbox: {
    title: "Dropbox",
    scheme: hmac({ header: "X-Dropbox-Signature", encoding: "hex" }),
    docs: "https://www.dropbox.com/developers/reference/webhooks",
    note: "The secret is the app secret.",
  },
  asana: {
    title: "Asana",
    scheme: hmac({ header: "X-Hook-Signature", encoding: "hex" }),
    docs: "https://developers.asana.com/docs/webhooks-guide",
    note: "Asana names the secret in its first request: set secret_file, or take it from the answer of its API.",
  },
  gocardless: {
    title: "GoCardless",
    scheme: hmac({ header: "Webhook-Signature", encoding: "hex" }),
    docs: "https://developer.gocardless.com/api-reference/#webhooks-overview",
  },
  mollie: {
    title: "Mollie (next-gen webhooks)",
    scheme: hmac({
      header: "X-Mollie-Signature",
      prefix: "sha256=",
      prefixOptional: true,
      encoding: "hex",
    }),
    docs: "https://docs.mollie.com/reference/webhooks-best-practices",
    note: "Classic webhooks (an id in a form) are not signed.",
  },
  notion: {
    title: "Notion",
    scheme: hmac({ header: "X-Notion-Signature", prefix: "sha256=", encoding: "hex" }),
    docs: "https://developers.notion.com/reference/webhooks",
    note: "The secret is the verification_token of the first request: set secret_file, and enter at Notion what it holds then.",
  },
  linear: {
    title: "Linear",
    scheme: hmac(
      { header: "Linear-Signature", encoding: "hex", time: { member: "webhookTimestamp", unit: "ms" } },
      { toleranceMs: MINUTES },
    ),
    docs: "https://linear.app/developers/webhooks",
  },
  sentry: {
    title: "Sentry",
    scheme: hmac({ header: "Sentry-Hook-Signature", encoding: "hex" }),
    docs: "https://docs.sentry.io/integrations/integration-platform/webhooks/",
    note: "The secret is the integration's client secret.",
  },
  pagerduty: {
    title: "PagerDuty",
    scheme: hmac({ header: "X-PagerDuty-Signature", list: ",", prefix: "v1=", encoding: "hex" }),
    docs: "https://developer.pagerduty.com/docs/verifying-webhook-signatures",
    note: "The secret looks like base64 and is used as text.",
  },
  circleci: {
    title: "CircleCI",
    scheme: hmac({ header: "circleci-signature", list: ",", prefix: "v1=", encoding: "hex" }),
    docs: "https://circleci.com/docs/guides/integration/outbound-webhooks/",
  },
  intercom: {
    title: "Intercom",
    scheme: hmac({ header: "X-Hub-Signature", prefix: "sha1=", algorithm: "sha1", encoding: "hex" }),
    docs: "https://developers.intercom.com/docs/webhooks/setting-up-webhooks",
    note: "The secret is the app's client secret.",
  },
  vercel: {
    title: "Vercel",
    scheme: hmac({ header: "x-vercel-signature", algorithm: "sha1", encoding: "hex" }),
    docs: "https://vercel.com/docs/webhooks/webhooks-api#securing-webhooks",
    note: "The secret is the webhook's own; webhooks of an integration are signed with its client secret.",
  },

  // ---- The URL too: public_url has to be set behind a proxy
  square: {
    title: "Square",
    scheme: hmac({ header: "x-square-hmacsha256-signature", encoding: "base64", payload: "{url}{body}" }),
    docs: "https://developer.squareup.com/docs/webhooks/step3validate",
  },
  trello: {
    title: "Trello",
    scheme: hmac({
      header: "X-Trello-Webhook",
      algorithm: "sha1",
      encoding: "base64",
      payload: "{body}{url}",
    }),
    docs: "https://developer.atlassian.com/cloud/trello/guides/rest-api/webhooks/#webhook-signatures",
    note: "The secret is the application's, beside the API key.",
  },
  twilio: {
    title: "Twilio",
    scheme: twilio(),
    docs: "https://www.twilio.com/docs/usage/security#validating-requests",
    note: "The secret is the account's primary auth token. Most bodies are forms, which the Validator refuses; JSON bodies are verified by their bodySHA256, the URL's last parameter.",
  },
  mandrill: {
    title: "Mandrill (Mailchimp Transactional)",
    scheme: mandrill(),
    docs: "https://mandrill.zendesk.com/hc/en-us/articles/360039232513-How-to-Authenticate-Webhook-Requests",
    note: "The body is a form, which the Validator refuses as no JSON object.",
  },
  hubspot: {
    title: "HubSpot",
    scheme: hubspot(),
    docs: "https://developers.hubspot.com/docs/apps/developer-platform/build-apps/authentication/request-validation",
    note: "Version 3; min_version = 1 or 2 takes the older ones, too, which carry no time, so that a captured request can be sent again. Subscriptions send JSON lists, which the Validator refuses; workflows send objects.",
  },
  contentful: {
    title: "Contentful",
    scheme: contentful(),
    docs: "https://www.contentful.com/developers/docs/extensibility/webhooks/request-verification/",
    note: "Changes that proxies make to signed headers break the signature.",
  },

  // ---- In the body
  adyen: {
    title: "Adyen",
    scheme: adyen(),
    docs: "https://docs.adyen.com/development-resources/webhooks/secure-webhooks/verify-hmac-signatures",
    note: "Of payment webhooks only eight fields are signed, not the rest of the body.",
  },
  mailgun: {
    title: "Mailgun",
    scheme: mailgun(),
    docs: "https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/securing-webhooks",
    note: "Nothing of the event itself is signed, so that a token is taken once, with one body. Mailgun retries for 8 h. Events of subaccounts are verified by the primary account's key (parent-signature), or their own.",
    toleranceIsOurs: true,
  },
  "ms-graph": {
    title: "Microsoft Graph",
    scheme: msGraph(),
    docs: "https://learn.microsoft.com/en-us/graph/change-notifications-delivery-webhooks",
    note: "Set clientState when the subscription is made: without it nothing tells who sends. validationTokens, which come with resource data, are checked; with audience (the application's id) they must be there, and for it.",
  },

  // ---- Public keys
  discord: {
    title: "Discord",
    scheme: ed25519Signature(
      {
        header: "X-Signature-Ed25519",
        encoding: "hex",
        payload: "{timestamp}{body}",
        time: { header: "X-Signature-Timestamp", unit: "s" },
      },
      { toleranceMs: 5 * MINUTES },
    ),
    docs: "https://docs.discord.com/developers/interactions/overview#setting-up-an-endpoint",
    note: "public_key is the application's, in hexadecimal. Discord tests the endpoint with wrong signatures.",
    toleranceIsOurs: true,
  },
  sendgrid: {
    title: "SendGrid",
    scheme: ecdsaSignature(
      {
        header: "X-Twilio-Email-Event-Webhook-Signature",
        encoding: "base64",
        payload: "{timestamp}{body}",
        time: { header: "X-Twilio-Email-Event-Webhook-Timestamp", unit: "s" },
      },
      { toleranceMs: 0 },
    ),
    docs: "https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features",
    note: `The body is a JSON list, which the Validator refuses. ${NO_TOLERANCE}`,
  },
  "aws-sns": {
    title: "Amazon SNS",
    scheme: awsSns(),
    docs: "https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html",
    note: "Amazon signs for everybody's topics: topic_arn says whose are taken. MessageAttributes are not signed, and raw delivery is not at all.",
  },
  paypal: {
    title: "PayPal",
    scheme: paypal(),
    docs: "https://developer.paypal.com/api/rest/webhooks/rest/",
    note: "The body is signed by its CRC-32 only, which is no integrity: set verify_online (below). PayPal retries for 3 days. The webhook simulator's events can't be verified.",
    toleranceIsOurs: true,
  },

  // ---- JSON Web Tokens
  plaid: {
    title: "Plaid",
    scheme: jwt({
      header: "Plaid-Verification",
      algorithms: ["ES256"],
      bodyHash: { claim: "request_body_sha256", encoding: "hex" },
      limitsAge: true,
      toleranceMs: 5 * MINUTES,
      requires: [["public_key"]],
    }),
    docs: "https://plaid.com/docs/api/webhooks/webhook-verification/",
    note: "public_key is the JWK that /webhook_verification_key/get gives; several can be set, as Plaid rotates them.",
  },
  fusionauth: {
    title: "FusionAuth",
    scheme: jwt({
      header: "X-FusionAuth-Signature-JWT",
      algorithms: [...SYMMETRIC, ...ASYMMETRIC],
      bodyHash: { claim: "request_body_sha256", encoding: "base64" },
      requires: [["secret"], ["jwks_url"], ["public_key"]],
    }),
    docs: "https://fusionauth.io/docs/extend/events-and-webhooks/signing",
    note: "jwks_url is /.well-known/jwks.json of the FusionAuth instance; a secret is for HMAC keys.",
  },
  netlify: {
    title: "Netlify",
    scheme: jwt({
      header: "X-Webhook-Signature",
      issuer: "netlify",
      algorithms: ["HS256"],
      bodyHash: { claim: "sha256", encoding: "hex" },
      requires: [["secret"]],
    }),
    docs: "https://docs.netlify.com/site-deploys/deploy-notifications/#payload-signature",
    note: "The secret is the notification's JWS secret token.",
  },
  "gcp-pubsub": {
    title: "Google Pub/Sub push",
    scheme: jwt({
      issuer: ["https://accounts.google.com", "accounts.google.com"],
      jwksUrl: "https://www.googleapis.com/oauth2/v3/certs",
      algorithms: ["RS256"],
      toleranceMs: MINUTES,
      requires: [["audience", "email"]],
      optional: ["jwks_url", "issuer"],
    }),
    docs: "https://cloud.google.com/pubsub/docs/authenticate-push-subscriptions",
    note: "Anybody can have Google sign for an audience: email says which service account is taken.",
    toleranceIsOurs: true,
  },
  "azure-eventgrid": {
    title: "Azure Event Grid",
    scheme: anyOf(
      jwt({
        algorithms: ["RS256"],
        toleranceMs: 5 * MINUTES,
        requires: [["jwks_url", "issuer", "audience"]],
      }),
      tokenIn("Authorization", {
        requires: [
          ["secret", "query"],
          ["secret", "header"],
        ],
      }),
    ),
    docs: "https://learn.microsoft.com/en-us/azure/event-grid/security-authentication",
    note: "A secret in the URL's query or a header of delivery properties, or Microsoft Entra ID's tokens. Choose the CloudEvents schema: the Event Grid schema sends lists, which the Validator refuses.",
    toleranceIsOurs: true,
  },

  // ---- Tokens and passwords, which prove nothing about the body
  gitlab: {
    title: "GitLab (secret token)",
    scheme: tokenAt({ header: "X-Gitlab-Token" }),
    docs: "https://docs.gitlab.com/user/project/integrations/webhooks/",
  },
  telegram: {
    title: "Telegram",
    scheme: tokenAt({ header: "X-Telegram-Bot-Api-Secret-Token" }),
    docs: "https://core.telegram.org/bots/api#setwebhook",
    note: "The secret is secret_token of setWebhook, not the bot's token.",
  },
  okta: {
    title: "Okta event hooks",
    scheme: tokenIn("Authorization"),
    docs: "https://developer.okta.com/docs/concepts/event-hooks/",
    note: "The secret is the whole value of the header; header says which one, where it is not Authorization.",
  },
  opsgenie: {
    title: "Opsgenie",
    scheme: tokenIn("Authorization"),
    docs: "https://docs.opsgenie.com/v1.0/docs/webhook-integration",
    note: "Opsgenie signs nothing: the secret is the value of a custom header of the integration.",
  },
  alertmanager: {
    title: "Prometheus Alertmanager",
    scheme: anyOf(tokenAt({ header: "Authorization", prefix: "Bearer " }), basic()),
    docs: "https://prometheus.io/docs/alerting/latest/configuration/#http_config",
    note: "A secret for authorization (bearer), or username and password for basic_auth.",
  },
  postmark: {
    title: "Postmark",
    scheme: anyOf(
      basic(),
      tokenIn("Authorization", {
        requires: [
          ["secret", "header"],
          ["secret", "query"],
        ],
      }),
    ),
    docs: "https://postmarkapp.com/developer/webhooks/webhooks-overview",
    note: "Postmark signs nothing: a username and password in the URL, or a custom header.",
  },
  chargebee: {
    title: "Chargebee",
    scheme: basic(),
    docs: "https://github.com/chargebee/chargebee-node#readme",
    note: "Switch basic authentication on in the webhook's settings.",
  },
}
