import type { EventLocations } from "./event-locations.ts"
import type { PresetName } from "./schemes.ts"

/** What is known of a provider besides its scheme, for people and for the components of a pipeline. */
export interface Profile {
  /** As the provider writes its name. */
  readonly title: string
  /** The provider's documentation or library that its scheme follows. */
  readonly docs: string
  /** As documented. Where the signed body has an id, an unsigned header is none. */
  readonly event?: EventLocations
  /** Pitfalls, in a sentence. */
  readonly note?: string | undefined
  /** Whether the tolerance is Hookline's choice, as the provider documents none. */
  readonly toleranceIsOurs?: true
  /** What its bodies are; absent: JSON objects. */
  readonly body?: BodyForm
}

/** Options of the Decoder, as a file would spell them. */
export interface BodyForm {
  readonly format: "json" | "form" | "multipart" | "text" | "auto"
  readonly unwrap?: string
  readonly json_fields?: string
  readonly lists?: "refuse" | "wrap" | "split"
  /** Where the provider's batches may have more items than the Decoder's default. */
  readonly max_list_items?: string
  /** The provider's documentation of its bodies, of presets. */
  readonly docs?: string
}

const NO_TOLERANCE =
  "The provider documents no tolerance and may deliver late, so the time is unchecked unless tolerance is set."

