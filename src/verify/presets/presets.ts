import { adyen } from "../schemes/adyen.ts"
import { anyOf } from "../schemes/any-of.ts"
import { ecdsaSignature, ed25519Signature } from "../schemes/asymmetric.ts"
import { awsSns } from "../schemes/aws-sns.ts"
import { contentful } from "../schemes/contentful.ts"
import { MOST_SIGNATURES } from "../schemes/family.ts"
import { mandrill, twilio } from "../schemes/form-signature.ts"
import { hmac } from "../schemes/hmac.ts"
import { hook0 } from "../schemes/hook0.ts"
import { hubspot } from "../schemes/hubspot.ts"
import { ASYMMETRIC, jwt, SYMMETRIC } from "../schemes/jwt.ts"
import { mailgun } from "../schemes/mailgun.ts"
import { msGraph } from "../schemes/ms-graph.ts"
import { paypal } from "../schemes/paypal.ts"
import { standardWebhooks } from "../schemes/standard-webhooks.ts"
import { basic, tokenAt, tokenIn } from "../schemes/token.ts"
import { HOURS, MINUTES, SECONDS } from "./delivery-facts.ts"
import { HEADER_OR_QUERY, likeStripe, NO_TOLERANCE, type Preset } from "./preset.ts"
import { BODY_ONLY } from "./rows/hmac-body.ts"
import { TIMED } from "./rows/hmac-timed.ts"
import { STANDARD } from "./rows/standard-webhooks.ts"
import { TOKENS_AND_KEYS } from "./rows/tokens-and-keys.ts"

/**
 * The providers by name. Every row has a test in presets.test.ts that signs with other code.
 */
export const PRESETS: { readonly [name: string]: Preset } = {
  // ---- Standard Webhooks
  "standard-webhooks": {
    title: "Standard Webhooks",
    scheme: standardWebhooks("webhook-"),
    docs: "https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md",
    event: { id: "header:webhook-id", type: "json:/type", time: "json:/timestamp" },
    note: "The secret is base64 after whsec_; for senders with asymmetric keys set public_key (whpk_) instead.",
  },
  svix: {
    title: "Svix",
    scheme: standardWebhooks("svix-"),
    docs: "https://docs.svix.com/receiving/verifying-payloads/how-manual",
    event: { id: "header:svix-id" },
    note: "If the sender's headers start with webhook-, use standard-webhooks.",
  },
  openai: {
    title: "OpenAI",
    scheme: standardWebhooks("webhook-"),
    docs: "https://platform.openai.com/docs/guides/webhooks",
    // https://developers.openai.com/api/docs/api-reference/webhook-events
    event: { id: "header:webhook-id", type: "json:/type", time: "json:/created_at" },
  },
  anthropic: {
    title: "Anthropic",
    scheme: standardWebhooks("webhook-"),
    docs: "https://github.com/anthropics/anthropic-sdk-typescript/blob/main/src/resources/beta/webhooks.ts",
    // https://platform.claude.com/docs/en/api/ruby/beta/webhooks/unwrap
    event: { id: "json:/id", type: "json:/data/type", time: "json:/created_at" },
  },
  clerk: {
    title: "Clerk",
    scheme: standardWebhooks("svix-"),
    docs: "https://clerk.com/docs/guides/development/webhooks/syncing",
    // https://clerk.com/docs/guides/development/webhooks/overview
    event: { id: "header:svix-id", type: "json:/type", time: "json:/timestamp" },
  },
  resend: {
    title: "Resend",
    scheme: standardWebhooks("svix-"),
    docs: "https://resend.com/docs/dashboard/webhooks/verify-webhooks-requests",
    // https://resend.com/docs/webhooks/emails/sent
    event: { id: "header:svix-id", type: "json:/type", time: "json:/created_at" },
  },
  "gitlab-signing-token": {
    title: "GitLab (signing token)",
    scheme: standardWebhooks("webhook-"),
    docs: "https://gitlab.com/gitlab-org/gitlab/-/merge_requests/230944",
    // https://docs.gitlab.com/user/project/integrations/webhook_events/
    event: { id: "header:webhook-id", type: "json:/object_kind" },
    note: "For webhooks with a signing token (whsec_); for a secret token use gitlab.",
  },
  ...STANDARD,

  // ---- Time and signatures in one header
  stripe: {
    title: "Stripe",
    scheme: likeStripe("Stripe-Signature", 5 * MINUTES),
    docs: "https://docs.stripe.com/webhooks/signature",
    // https://docs.stripe.com/api/events/object
    event: { id: "json:/id", type: "json:/type", time: "json:/created" },
    note: "The secret includes whsec_; the CLI and the dashboard have different ones.",
  },
  mux: {
    title: "Mux",
    scheme: likeStripe("Mux-Signature", 5 * MINUTES),
    docs: "https://www.mux.com/docs/core/verify-webhook-signatures",
    // https://www.mux.com/docs/core/listen-for-webhooks
    event: { id: "json:/id", type: "json:/type", time: "json:/created_at" },
  },
  calendly: {
    title: "Calendly",
    scheme: likeStripe("Calendly-Webhook-Signature", 3 * MINUTES),
    docs: "https://developer.calendly.com/api-docs/overview/webhooks/webhook-signatures",
    event: { type: "json:/event", time: "json:/created_at" },
  },
  workos: {
    title: "WorkOS",
    scheme: likeStripe("WorkOS-Signature", 3 * MINUTES, {
      written: ", ",
      time: { item: "t=", unit: "ms" },
    }),
    docs: "https://workos.com/docs/events/data-syncing/webhooks",
    // https://workos.com/docs/events
    event: { id: "json:/id", type: "json:/event", time: "json:/created_at" },
    note: "The time is in milliseconds.",
  },
  sanity: {
    title: "Sanity",
    scheme: likeStripe("sanity-webhook-signature", 5 * MINUTES, {
      encoding: "base64url",
      time: { item: "t=", unit: "ms" },
    }),
    docs: "https://github.com/sanity-io/webhook-toolkit",
    // https://www.sanity.io/docs/webhooks
    event: {
      id: "header:idempotency-key",
      type: "header:sanity-operation",
      time: "header:sanity-transaction-time",
      source: "header:sanity-project-id",
      headers: ["sanity-dataset", "sanity-document-id", "sanity-webhook-id"],
    },
    toleranceIsOurs: true,
  },
  paddle: {
    title: "Paddle",
    scheme: likeStripe("Paddle-Signature", 5 * SECONDS, {
      list: ";",
      prefix: "h1=",
      payload: "{timestamp}:{body}",
      time: { item: "ts=", unit: "s" },
    }),
    docs: "https://developer.paddle.com/webhooks/signature-verification",
    event: { id: "json:/event_id", type: "json:/event_type", time: "json:/occurred_at" },
    note: "Paddle's own tolerance is 5 s: keep the clock synchronised.",
  },

  // ---- Time in its own header
  slack: {
    title: "Slack",
    scheme: {
      hmac: {
        header: "X-Slack-Signature",
        prefix: "v0=",
        payload: "v0:{timestamp}:{body}",
        time: { header: "X-Slack-Request-Timestamp", unit: "s" },
        toleranceMs: 5 * MINUTES,
      },
    },
    docs: "https://docs.slack.dev/authentication/verifying-requests-from-slack",
    // https://docs.slack.dev/reference/objects/event-object
    event: { id: "json:/event_id", type: "json:/event/type", time: "json:/event_time" },
    note: "The secret is the app's signing secret, not a token.",
    body: {
      format: "auto",
      unwrap: "payload",
      docs: "https://docs.slack.dev/interactivity/handling-user-interaction",
    },
  },
  zoom: {
    title: "Zoom",
    scheme: {
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
    docs: "https://developers.zoom.us/docs/api/webhooks/#verify-webhook-events",
    event: { type: "json:/event", time: "json:/event_ts" },
    note: "The secret is the app's secret token, not the older verification token.",
    toleranceIsOurs: true,
  },
  grafana: {
    title: "Grafana Alerting",
    scheme: hmac(
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
    docs: "https://grafana.com/docs/grafana/latest/alerting/configure-notifications/manage-contact-points/integrations/webhook-notifier/",
    note: "Set timestamp_header if the contact point has one: the time is signed then.",
    toleranceIsOurs: true,
  },
  webflow: {
    title: "Webflow",
    scheme: {
      hmac: {
        header: "x-webflow-signature",
        payload: "{timestamp}:{body}",
        time: { header: "x-webflow-timestamp", unit: "ms" },
        toleranceMs: 5 * MINUTES,
      },
    },
    docs: "https://developers.webflow.com/data/docs/working-with-webhooks",
    event: { type: "json:/triggerType" },
    note: "Webhooks created in the dashboard are not signed.",
  },
  zendesk: {
    title: "Zendesk",
    scheme: {
      hmac: {
        header: "X-Zendesk-Webhook-Signature",
        encoding: "base64",
        payload: "{timestamp}{body}",
        time: { header: "X-Zendesk-Webhook-Signature-Timestamp", unit: "iso" },
        toleranceMs: 5 * MINUTES,
      },
    },
    docs: "https://developer.zendesk.com/documentation/webhooks/verifying/",
    // https://developer.zendesk.com/documentation/webhooks/anatomy-of-a-webhook-request : triggers define the body, in which
    // an id may be the ticket's
    event: { id: "header:X-Zendesk-Webhook-Invocation-Id", type: "json:/type", time: "json:/time" },
    note: "The webhook's method must be POST and its format JSON.",
    toleranceIsOurs: true,
  },
  twitch: {
    title: "Twitch EventSub",
    scheme: {
      hmac: {
        header: "Twitch-Eventsub-Message-Signature",
        prefix: "sha256=",
        payload: "{id}{timestamp}{body}",
        time: { header: "Twitch-Eventsub-Message-Timestamp", unit: "iso" },
        id: "Twitch-Eventsub-Message-Id",
        toleranceMs: 10 * MINUTES,
      },
    },
    docs: "https://dev.twitch.tv/docs/eventsub/handling-webhook-events/#verifying-the-event-message",
    event: {
      id: "header:Twitch-Eventsub-Message-Id",
      type: "json:/subscription/type",
      time: "header:Twitch-Eventsub-Message-Timestamp",
    },
  },
  box: {
    title: "Box",
    scheme: {
      hmac: {
        header: ["Box-Signature-Primary", "Box-Signature-Secondary"],
        encoding: "base64",
        payload: "{body}{timestamp}",
        time: { header: "Box-Delivery-Timestamp", unit: "iso" },
        fixed: { "Box-Signature-Version": "1", "Box-Signature-Algorithm": "HmacSHA256" },
        toleranceMs: 10 * MINUTES,
      },
    },
    docs: "https://developer.box.com/guides/webhooks/v2/signatures-v2/",
    // https://developer.box.com/guides/webhooks/v2
    event: { id: "json:/id", type: "json:/trigger", time: "json:/created_at" },
    note: "Set the primary and the secondary key as secrets; either may match.",
  },
  ...TIMED,

  // ---- Body only
  github: {
    title: "GitHub",
    scheme: { hmac: { header: "X-Hub-Signature-256", prefix: "sha256=" } },
    docs: "https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries",
    // https://docs.github.com/en/webhooks/webhook-events-and-payloads#delivery-headers
    event: {
      id: "header:X-GitHub-Delivery",
      type: "header:X-GitHub-Event",
      source: ["json:/repository/full_name", "json:/organization/login"],
      headers: ["X-GitHub-Hook-ID"],
    },
    note: "A redelivery has the id of the first delivery; ids are not signed.",
    body: {
      format: "auto",
      unwrap: "payload",
      docs: "https://docs.github.com/en/webhooks/using-webhooks/creating-webhooks",
    },
  },
  bitbucket: {
    title: "Bitbucket",
    scheme: { hmac: { header: "X-Hub-Signature", prefix: "sha256=" } },
    docs: "https://support.atlassian.com/bitbucket-cloud/docs/manage-webhooks/#Secure-webhooks",
    // https://support.atlassian.com/bitbucket-cloud/docs/event-payloads/
    event: { id: "header:X-Request-UUID", type: "header:X-Event-Key" },
  },
  jira: {
    title: "Jira",
    scheme: { hmac: { header: "X-Hub-Signature", prefix: "sha256=" } },
    docs: "https://developer.atlassian.com/cloud/jira/platform/webhooks/#secure-admin-webhooks",
    event: {
      id: "header:X-Atlassian-Webhook-Identifier",
      type: "json:/webhookEvent",
      time: "json:/timestamp",
    },
    note: "For webhooks with a secret; Connect apps send a JWT instead.",
  },
  meta: {
    title: "Meta (Facebook, Instagram, WhatsApp)",
    scheme: { hmac: { header: "X-Hub-Signature-256", prefix: "sha256=" } },
    docs: "https://developers.facebook.com/docs/graph-api/webhooks/getting-started#validate-payloads",
    event: { type: "json:/object" },
    note: "The secret is the app secret; the handshake needs verify_token, a text of your choice.",
  },
  "x-twitter": {
    title: "X (Twitter)",
    scheme: {
      hmac: {
        header: ["X-Twitter-Webhooks-Signature-OAuth2", "X-Twitter-Webhooks-Signature"],
        prefix: "sha256=",
        encoding: "base64",
        signsChallenges: true,
      },
    },
    docs: "https://docs.x.com/x-api/webhooks/introduction#signature-headers",
    // X Activity API: https://github.com/xdevplatform/docs ; the Account Activity API has neither
    event: { id: "json:/data/event_uuid", type: "json:/data/event_type" },
    note: "The secret is the app's OAuth 2.0 client secret, or the consumer secret of older apps; with both, the client secret first.",
  },
  shopify: {
    title: "Shopify",
    scheme: { hmac: { header: ["X-Shopify-Hmac-Sha256", "Shopify-Hmac-Sha256"], encoding: "base64" } },
    docs: "https://shopify.dev/docs/apps/build/webhooks/subscribe/https",
    // https://shopify.dev/docs/apps/build/webhooks/delivery-structure : deliveries of one action share X-Shopify-Event-Id
    // https://shopify.dev/docs/apps/build/events/verify-deliveries : Events, whose headers have no X-
    event: {
      id: ["header:X-Shopify-Webhook-Id", "header:Shopify-Webhook-Id"],
      type: ["header:X-Shopify-Topic", "header:Shopify-Topic"],
      time: ["header:X-Shopify-Triggered-At", "header:Shopify-Triggered-At"],
      source: ["header:X-Shopify-Shop-Domain", "header:Shopify-Shop-Domain"],
      headers: ["X-Shopify-API-Version", "X-Shopify-Event-Id", "Shopify-API-Version", "Shopify-Event-Id"],
    },
    note: "The secret is the app's client secret; webhooks created in the admin have their own. The headers of the newer Events are read, too.",
  },
  line: {
    title: "LINE",
    scheme: { hmac: { header: "x-line-signature", encoding: "base64" } },
    docs: "https://developers.line.biz/en/docs/messaging-api/verify-webhook-signature/",
    note: "The secret is the channel secret.",
  },
  xero: {
    title: "Xero",
    scheme: { hmac: { header: "x-xero-signature", encoding: "base64" } },
    docs: "https://developer.xero.com/documentation/guides/webhooks/configuring-your-server/",
    note: "The secret looks like base64 but is used as text; Xero tests the endpoint with wrong signatures.",
  },
  typeform: {
    title: "Typeform",
    scheme: { hmac: { header: "Typeform-Signature", prefix: "sha256=", encoding: "base64" } },
    docs: "https://www.typeform.com/developers/webhooks/secure-your-webhooks/",
    event: { id: "json:/event_id", type: "json:/event_type", time: "json:/form_response/submitted_at" },
  },
  woocommerce: {
    title: "WooCommerce",
    scheme: { hmac: { header: "X-WC-Webhook-Signature", encoding: "base64" } },
    docs: "https://woocommerce.com/document/webhooks/",
    event: {
      id: "header:X-WC-Webhook-Delivery-ID",
      type: "header:X-WC-Webhook-Topic",
      source: "header:X-WC-Webhook-Source",
    },
    note: "The ping at a webhook's creation is not signed.",
  },
  docusign: {
    title: "DocuSign Connect",
    scheme: {
      hmac: {
        header: Array.from({ length: MOST_SIGNATURES }, (_, i) => `X-DocuSign-Signature-${i + 1}`),
        encoding: "base64",
      },
    },
    docs: "https://developers.docusign.com/platform/webhooks/connect/validate/",
    event: { type: "json:/event", time: "json:/generatedDateTime" },
    note: "The format must be JSON (SIM), not the legacy XML. DocuSign signs with each key of the account; any of the first 16 may match.",
  },
  "coinbase-commerce": {
    title: "Coinbase Commerce",
    scheme: { hmac: { header: "X-CC-Webhook-Signature" } },
    docs: "https://github.com/coinbase/coinbase-commerce-node/blob/master/lib/Webhook.js",
    event: { id: "json:/event/id", type: "json:/event/type", time: "json:/event/created_at" },
    note: "Coinbase ended Commerce on March 31, 2026; for its successors use coinbase.",
  },
  coinbase: {
    title: "Coinbase (Business, CDP)",
    scheme: hook0(),
    docs: "https://docs.cdp.coinbase.com/webhooks/verify-signatures",
    event: { id: "header:X-Event-Id", type: "header:X-Event-Type" },
    note: "The secret is that of the subscription's creation.",
  },
  razorpay: {
    title: "Razorpay",
    scheme: { hmac: { header: "X-Razorpay-Signature" } },
    docs: "https://razorpay.com/docs/webhooks/validate-test/",
    event: { id: "header:X-Razorpay-Event-Id", type: "json:/event", time: "json:/created_at" },
    note: "The secret is the webhook's, not the API key's.",
  },
  onfido: {
    title: "Onfido (Entrust)",
    scheme: { hmac: { header: "X-SHA2-Signature" } },
    docs: "https://documentation.identity.entrust.com/api/manual-webhook-signature-verification/",
    event: { type: "json:/payload/action", time: "json:/payload/object/completed_at_iso8601" },
  },
  dropbox: {
    title: "Dropbox",
    scheme: { hmac: { header: "X-Dropbox-Signature" } },
    docs: "https://www.dropbox.com/developers/reference/webhooks",
    note: "The secret is the app secret.",
  },
  asana: {
    title: "Asana",
    scheme: { hmac: { header: "X-Hook-Signature" } },
    docs: "https://developers.asana.com/docs/webhooks-guide",
    note: "Asana sends the secret in its first request: set secret_file, or take it from its API's response. Each webhook has its own: raise secret_count before another is created.",
  },
  gocardless: {
    title: "GoCardless",
    scheme: { hmac: { header: "Webhook-Signature" } },
    docs: "https://developer.gocardless.com/api-reference/#webhooks-overview",
    // https://developer.gocardless.com/api-reference/#webhooks-retry-a-webhook
    event: { id: "json:/meta/webhook_id" },
  },
  mollie: {
    title: "Mollie (next-gen webhooks)",
    scheme: {
      hmac: {
        header: "X-Mollie-Signature",
        list: ",",
        repeatable: true,
        prefix: "sha256=",
        prefixOptional: true,
      },
    },
    docs: "https://docs.mollie.com/reference/webhooks-best-practices",
    event: { id: "json:/id", type: "json:/type", time: "json:/createdAt" },
    note: "Classic webhooks (an id in a form) are not signed. While Mollie rotates a secret it signs with both.",
  },
  notion: {
    title: "Notion",
    scheme: { hmac: { header: "X-Notion-Signature", prefix: "sha256=" } },
    docs: "https://developers.notion.com/reference/webhooks",
    event: { id: "json:/id", type: "json:/type", time: "json:/timestamp" },
    note: "The secret is the verification_token of the first request: set secret_file, then enter its content at Notion.",
  },
  linear: {
    title: "Linear",
    scheme: {
      hmac: {
        header: "Linear-Signature",
        time: { member: "webhookTimestamp", unit: "ms" },
        toleranceMs: MINUTES,
      },
    },
    docs: "https://linear.app/developers/webhooks",
    event: { id: "header:Linear-Delivery", type: "json:/type", time: "json:/createdAt" },
  },
  sentry: {
    title: "Sentry",
    scheme: { hmac: { header: "Sentry-Hook-Signature" } },
    docs: "https://docs.sentry.io/integrations/integration-platform/webhooks/",
    // https://github.com/getsentry/sentry/blob/master/src/sentry/sentry_apps/api/serializers/app_platform_event.py : each
    // attempt has a new Request-ID
    event: { type: "header:Sentry-Hook-Resource", time: "header:Sentry-Hook-Timestamp" },
    note: "The secret is the integration's client secret.",
  },
  pagerduty: {
    title: "PagerDuty",
    scheme: { hmac: { header: "X-PagerDuty-Signature", list: ",", prefix: "v1=" } },
    docs: "https://developer.pagerduty.com/docs/verifying-webhook-signatures",
    event: { id: "json:/event/id", type: "json:/event/event_type", time: "json:/event/occurred_at" },
    note: "The secret looks like base64 but is used as text.",
  },
  circleci: {
    title: "CircleCI",
    scheme: { hmac: { header: "circleci-signature", list: ",", prefix: "v1=" } },
    docs: "https://circleci.com/docs/guides/integration/outbound-webhooks/",
    event: { id: "json:/id", type: "json:/type", time: "json:/happened_at" },
  },
  intercom: {
    title: "Intercom",
    scheme: { hmac: { header: "X-Hub-Signature", prefix: "sha1=", algorithm: "sha1" } },
    docs: "https://developers.intercom.com/docs/webhooks/setting-up-webhooks",
    event: { id: "json:/id", type: "json:/topic", time: "json:/created_at" },
    note: "The secret is the app's client secret.",
  },
  vercel: {
    title: "Vercel",
    scheme: { hmac: { header: "x-vercel-signature", algorithm: "sha1" } },
    docs: "https://vercel.com/docs/webhooks/webhooks-api#securing-webhooks",
    event: { id: "json:/id", type: "json:/type", time: "json:/createdAt" },
    note: "The secret is the webhook's, or for an integration its client secret.",
  },
  ...BODY_ONLY,

  // ---- URL and body: set public_url behind a proxy
  square: {
    title: "Square",
    scheme: { hmac: { header: "x-square-hmacsha256-signature", encoding: "base64", payload: "{url}{body}" } },
    docs: "https://developer.squareup.com/docs/webhooks/step3validate",
    event: { id: "json:/event_id", type: "json:/type", time: "json:/created_at" },
  },
  trello: {
    title: "Trello",
    scheme: {
      hmac: {
        header: "X-Trello-Webhook",
        algorithm: "sha1",
        encoding: "base64",
        payload: "{body}{url}",
      },
    },
    docs: "https://developer.atlassian.com/cloud/trello/guides/rest-api/webhooks/#webhook-signatures",
    event: { id: "json:/action/id", type: "json:/action/type", time: "json:/action/date" },
    note: "The secret is the application's, not the API key.",
  },
  twilio: {
    title: "Twilio",
    scheme: twilio(),
    docs: "https://www.twilio.com/docs/usage/security#validating-requests",
    event: { id: "header:I-Twilio-Idempotency-Token" },
    note: "The secret is the account's primary auth token, or the secret of a shared key (HMAC_SHA1 or HMAC_SHA256); the webhook's method must be POST. JSON bodies (Event Streams) are verified by bodySHA256, the URL's last parameter.",
    body: {
      format: "auto",
      lists: "split",
      docs: "https://www.twilio.com/docs/usage/webhooks/webhooks-overview",
    },
  },
  mandrill: {
    title: "Mandrill (Mailchimp Transactional)",
    scheme: mandrill(),
    docs: "https://mandrill.zendesk.com/hc/en-us/articles/360039232513-How-to-Authenticate-Webhook-Requests",
    event: { type: "json:/event", time: "json:/ts" },
    note: "The key exists only once the webhook does: set any text, create it, then set its key.",
    body: {
      format: "form",
      unwrap: "mandrill_events",
      lists: "split",
      docs: "https://mandrill.zendesk.com/hc/en-us/articles/360038740594-Webhook-Format",
    },
  },
  hubspot: {
    title: "HubSpot",
    scheme: hubspot(),
    docs: "https://developers.hubspot.com/docs/apps/developer-platform/build-apps/authentication/request-validation",
    // https://developers.hubspot.com/docs/api/webhooks : eventId is not unique
    event: { type: "json:/subscriptionType", time: "json:/occurredAt" },
    note: "Version 3; min_version = 1 or 2 accepts the older ones, too, which have no time and so can be replayed. Subscriptions send lists, workflows objects.",
    body: {
      format: "json",
      lists: "split",
      docs: "https://developers.hubspot.com/docs/guides/crm/private-apps/webhooks",
    },
  },
  contentful: {
    title: "Contentful",
    scheme: contentful(),
    docs: "https://www.contentful.com/developers/docs/extensibility/webhooks/request-verification/",
    // https://www.contentful.com/developers/changelog/idempotency-key-headers-for-webhook-requests/
    event: { id: "header:X-Contentful-Idempotency-Key", type: "header:X-Contentful-Topic" },
    note: "Proxies that change signed headers break the signature.",
    body: {
      format: "auto",
      docs: "https://contentful.com/developers/docs/webhooks/transformations",
    },
  },

  // ---- Signature in the body
  adyen: {
    title: "Adyen",
    scheme: adyen(),
    docs: "https://docs.adyen.com/development-resources/webhooks/secure-webhooks/verify-hmac-signatures",
    event: {
      type: "json:/notificationItems/0/NotificationRequestItem/eventCode",
      time: "json:/notificationItems/0/NotificationRequestItem/eventDate",
    },
    note: "Of payment webhooks only eight fields are signed.",
  },
  mailgun: {
    title: "Mailgun",
    scheme: mailgun(),
    docs: "https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/securing-webhooks",
    event: { id: "json:/event-data/id", type: "json:/event-data/event", time: "json:/event-data/timestamp" },
    note: "The event itself is unsigned, so a token is accepted once, with one body. Mailgun retries for 8 h. Events of subaccounts are verified by the primary account's key (parent-signature) or their own.",
    toleranceIsOurs: true,
    body: {
      format: "auto",
      docs: "https://documentation.mailgun.com/docs/mailgun/user-manual/receive-forward-store/receive-http",
    },
  },
  "ms-graph": {
    title: "Microsoft Graph",
    scheme: msGraph(),
    docs: "https://learn.microsoft.com/en-us/graph/change-notifications-delivery-webhooks",
    note: "Set clientState when creating the subscription: only it authenticates the sender. validationTokens of resource data are checked; audience (the application's id) makes them mandatory.",
  },

  // ---- Public keys
  discord: {
    title: "Discord",
    scheme: ed25519Signature({
      header: "X-Signature-Ed25519",
      encoding: "hex",
      payload: "{timestamp}{body}",
      time: { header: "X-Signature-Timestamp", unit: "s" },
      // it repeats for 10 minutes, and does not document whether it signs anew
      toleranceMs: 15 * MINUTES,
    }),
    docs: "https://docs.discord.com/developers/interactions/overview#setting-up-an-endpoint",
    event: { type: "json:/event/type", time: "json:/event/timestamp" },
    note: "public_key is the application's, in hexadecimal. Discord tests the endpoint with wrong signatures. For webhook events: an interaction other than PING needs an answer of its own, and fails with the empty one that it gets here.",
    toleranceIsOurs: true,
  },
  sendgrid: {
    title: "SendGrid",
    scheme: ecdsaSignature({
      header: "X-Twilio-Email-Event-Webhook-Signature",
      encoding: "base64",
      payload: "{timestamp}{body}",
      time: { header: "X-Twilio-Email-Event-Webhook-Timestamp", unit: "s" },
      toleranceMs: 0,
    }),
    docs: "https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features",
    // https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/event
    event: { id: "json:/sg_event_id", type: "json:/event", time: "json:/timestamp" },
    note: NO_TOLERANCE,
    body: {
      format: "json",
      lists: "split",
      // a batch has 768 KB of events, each of some 200 bytes or more
      max_list_items: "10000",
      docs: "https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/event",
    },
  },
  "aws-sns": {
    title: "Amazon SNS",
    scheme: awsSns(),
    docs: "https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html",
    event: { id: "json:/MessageId", type: "json:/Type", time: "json:/Timestamp" },
    note: "Amazon signs for all customers: topic_arn selects the accepted topic. MessageAttributes and raw delivery are not signed.",
  },
  paypal: {
    title: "PayPal",
    scheme: paypal(),
    docs: "https://developer.paypal.com/api/rest/webhooks/rest/",
    event: { id: "json:/id", type: "json:/event_type", time: "json:/create_time" },
    note: "Only the body's CRC-32 is signed, which is forgeable: set verify_online (below). PayPal retries for 3 days. Events of the webhook simulator can't be verified.",
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
    event: { type: "json:/webhook_code" },
    note: "public_key is the JWK of /webhook_verification_key/get; set several while Plaid rotates them.",
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
    event: { id: "json:/event/id", type: "json:/event/type", time: "json:/event/createInstant" },
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
    event: { type: "header:X-Netlify-Event" },
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
    event: { id: "json:/message/messageId", time: "json:/message/publishTime" },
    note: "Anyone can get Google to sign for an audience: email selects the accepted service account.",
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
      HEADER_OR_QUERY,
    ),
    docs: "https://learn.microsoft.com/en-us/azure/event-grid/security-authentication",
    event: { id: "json:/id", type: "json:/eventType", time: "json:/eventTime" },
    note: "A secret in the URL's query or a header of delivery properties, or Microsoft Entra ID's tokens.",
    toleranceIsOurs: true,
    body: {
      format: "json",
      lists: "split",
      // https://learn.microsoft.com/en-us/azure/event-grid/delivery-and-retry : up to 5,000 events a batch
      max_list_items: "10000",
      docs: "https://learn.microsoft.com/en-us/azure/event-grid/event-schema",
    },
  },

  // ---- Tokens and passwords, which do not cover the body
  gitlab: {
    title: "GitLab (secret token)",
    scheme: { token: { header: "X-Gitlab-Token" } },
    docs: "https://docs.gitlab.com/user/project/integrations/webhooks/",
    // https://gitlab.com/gitlab-org/gitlab/-/issues/388692
    event: { id: "header:Idempotency-Key", type: "json:/object_kind" },
  },
  telegram: {
    title: "Telegram",
    scheme: { token: { header: "X-Telegram-Bot-Api-Secret-Token" } },
    docs: "https://core.telegram.org/bots/api#setwebhook",
    event: { id: "json:/update_id" },
    note: "The secret is secret_token of setWebhook, not the bot's token.",
  },
  okta: {
    title: "Okta event hooks",
    scheme: tokenIn("Authorization"),
    docs: "https://developer.okta.com/docs/concepts/event-hooks/",
    // https://developer.okta.com/docs/concepts/event-hooks/#sample-event-delivery-payload
    event: { id: "json:/eventId", type: "json:/eventType", time: "json:/eventTime" },
    note: "The secret is the whole value of the header; set header if it is not Authorization.",
  },
  opsgenie: {
    title: "Opsgenie",
    scheme: tokenIn("Authorization"),
    docs: "https://docs.opsgenie.com/v1.0/docs/webhook-integration",
    event: { type: "json:/action" },
    note: "Opsgenie does not sign: the secret is the value of a custom header of the integration.",
  },
  alertmanager: {
    title: "Prometheus Alertmanager",
    scheme: anyOf(tokenAt({ header: "Authorization", prefix: "Bearer " }), basic()),
    docs: "https://prometheus.io/docs/alerting/latest/configuration/#http_config",
    note: "A secret for authorization (bearer), or username and password for basic_auth.",
  },
  postmark: {
    title: "Postmark",
    scheme: anyOf(basic(), HEADER_OR_QUERY),
    docs: "https://postmarkapp.com/developer/webhooks/webhooks-overview",
    event: { type: "json:/RecordType" },
    note: "Postmark does not sign: set a username and password in the URL, or a custom header.",
  },
  chargebee: {
    title: "Chargebee",
    scheme: basic(),
    docs: "https://github.com/chargebee/chargebee-node#readme",
    event: { id: "json:/id", type: "json:/event_type", time: "json:/occurred_at" },
    note: "Enable basic authentication in the webhook's settings.",
  },

  ...TOKENS_AND_KEYS,
}