/** The profiles by provider, one for each of schemes.ts, in its order. */
export const PROFILES: { readonly [name in PresetName]: Profile } = {
  "standard-webhooks": {
    title: "Standard Webhooks",
    docs: "https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md",
    event: { id: "header:webhook-id", type: "json:/type", time: "json:/timestamp" },
    note: "The secret is base64 after whsec_; for senders with asymmetric keys set public_key (whpk_) instead.",
  },
  svix: {
    title: "Svix",
    docs: "https://docs.svix.com/receiving/verifying-payloads/how-manual",
    event: { id: "header:svix-id" },
    note: "If the sender's headers start with webhook-, use standard-webhooks.",
  },
  openai: {
    title: "OpenAI",
    docs: "https://platform.openai.com/docs/guides/webhooks",
    // https://developers.openai.com/api/docs/api-reference/webhook-events
    event: { id: "header:webhook-id", type: "json:/type", time: "json:/created_at" },
  },
  anthropic: {
    title: "Anthropic",
    docs: "https://github.com/anthropics/anthropic-sdk-typescript/blob/main/src/resources/beta/webhooks.ts",
    // https://platform.claude.com/docs/en/api/ruby/beta/webhooks/unwrap
    event: { id: "json:/id", type: "json:/data/type", time: "json:/created_at" },
  },
  clerk: {
    title: "Clerk",
    docs: "https://clerk.com/docs/guides/development/webhooks/syncing",
    // https://clerk.com/docs/guides/development/webhooks/overview
    event: { id: "header:svix-id", type: "json:/type", time: "json:/timestamp" },
  },
  resend: {
    title: "Resend",
    docs: "https://resend.com/docs/dashboard/webhooks/verify-webhooks-requests",
    // https://resend.com/docs/webhooks/emails/sent
    event: { id: "header:svix-id", type: "json:/type", time: "json:/created_at" },
  },
  "gitlab-signing-token": {
    title: "GitLab (signing token)",
    docs: "https://gitlab.com/gitlab-org/gitlab/-/merge_requests/230944",
    // https://docs.gitlab.com/user/project/integrations/webhook_events/
    event: { id: "header:webhook-id", type: "json:/object_kind" },
    note: "For webhooks with a signing token (whsec_); for a secret token use gitlab.",
  },
  polar: {
    title: "Polar",
    docs: "https://polar.sh/docs/integrate/webhooks/delivery",
    event: { id: "header:webhook-id", type: "json:/type", time: "json:/timestamp" },
    note: "The secret as Polar shows it. Secrets made since 2026-09-08 (whsec_) sign with the decoded key, older ones with their whole text, polar_whs_ or whsec_ included; either is accepted.",
  },
  supabase: {
    title: "Supabase auth hooks",
    docs: "https://supabase.com/docs/guides/auth/auth-hooks",
    event: { id: "header:webhook-id" },
    note: "The secret is v1,whsec_ and base64, as Supabase shows it. Hooks that decide something need an answer of their own: only those that notify make sense here.",
  },
  replicate: {
    title: "Replicate",
    docs: "https://replicate.com/docs/topics/webhooks/verify-webhook",
    event: { id: "header:webhook-id", type: "json:/status", time: "json:/created_at" },
    note: "An event is the prediction as it is then; several of them have its id.",
  },
  render: {
    title: "Render",
    docs: "https://render.com/docs/webhooks",
    event: {
      id: "header:webhook-id",
      type: "json:/type",
      time: "json:/timestamp",
      source: "json:/data/serviceId",
    },
  },
  brex: {
    title: "Brex",
    docs: "https://developer.brex.com/docs/webhooks",
    event: { id: "header:webhook-id", type: "json:/event_type", source: "json:/company_id" },
    note: "The secret is base64, from the API's list of webhook secrets.",
  },
  "dodo-payments": {
    title: "Dodo Payments",
    docs: "https://docs.dodopayments.com/developer-resources/webhooks",
    event: {
      id: "header:webhook-id",
      type: "json:/type",
      time: "json:/timestamp",
      source: "json:/business_id",
    },
  },
  "incident-io": {
    title: "incident.io",
    docs: "https://docs.incident.io/api-reference/webhooks",
    event: { id: "header:webhook-id", type: "json:/event_type" },
  },
  lithic: {
    title: "Lithic",
    docs: "https://docs.lithic.com/docs/events-api",
    // https://github.com/lithic-com/lithic-node/blob/main/src/resources/webhooks.ts
    event: { id: "header:webhook-id", type: "json:/event_type" },
  },
  etsy: {
    title: "Etsy",
    docs: "https://developers.etsy.com/documentation/essentials/webhooks",
    event: { id: "header:webhook-id", type: "json:/event_type", source: "json:/shop_id" },
  },
  gemini: {
    title: "Gemini API",
    docs: "https://ai.google.dev/gemini-api/docs/webhooks",
    event: { id: "header:webhook-id", type: "json:/type", time: "json:/timestamp" },
    note: "Of static webhooks. Dynamic ones, which a request to the API names, are signed by a JSON Web Token instead and are refused.",
  },
  vanta: {
    title: "Vanta",
    docs: "https://developer.vanta.com/docs/webhooks",
    event: { id: "header:svix-id", type: "json:/type" },
  },
  stytch: {
    title: "Stytch",
    docs: "https://stytch.com/docs/guides/webhooks",
    event: {
      id: "header:svix-id",
      type: ["json:/event_type", "json:/action"],
      time: "json:/timestamp",
      source: "json:/project_id",
    },
  },
  stripe: {
    title: "Stripe",
    docs: "https://docs.stripe.com/webhooks/signature",
    // https://docs.stripe.com/api/events/object
    event: { id: "json:/id", type: "json:/type", time: "json:/created" },
    note: "The secret includes whsec_; the CLI and the dashboard have different ones.",
  },
  mux: {
    title: "Mux",
    docs: "https://www.mux.com/docs/core/verify-webhook-signatures",
    // https://www.mux.com/docs/core/listen-for-webhooks
    event: { id: "json:/id", type: "json:/type", time: "json:/created_at" },
  },
  calendly: {
    title: "Calendly",
    docs: "https://developer.calendly.com/api-docs/overview/webhooks/webhook-signatures",
    event: { type: "json:/event", time: "json:/created_at" },
  },
  workos: {
    title: "WorkOS",
    docs: "https://workos.com/docs/events/data-syncing/webhooks",
    // https://workos.com/docs/events
    event: { id: "json:/id", type: "json:/event", time: "json:/created_at" },
    note: "The time is in milliseconds.",
  },
  sanity: {
    title: "Sanity",
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
    docs: "https://developer.paddle.com/webhooks/signature-verification",
    event: { id: "json:/event_id", type: "json:/event_type", time: "json:/occurred_at" },
    note: "Paddle's own tolerance is 5 s: keep the clock synchronised.",
  },
  slack: {
    title: "Slack",
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
    docs: "https://developers.zoom.us/docs/api/webhooks/#verify-webhook-events",
    event: { type: "json:/event", time: "json:/event_ts" },
    note: "The secret is the app's secret token, not the older verification token.",
    toleranceIsOurs: true,
  },
  grafana: {
    title: "Grafana Alerting",
    docs: "https://grafana.com/docs/grafana/latest/alerting/configure-notifications/manage-contact-points/integrations/webhook-notifier/",
    note: "Set timestamp_header if the contact point has one: the time is signed then.",
    toleranceIsOurs: true,
  },
  webflow: {
    title: "Webflow",
    docs: "https://developers.webflow.com/data/docs/working-with-webhooks",
    event: { type: "json:/triggerType" },
    note: "Webhooks created in the dashboard are not signed.",
  },
  zendesk: {
    title: "Zendesk",
    docs: "https://developer.zendesk.com/documentation/webhooks/verifying/",
    // https://developer.zendesk.com/documentation/webhooks/anatomy-of-a-webhook-request : triggers define the body, in which
    // an id may be the ticket's
    event: { id: "header:X-Zendesk-Webhook-Invocation-Id", type: "json:/type", time: "json:/time" },
    note: "The webhook's method must be POST and its format JSON.",
    toleranceIsOurs: true,
  },
  twitch: {
    title: "Twitch EventSub",
    docs: "https://dev.twitch.tv/docs/eventsub/handling-webhook-events/#verifying-the-event-message",
    event: {
      id: "header:Twitch-Eventsub-Message-Id",
      type: "json:/subscription/type",
      time: "header:Twitch-Eventsub-Message-Timestamp",
    },
  },
  box: {
    title: "Box",
    docs: "https://developer.box.com/guides/webhooks/v2/signatures-v2/",
    // https://developer.box.com/guides/webhooks/v2
    event: { id: "json:/id", type: "json:/trigger", time: "json:/created_at" },
    note: "Set the primary and the secondary key as secrets; either may match.",
  },
  klaviyo: {
    title: "Klaviyo",
    docs: "https://developers.klaviyo.com/en/docs/working_with_system_webhooks",
    event: {
      time: "json:/meta/timestamp",
      source: "json:/meta/klaviyo_account_id",
      headers: ["Klaviyo-Webhook-Id"],
    },
    note: "An event has a batch of Klaviyo's in its member data.",
    toleranceIsOurs: true,
  },
  "customer-io": {
    title: "Customer.io",
    docs: "https://docs.customer.io/integrations/api/webhooks",
    event: { id: "json:/event_id", type: "json:/metric", time: "json:/timestamp" },
    note: "Of reporting webhooks. Customer.io sends no further event while one fails, for up to 7 days.",
    toleranceIsOurs: true,
  },
  persona: {
    title: "Persona",
    docs: "https://docs.withpersona.com/docs/webhooks-best-practices",
    event: {
      id: "json:/data/id",
      type: "json:/data/attributes/name",
      time: "json:/data/attributes/created-at",
    },
    note: "While Persona rotates a secret, set the old and the new one.",
    toleranceIsOurs: true,
  },
  elevenlabs: {
    title: "ElevenLabs",
    docs: "https://elevenlabs.io/docs/eleven-api/resources/webhooks",
    event: { type: "json:/type", time: "json:/event_timestamp" },
  },
  revenuecat: {
    title: "RevenueCat",
    docs: "https://www.revenuecat.com/docs/integrations/webhooks",
    event: {
      id: "json:/event/id",
      type: "json:/event/type",
      time: "json:/event/event_timestamp_ms",
      source: "json:/event/app_id",
    },
    note: "Of webhooks with a signing secret. For the authorization header alone set provider = token and header = Authorization.",
    toleranceIsOurs: true,
  },
  recurly: {
    title: "Recurly",
    docs: "https://docs.recurly.com/recurly-subscriptions/docs/signature-verification",
    event: { type: "json:/event_type", time: "json:/event_time", source: "json:/site_id" },
    note: "JSON webhooks are signed, XML ones are not.",
  },
  front: {
    title: "Front",
    docs: "https://dev.frontapp.com/docs/application-webhooks",
    event: { type: "json:/type" },
    note: "Of application webhooks; rule webhooks sign by SHA-1, without a time.",
  },
  airwallex: {
    title: "Airwallex",
    docs: "https://www.airwallex.com/docs/developer-tools__listen-for-webhook-events",
    event: { id: "json:/id", type: "json:/name", time: "json:/created_at", source: "json:/account_id" },
    toleranceIsOurs: true,
  },
  revolut: {
    title: "Revolut",
    docs: "https://developer.revolut.com/docs/guides/manage-accounts/webhooks/verify-the-payload-signature",
    event: { type: "json:/event", time: "json:/timestamp" },
    note: "Revolut Business; webhooks of merchants have no timestamp in the body. While a secret rotates, Revolut signs with both.",
  },
  buildkite: {
    title: "Buildkite",
    docs: "https://buildkite.com/docs/apis/webhooks/pipelines#webhook-signature",
    event: { type: ["header:X-Buildkite-Event", "json:/event"] },
    note: "Choose the HMAC signature in the webhook's settings, in place of the token in plain text.",
    toleranceIsOurs: true,
  },
  tiktok: {
    title: "TikTok",
    docs: "https://developers.tiktok.com/doc/webhooks-verification",
    event: { type: "json:/event", time: "json:/create_time" },
    note: "The secret is the app's client secret.",
    toleranceIsOurs: true,
  },
  github: {
    title: "GitHub",
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
    docs: "https://support.atlassian.com/bitbucket-cloud/docs/manage-webhooks/#Secure-webhooks",
    // https://support.atlassian.com/bitbucket-cloud/docs/event-payloads/
    event: { id: "header:X-Request-UUID", type: "header:X-Event-Key" },
  },
  jira: {
    title: "Jira",
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
    docs: "https://developers.facebook.com/docs/graph-api/webhooks/getting-started#validate-payloads",
    event: { type: "json:/object" },
    note: "The secret is the app secret; the handshake needs verify_token, a text of your choice.",
  },
  "x-twitter": {
    title: "X (Twitter)",
    docs: "https://docs.x.com/x-api/webhooks/introduction#signature-headers",
    // X Activity API: https://github.com/xdevplatform/docs ; the Account Activity API has neither
    event: { id: "json:/data/event_uuid", type: "json:/data/event_type" },
    note: "The secret is the app's OAuth 2.0 client secret, or the consumer secret of older apps; with both, the client secret first.",
  },
  shopify: {
    title: "Shopify",
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
    docs: "https://developers.line.biz/en/docs/messaging-api/verify-webhook-signature/",
    note: "The secret is the channel secret.",
  },
  xero: {
    title: "Xero",
    docs: "https://developer.xero.com/documentation/guides/webhooks/configuring-your-server/",
    note: "The secret looks like base64 but is used as text; Xero tests the endpoint with wrong signatures.",
  },
  typeform: {
    title: "Typeform",
    docs: "https://www.typeform.com/developers/webhooks/secure-your-webhooks/",
    event: { id: "json:/event_id", type: "json:/event_type", time: "json:/form_response/submitted_at" },
  },
  woocommerce: {
    title: "WooCommerce",
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
    docs: "https://developers.docusign.com/platform/webhooks/connect/validate/",
    event: { type: "json:/event", time: "json:/generatedDateTime" },
    note: "The format must be JSON (SIM), not the legacy XML. DocuSign signs with each key of the account; any of the first 16 may match.",
  },
  "coinbase-commerce": {
    title: "Coinbase Commerce",
    docs: "https://github.com/coinbase/coinbase-commerce-node/blob/master/lib/Webhook.js",
    event: { id: "json:/event/id", type: "json:/event/type", time: "json:/event/created_at" },
    note: "Coinbase ended Commerce on March 31, 2026; for its successors use coinbase.",
  },
  coinbase: {
    title: "Coinbase (Business, CDP)",
    docs: "https://docs.cdp.coinbase.com/webhooks/verify-signatures",
    event: { id: "header:X-Event-Id", type: "header:X-Event-Type" },
    note: "The secret is that of the subscription's creation.",
  },
  razorpay: {
    title: "Razorpay",
    docs: "https://razorpay.com/docs/webhooks/validate-test/",
    event: { id: "header:X-Razorpay-Event-Id", type: "json:/event", time: "json:/created_at" },
    note: "The secret is the webhook's, not the API key's.",
  },
  onfido: {
    title: "Onfido (Entrust)",
    docs: "https://documentation.identity.entrust.com/api/manual-webhook-signature-verification/",
    event: { type: "json:/payload/action", time: "json:/payload/object/completed_at_iso8601" },
  },
  dropbox: {
    title: "Dropbox",
    docs: "https://www.dropbox.com/developers/reference/webhooks",
    note: "The secret is the app secret.",
  },
  asana: {
    title: "Asana",
    docs: "https://developers.asana.com/docs/webhooks-guide",
    note: "Asana sends the secret in its first request: set secret_file, or take it from its API's response. Each webhook has its own: raise secret_count before another is created.",
  },
  gocardless: {
    title: "GoCardless",
    docs: "https://developer.gocardless.com/api-reference/#webhooks-overview",
    // https://developer.gocardless.com/api-reference/#webhooks-retry-a-webhook
    event: { id: "json:/meta/webhook_id" },
  },
  mollie: {
    title: "Mollie (next-gen webhooks)",
    docs: "https://docs.mollie.com/reference/webhooks-best-practices",
    event: { id: "json:/id", type: "json:/type", time: "json:/createdAt" },
    note: "Classic webhooks (an id in a form) are not signed. While Mollie rotates a secret it signs with both.",
  },
  notion: {
    title: "Notion",
    docs: "https://developers.notion.com/reference/webhooks",
    event: { id: "json:/id", type: "json:/type", time: "json:/timestamp" },
    note: "The secret is the verification_token of the first request: set secret_file, then enter its content at Notion.",
  },
  linear: {
    title: "Linear",
    docs: "https://linear.app/developers/webhooks",
    event: { id: "header:Linear-Delivery", type: "json:/type", time: "json:/createdAt" },
  },
  sentry: {
    title: "Sentry",
    docs: "https://docs.sentry.io/integrations/integration-platform/webhooks/",
    // https://github.com/getsentry/sentry/blob/master/src/sentry/sentry_apps/api/serializers/app_platform_event.py : each
    // attempt has a new Request-ID
    event: { type: "header:Sentry-Hook-Resource", time: "header:Sentry-Hook-Timestamp" },
    note: "The secret is the integration's client secret.",
  },
  pagerduty: {
    title: "PagerDuty",
    docs: "https://developer.pagerduty.com/docs/verifying-webhook-signatures",
    event: { id: "json:/event/id", type: "json:/event/event_type", time: "json:/event/occurred_at" },
    note: "The secret looks like base64 but is used as text.",
  },
  circleci: {
    title: "CircleCI",
    docs: "https://circleci.com/docs/guides/integration/outbound-webhooks/",
    event: { id: "json:/id", type: "json:/type", time: "json:/happened_at" },
  },
  intercom: {
    title: "Intercom",
    docs: "https://developers.intercom.com/docs/webhooks/setting-up-webhooks",
    event: { id: "json:/id", type: "json:/topic", time: "json:/created_at" },
    note: "The secret is the app's client secret.",
  },
  vercel: {
    title: "Vercel",
    docs: "https://vercel.com/docs/webhooks/webhooks-api#securing-webhooks",
    event: { id: "json:/id", type: "json:/type", time: "json:/createdAt" },
    note: "The secret is the webhook's, or for an integration its client secret.",
  },
  "lemon-squeezy": {
    title: "Lemon Squeezy",
    docs: "https://docs.lemonsqueezy.com/help/webhooks/signing-requests",
    // https://docs.lemonsqueezy.com/help/webhooks/webhook-requests
    event: { type: ["header:X-Event-Name", "json:/meta/event_name"] },
  },
  quickbooks: {
    title: "QuickBooks Online (Intuit)",
    docs: "https://developer.intuit.com/app/developer/qbo/docs/develop/webhooks/managing-webhooks-notifications",
    event: { id: "json:/id", type: "json:/type", time: "json:/time", source: "json:/intuitaccountid" },
    note: "The secret is the webhook's verifier token. Lists of CloudEvents become an event each; the older objects have neither id nor type.",
    body: {
      format: "json",
      lists: "split",
      docs: "https://developer.intuit.com/app/developer/qbo/docs/develop/webhooks",
    },
  },
  "cal-com": {
    title: "Cal.com",
    docs: "https://cal.com/docs/core-features/webhooks",
    event: { type: "json:/triggerEvent", time: "json:/createdAt" },
    note: "Without a secret in its settings a webhook is not signed.",
  },
  clickup: {
    title: "ClickUp",
    docs: "https://developer.clickup.com/docs/webhooksignature",
    event: { type: "json:/event" },
    note: "Each webhook has a secret of its own, in the answer to the request that creates it.",
  },
  airtable: {
    title: "Airtable",
    docs: "https://airtable.com/developers/web/api/webhooks-overview",
    event: { time: "json:/timestamp", source: "json:/base/id" },
    note: "The secret is macSecretBase64 of the answer that creates the webhook. Events only say that payloads can be listed.",
  },
  paystack: {
    title: "Paystack",
    docs: "https://paystack.com/docs/payments/webhooks/",
    event: { type: "json:/event" },
    note: "The secret is the API's secret key, sk_live_ or sk_test_.",
  },
  "help-scout": {
    title: "Help Scout",
    docs: "https://developer.helpscout.com/webhooks/",
    event: { type: "header:X-HelpScout-Event" },
  },
  tally: {
    title: "Tally",
    docs: "https://tally.so/help/webhooks",
    event: { id: "json:/eventId", type: "json:/eventType", time: "json:/createdAt" },
    note: "Without a signing secret in its settings a webhook is not signed.",
  },
  "checkout-com": {
    title: "Checkout.com",
    docs: "https://www.checkout.com/docs/developer-resources/webhooks/manage-webhooks/set-up-your-webhook-receiver",
    event: { id: "json:/id", type: "json:/type", time: "json:/created_on" },
    note: "The secret is the signature key of the workflow's webhook action.",
  },
  pandadoc: {
    title: "PandaDoc",
    docs: "https://developers.pandadoc.com/docs/webhook-verification",
    // https://developers.pandadoc.com/docs/webhooks-overview/ : since 2026-07-20
    event: { id: "header:X-PandaDoc-Webhook-Event-Id", type: "json:/event" },
    note: "The secret is the subscription's shared key. The signature is in the URL's query: keep it if a proxy rewrites URLs.",
    body: {
      format: "json",
      lists: "split",
      docs: "https://developers.pandadoc.com/reference/on-document-status-change",
    },
  },
  heroku: {
    title: "Heroku",
    docs: "https://devcenter.heroku.com/articles/app-webhooks#securing-webhook-requests",
    event: { id: "json:/id", type: "json:/resource", time: "json:/created_at" },
    note: "Of webhooks with a secret, which Heroku shows once.",
  },
  "terraform-cloud": {
    title: "HCP Terraform",
    docs: "https://developer.hashicorp.com/terraform/cloud-docs/workspaces/settings/notifications#notification-authenticity",
    event: {
      type: "json:/notifications/0/trigger",
      time: "json:/notifications/0/run_updated_at",
      source: "json:/workspace_name",
    },
    note: "The secret is the notification's token; notifications without one are not signed. The verification request becomes an event.",
  },
  linkedin: {
    title: "LinkedIn",
    docs: "https://learn.microsoft.com/en-us/linkedin/shared/api-guide/webhook-validation",
    event: { type: "json:/type" },
    note: "The secret is the app's client secret, which signs the challenge, too.",
  },
  "ms-teams": {
    title: "Microsoft Teams (outgoing webhooks)",
    docs: "https://learn.microsoft.com/en-us/microsoftteams/platform/webhooks-and-connectors/how-to/add-outgoing-webhook",
    event: { id: "json:/id", type: "json:/type", time: "json:/timestamp", source: "json:/channelId" },
    note: 'The secret is the security token. Teams shows the answer in the channel: set response_body to {"type":"message","text":"…"} and response_content_type to application/json.',
  },
  gitea: {
    title: "Gitea",
    docs: "https://docs.gitea.com/usage/repository/webhooks",
    event: {
      id: "header:X-Gitea-Delivery",
      type: "header:X-Gitea-Event",
      source: "json:/repository/full_name",
    },
    note: "Its headers for GitHub's receivers are signed alike: provider = github works, too.",
  },
  forgejo: {
    title: "Forgejo",
    docs: "https://forgejo.org/docs/latest/user/webhooks/",
    event: {
      id: "header:X-Forgejo-Delivery",
      type: "header:X-Forgejo-Event",
      source: "json:/repository/full_name",
    },
    note: "Its headers for GitHub's and Gitea's receivers are signed alike: provider = github works, too.",
  },
  square: {
    title: "Square",
    docs: "https://developer.squareup.com/docs/webhooks/step3validate",
    event: { id: "json:/event_id", type: "json:/type", time: "json:/created_at" },
  },
  trello: {
    title: "Trello",
    docs: "https://developer.atlassian.com/cloud/trello/guides/rest-api/webhooks/#webhook-signatures",
    event: { id: "json:/action/id", type: "json:/action/type", time: "json:/action/date" },
    note: "The secret is the application's, not the API key.",
  },
  twilio: {
    title: "Twilio",
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
    docs: "https://www.contentful.com/developers/docs/extensibility/webhooks/request-verification/",
    // https://www.contentful.com/developers/changelog/idempotency-key-headers-for-webhook-requests/
    event: { id: "header:X-Contentful-Idempotency-Key", type: "header:X-Contentful-Topic" },
    note: "Proxies that change signed headers break the signature.",
    body: {
      format: "auto",
      docs: "https://contentful.com/developers/docs/webhooks/transformations",
    },
  },
  adyen: {
    title: "Adyen",
    docs: "https://docs.adyen.com/development-resources/webhooks/secure-webhooks/verify-hmac-signatures",
    event: {
      type: "json:/notificationItems/0/NotificationRequestItem/eventCode",
      time: "json:/notificationItems/0/NotificationRequestItem/eventDate",
    },
    note: "Of payment webhooks only eight fields are signed.",
  },
  mailgun: {
    title: "Mailgun",
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
    docs: "https://learn.microsoft.com/en-us/graph/change-notifications-delivery-webhooks",
    note: "Set clientState when creating the subscription: only it authenticates the sender. validationTokens of resource data are checked; audience (the application's id) makes them mandatory.",
  },
  discord: {
    title: "Discord",
    docs: "https://docs.discord.com/developers/interactions/overview#setting-up-an-endpoint",
    event: { type: "json:/event/type", time: "json:/event/timestamp" },
    note: "public_key is the application's, in hexadecimal. Discord tests the endpoint with wrong signatures. For webhook events: an interaction other than PING needs an answer of its own, and fails with the empty one that it gets here.",
    toleranceIsOurs: true,
  },
  sendgrid: {
    title: "SendGrid",
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
    docs: "https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html",
    event: { id: "json:/MessageId", type: "json:/Type", time: "json:/Timestamp" },
    note: "Amazon signs for all customers: topic_arn selects the accepted topic. MessageAttributes and raw delivery are not signed.",
  },
  paypal: {
    title: "PayPal",
    docs: "https://developer.paypal.com/api/rest/webhooks/rest/",
    event: { id: "json:/id", type: "json:/event_type", time: "json:/create_time" },
    note: "Only the body's CRC-32 is signed, which is forgeable: set verify_online (below). PayPal retries for 3 days. Events of the webhook simulator can't be verified.",
    toleranceIsOurs: true,
  },
  plaid: {
    title: "Plaid",
    docs: "https://plaid.com/docs/api/webhooks/webhook-verification/",
    event: { type: "json:/webhook_code" },
    note: "public_key is the JWK of /webhook_verification_key/get; set several while Plaid rotates them.",
  },
  fusionauth: {
    title: "FusionAuth",
    docs: "https://fusionauth.io/docs/extend/events-and-webhooks/signing",
    event: { id: "json:/event/id", type: "json:/event/type", time: "json:/event/createInstant" },
    note: "jwks_url is /.well-known/jwks.json of the FusionAuth instance; a secret is for HMAC keys.",
  },
  netlify: {
    title: "Netlify",
    docs: "https://docs.netlify.com/site-deploys/deploy-notifications/#payload-signature",
    event: { type: "header:X-Netlify-Event" },
    note: "The secret is the notification's JWS secret token.",
  },
  "gcp-pubsub": {
    title: "Google Pub/Sub push",
    docs: "https://cloud.google.com/pubsub/docs/authenticate-push-subscriptions",
    event: { id: "json:/message/messageId", time: "json:/message/publishTime" },
    note: "Anyone can get Google to sign for an audience: email selects the accepted service account.",
    toleranceIsOurs: true,
  },
  "azure-eventgrid": {
    title: "Azure Event Grid",
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
  gitlab: {
    title: "GitLab (secret token)",
    docs: "https://docs.gitlab.com/user/project/integrations/webhooks/",
    // https://gitlab.com/gitlab-org/gitlab/-/issues/388692
    event: { id: "header:Idempotency-Key", type: "json:/object_kind" },
  },
  telegram: {
    title: "Telegram",
    docs: "https://core.telegram.org/bots/api#setwebhook",
    event: { id: "json:/update_id" },
    note: "The secret is secret_token of setWebhook, not the bot's token.",
  },
  okta: {
    title: "Okta event hooks",
    docs: "https://developer.okta.com/docs/concepts/event-hooks/",
    // https://developer.okta.com/docs/concepts/event-hooks/#sample-event-delivery-payload
    event: { id: "json:/eventId", type: "json:/eventType", time: "json:/eventTime" },
    note: "The secret is the whole value of the header; set header if it is not Authorization.",
  },
  opsgenie: {
    title: "Opsgenie",
    docs: "https://docs.opsgenie.com/v1.0/docs/webhook-integration",
    event: { type: "json:/action" },
    note: "Opsgenie does not sign: the secret is the value of a custom header of the integration.",
  },
  alertmanager: {
    title: "Prometheus Alertmanager",
    docs: "https://prometheus.io/docs/alerting/latest/configuration/#http_config",
    note: "A secret for authorization (bearer), or username and password for basic_auth.",
  },
  postmark: {
    title: "Postmark",
    docs: "https://postmarkapp.com/developer/webhooks/webhooks-overview",
    event: { type: "json:/RecordType" },
    note: "Postmark does not sign: set a username and password in the URL, or a custom header.",
  },
  chargebee: {
    title: "Chargebee",
    docs: "https://github.com/chargebee/chargebee-node#readme",
    event: { id: "json:/id", type: "json:/event_type", time: "json:/occurred_at" },
    note: "Enable basic authentication in the webhook's settings.",
  },
  telnyx: {
    title: "Telnyx",
    docs: "https://developers.telnyx.com/docs/messaging/messages/receiving-webhooks",
    event: { id: "json:/data/id", type: "json:/data/event_type", time: "json:/data/occurred_at" },
    note: "public_key is the account's, in base64, on the portal's page of keys.",
  },
  wise: {
    title: "Wise",
    docs: "https://docs.wise.com/guides/developer/webhooks/event-handling",
    event: {
      id: "header:X-Delivery-Id",
      type: "json:/event_type",
      time: ["json:/sent_at", "json:/data/occurred_at"],
    },
    note: "public_key is Wise's, in PEM, which differs between production and sandbox.",
  },
  livekit: {
    title: "LiveKit",
    docs: "https://docs.livekit.io/home/server/webhooks/",
    event: { id: "json:/id", type: "json:/event", time: "json:/createdAt" },
    note: "The secret is the API's secret, issuer its key.",
  },
  monday: {
    title: "monday.com",
    docs: "https://developer.monday.com/apps/docs/integration-authorization",
    event: { type: "json:/event/type", time: "json:/event/triggerTime" },
    note: "Of webhooks that an app creates, whose signing secret it is; others have no token. The token covers neither body nor path: audience is the URL that the app names.",
    toleranceIsOurs: true,
  },
  mailchimp: {
    title: "Mailchimp (audiences)",
    docs: "https://mailchimp.com/developer/marketing/guides/sync-audience-data-webhooks/",
    event: { type: "json:/type", time: "json:/fired_at" },
    note: "Mailchimp does not sign: put a secret into the URL's query, whose name is query.",
    body: {
      format: "form",
      docs: "https://mailchimp.com/developer/marketing/guides/sync-audience-data-webhooks/",
    },
  },
  pipedrive: {
    title: "Pipedrive",
    docs: "https://pipedrive.readme.io/docs/guide-for-webhooks-v2",
    event: {
      id: "json:/meta/id",
      type: "json:/meta/action",
      time: "json:/meta/timestamp",
      source: "json:/meta/company_id",
    },
    note: "Pipedrive does not sign: set HTTP Auth username and password of the webhook.",
  },
  auth0: {
    title: "Auth0 log streams",
    docs: "https://auth0.com/docs/customize/log-streams/custom-log-streams",
    event: {
      id: "json:/log_id",
      type: "json:/data/type",
      time: "json:/data/date",
      source: "json:/data/tenant_name",
    },
    note: "The secret is the stream's authorization token, the whole value of the header. Choose JSON array as the content format: JSON lines are refused.",
    body: {
      format: "json",
      lists: "split",
      docs: "https://auth0.com/docs/customize/log-streams/custom-log-streams",
    },
  },
  figma: {
    title: "Figma",
    docs: "https://developers.figma.com/docs/rest-api/webhooks-security",
    event: { type: "json:/event_type", time: "json:/timestamp", source: "json:/file_key" },
    note: "The secret is the webhook's passcode, which each event has in its body: it is published with it.",
  },
}
