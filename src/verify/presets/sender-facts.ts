import { DAYS, HOURS, MEBIBYTES, MINUTES, SECONDS, type SenderFacts } from "./delivery-facts.ts"

/** Facts of one page of documentation. */
interface Documented extends SenderFacts {
  readonly source: string
}

const skills = (sender: string, page: "overview" | "setup"): string =>
  `https://github.com/hookdeck/webhook-skills/blob/main/skills/${sender}-webhooks/references/${page}.md`

const GITLAB: readonly Documented[] = [
  {
    source: "https://docs.gitlab.com/user/project/integrations/webhooks/",
    repeatsForMs: 0,
  },
  {
    source: "https://gitlab.com/gitlab-org/gitlab/-/merge_requests/166329",
    disables:
      "disables a webhook after 4 failures in a row, of any status, for 1 min to 24 h, and after 40 until it is enabled again",
  },
  {
    source: skills("gitlab", "overview"),
    waitsMs: 10 * SECONDS,
  },
  { source: "https://docs.gitlab.com/administration/instance_limits/", largestBytes: 25 * MEBIBYTES },
  {
    source: "https://docs.gitlab.com/api/project_webhooks/",
    lists: "`GET /projects/:id/hooks/:hook_id/events`, kept for 7 days",
    resends: "`POST /projects/:id/hooks/:hook_id/events/:hook_event_id/resend`",
  },
  {
    source: "https://docs.gitlab.com/user/gitlab_com/#ip-range",
    addresses: "of GitLab.com `34.74.90.64/28` and `34.74.226.0/24`",
  },
  {
    source: "https://ngrok.com/docs/integrations/webhooks/gitlab-webhooks",
    setup: "the project's Settings, Webhooks: the URL, the secret token and the events",
  },
]

/** Of senders that deliver by Svix. */
const BY_SVIX: Documented = {
  source: "https://docs.svix.com/retries",
  waitsMs: 15 * SECONDS,
  repeatsForMs: 27 * HOURS,
  repeats: "after 5 s, 5 and 30 min, 2, 5, 10 and 10 h",
  disables: "disables the endpoint after 5 days of failures",
}
const SVIX_ADDRESSES: Documented = {
  source: "https://docs.svix.com/receiving/source-ips",
  addresses: "https://docs.svix.com/webhook-ips.json",
}

/** By preset. A fact is only here if its page, or a word for word copy of it, was read. */
export const FACTS: { readonly [preset: string]: readonly Documented[] } = {
  "standard-webhooks": [
    {
      source:
        "https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md#operational-considerations",
      keepsId: true,
    },
  ],
  svix: [
    BY_SVIX,
    SVIX_ADDRESSES,
    {
      source: "https://docs.svix.com/receiving/using-app-portal/replaying-messages",
      resends: "the sender's portal: the endpoint, Options, Recover Failed Messages",
    },
    {
      source: "https://ngrok.com/docs/integrations/webhooks/svix-webhooks",
      setup: "the sender's portal, Add Endpoint: the URL and the events; the endpoint has its signing secret",
    },
  ],
  openai: [
    {
      source: skills("openai", "setup"),
      waitsMs: 20 * SECONDS,
      setup: "Settings, Webhooks, Add endpoint: the URL and the events; the signing secret is shown once",
    },
    {
      source: "https://platform.openai.com/docs/guides/webhooks",
      repeatsForMs: 3 * DAYS,
      repeats: "at growing intervals",
    },
  ],
  anthropic: [
    {
      source: "https://platform.claude.com/docs/en/managed-agents/webhooks",
      repeats: "at least once",
      disables: "disables the endpoint after about 20 failures",
      keepsId: true,
      keepsOrder: false,
    },
  ],
  clerk: [
    BY_SVIX,
    SVIX_ADDRESSES,
    {
      source: "https://clerk.com/docs/guides/development/webhooks/overview",
      resends: "the dashboard: Webhooks, the endpoint, Message Attempts, Replay",
    },
    {
      source: "https://ngrok.com/docs/integrations/webhooks/clerk-webhooks",
      setup:
        "the application's Webhooks, Add Endpoint: the URL and the events; the endpoint has its signing secret",
    },
  ],
  resend: [
    {
      source: "https://resend.com/docs/webhooks/retries-and-replays",
      repeatsForMs: 27 * HOURS,
      repeats: "after 5 s, 5 and 30 min, 2, 5, 10 and 10 h",
      disables: "disables an endpoint that keeps failing",
    },
    {
      source: "https://resend.com/docs/api-reference/webhooks/list-events",
      lists: "`GET /webhooks/{webhook_id}/events`",
    },
    {
      source: "https://resend.com/docs/api-reference/webhooks/replay-event",
      resends: "`POST /webhooks/{webhook_id}/events/{event_id}/replay`",
    },
    {
      source: skills("resend", "setup"),
      setup: "Webhooks, Add webhook: the URL and the events; the webhook has its signing secret",
    },
  ],
  "gitlab-signing-token": GITLAB,
  polar: [
    {
      source: "https://polar.sh/docs/integrate/webhooks/delivery",
      waitsMs: 10 * SECONDS,
      repeats: "up to 10 times, at growing intervals",
      disables: "disables the endpoint after 10 failures in a row",
      keepsOrder: true,
      resends: "the overview of an endpoint's deliveries",
      addresses: "`3.134.238.10`, `3.129.111.220`, `52.15.118.168`, `74.220.50.0/24` and `74.220.58.0/24`",
    },
    {
      source: "https://polar.sh/docs/integrate/webhooks/endpoints",
      setup: "the organization's settings, Add Endpoint: the URL, the format Raw, a secret and the events",
    },
  ],
  "dodo-payments": [
    {
      source: "https://docs.dodopayments.com/developer-resources/webhooks",
      waitsMs: 15 * SECONDS,
      repeatsForMs: 27 * HOURS,
      repeats: "up to 8 times, after 5 s to 10 h",
      keepsOrder: false,
      resends: "the dashboard: a message, or Recover for all that failed",
      setup: "Settings, Webhooks, Add Webhook: the URL and the events; the endpoint has its secret key",
    },
  ],
  gemini: [
    {
      source: "https://ai.google.dev/gemini-api/docs/webhooks",
      repeatsForMs: DAYS,
      repeats: "at growing intervals",
      keepsId: true,
      setup:
        "its API: `POST /v1/webhooks`, with the name, the URI and the events; the answer has the signing secret, once",
    },
  ],
  // "Webhooks are powered by Svix": https://developer.vanta.com/docs/webhooks
  vanta: [BY_SVIX, SVIX_ADDRESSES],
  // its headers are Svix's: https://stytch.com/docs/guides/webhooks
  stytch: [BY_SVIX, SVIX_ADDRESSES],
  stripe: [
    {
      source: "https://docs.stripe.com/webhooks/process-undelivered-events",
      repeatsForMs: 3 * DAYS,
      repeats: "at growing intervals",
      lists: "`GET /v1/events?delivery_success=false`, kept for 30 days",
    },
    {
      source: "https://dev.to/shannonllc/stripe-webhooks-retries-ordering-duplicates-timeouts-and-ips-46f0",
      keepsOrder: false,
    },
    {
      source: "https://stripe.com/docs/workbench/webhooks",
      setup:
        "Workbench, Webhooks, Register a new webhook endpoint: the URL and the event types; the secret is the endpoint's signing secret",
    },
  ],
  mux: [
    {
      source: "https://ngrok.com/docs/integrations/webhooks/mux-webhooks",
      setup: "Settings, Webhooks, Create new webhook: the environment and the URL",
    },
  ],
  calendly: [
    {
      source: "https://developer.calendly.com/api-docs/overview/webhooks/webhook-errors",
      repeatsForMs: DAYS,
      repeats: "at growing intervals",
      disables: "disables the webhook after 24 h of failures, and it has to be created anew",
    },
    {
      source: "https://developer.calendly.com/api-docs/overview/webhooks/webhook-timeouts",
      waitsMs: 15 * SECONDS,
    },
    {
      source: "https://ngrok.com/docs/integrations/webhooks/calendly-webhooks",
      setup: "its API, with a personal access token: the URL, the events and a signing key",
    },
  ],
  workos: [
    {
      source: "https://workos.com/docs/reference/events",
      lists: "`GET /events?events[]=&range_start=&range_end=`, kept for 30 days",
    },
    {
      source: "https://github.com/workos/skills/blob/main/skills/workos/workos-events.md",
      repeatsForMs: 3 * DAYS,
      repeats: "up to 6 times",
    },
  ],
  sanity: [
    {
      source: "https://www.sanity.io/docs/changelog/50ec6abf-fe0c-475b-ae72-314148860132.md",
      repeatsForMs: MINUTES,
      repeats: "twice, at intervals of 30 s",
      repeatsOn: "429 and 5xx",
    },
  ],
  paddle: [
    {
      source: "https://developer.paddle.com/api-reference/notifications/replay-notification",
      lists: "`GET /notifications?status=failed`, kept for 90 days",
      resends: "`POST /notifications/{id}/replay`",
    },
    {
      source: skills("paddle", "setup"),
      setup:
        "Developer tools, Notifications, New destination: the URL and the events; the destination has its secret key",
    },
    {
      source: "https://developer.paddle.com/webhooks/respond-to-webhooks",
      waitsMs: 5 * SECONDS,
      repeatsForMs: 3 * DAYS,
      repeats: "60 times, 20 of them in the first hour",
      keepsOrder: false,
    },
  ],
  slack: [
    {
      source: "https://dev.classmethod.jp/articles/slack-resend-matome/",
      waitsMs: 3 * SECONDS,
      repeatsForMs: 6 * MINUTES,
      repeats: "3 times: at once, after 1 and 5 min",
    },
    {
      source: "https://api.slack.com/events/app_rate_limited",
      disables: "may turn event subscriptions off when under 5 % of an hour's deliveries succeeded",
    },
    {
      source: "https://ngrok.com/docs/integrations/webhooks/slack-webhooks",
      setup: "the app's Event Subscriptions, Enable Events: the request URL and the events",
    },
  ],
  zoom: [
    {
      source: "https://developers.zoom.us/blog/webhook-delays",
      waitsMs: 3 * SECONDS,
      repeatsForMs: 85 * MINUTES,
      repeats: "3 times: after 5, 20 and 60 min",
    },
    {
      source: "https://ngrok.com/docs/integrations/webhooks/zoom-webhooks",
      setup:
        "the app's Feature, Event subscriptions: the notification endpoint URL and the events; the app has the secret token",
    },
  ],
  webflow: [
    {
      source: skills("webflow", "overview"),
      waitsMs: 30 * SECONDS,
      repeatsForMs: 30 * MINUTES,
      repeats: "3 times, at intervals of 10 min",
      largestBytes: 256 * 1024,
    },
  ],
  zendesk: [
    {
      source: "https://ngrok.com/docs/integrations/webhooks/zendesk-webhooks",
      setup:
        "Admin Center, Apps and integrations, Webhooks: the URL, the method POST and the format JSON, then a trigger or automation that notifies it",
    },
  ],
  twitch: [
    {
      source: "https://dev.twitch.tv/docs/eventsub/handling-webhook-events/",
      disables: "revokes the subscription when the answer is late too often",
    },
  ],
  box: [
    {
      source: "https://developer.box.com/guides/webhooks/v2/",
      waitsMs: 30 * SECONDS,
      repeatsForMs: 2 * HOURS,
      repeats: "up to 12 times",
      keepsId: true,
    },
    {
      source: "https://developer.box.com/guides/webhooks/v2/limitations-v2/",
      disables: "deletes a webhook whose last success was 30 days ago",
    },
    {
      source: "https://ngrok.com/docs/integrations/webhooks/box-webhooks",
      setup:
        "the app in the developer console, Webhooks, Create Webhook, V2: the URL, the folder and the triggers",
    },
  ],
  "customer-io": [
    {
      source: "https://docs.customer.io/integrations/api/webhooks",
      repeatsForMs: 7 * DAYS,
      repeats: "and sends no further event meanwhile",
    },
  ],
  elevenlabs: [
    {
      source: "https://elevenlabs.io/docs/eleven-api/resources/webhooks",
      repeatsForMs: 0,
      repeatsMore: "with retries enabled for the webhook there",
      disables: "disables the webhook after 10 failures in a row, if none succeeded for 7 days",
      setup: "the general settings, Webhooks: the URL; the product's settings select it",
    },
  ],
  revenuecat: [
    {
      source: "https://www.revenuecat.com/docs/integrations/webhooks",
      waitsMs: MINUTES,
      repeatsForMs: 155 * MINUTES,
      repeats: "5 times, after 5, 10, 20, 40 and 80 min",
      keepsId: true,
      resends: "the webhook's page: the event, Retry",
      setup: "the project's Integrations, Webhooks, Add new configuration: the URL and the events",
    },
  ],
  recurly: [
    {
      source: "https://docs.recurly.com/recurly-subscriptions/docs/automatic-retries",
      repeatsForMs: 3 * DAYS,
      repeats: "10 times, at growing intervals",
    },
    {
      source: "https://docs.recurly.com/recurly-subscriptions/docs/overview-webhooks",
      waitsMs: 5 * SECONDS,
    },
  ],
  airwallex: [
    {
      source: "https://www.airwallex.com/docs/developer-tools/webhooks/webhooks-overview",
      repeatsForMs: 3 * DAYS,
      repeats: "at growing intervals",
      takesOnly: 200,
      keepsId: true,
      resends: "the web app's list of webhook events",
    },
  ],
  buildkite: [
    {
      source: "https://buildkite.com/docs/apis/webhooks/pipelines",
      setup:
        "Settings, Notification Services, Webhook: the URL, the token as a signature, the events and pipelines",
    },
  ],
  tiktok: [
    {
      source: "https://ngrok.com/docs/integrations/webhooks/tiktok-webhooks",
      setup: "the app, Add products, Webhooks: the callback URL",
    },
  ],
  github: [
    {
      source: "https://docs.github.com/en/webhooks/using-webhooks/handling-failed-webhook-deliveries",
      waitsMs: 10 * SECONDS,
      repeatsForMs: 0,
      lists: "`GET /repos/{owner}/{repo}/hooks/{hook_id}/deliveries`, kept for 3 days",
      resends: "`POST /repos/{owner}/{repo}/hooks/{hook_id}/deliveries/{delivery_id}/attempts`",
    },
    {
      source: "https://docs.github.com/en/webhooks/webhook-events-and-payloads#payload-cap",
      largestBytes: 25 * MEBIBYTES,
    },
    {
      source: "https://github.com/octokit/openapi-types.ts",
      keepsId: true,
    },
    { source: "https://docs.github.com/en/rest/meta/meta", addresses: "https://api.github.com/meta" },
    {
      source: "https://ngrok.com/docs/integrations/webhooks/github-webhooks",
      setup:
        "the repository's or organization's Settings, Webhooks, Add webhook: the payload URL, the content type `application/json`, the secret and the events",
    },
  ],
  bitbucket: [
    { source: "https://jira.atlassian.com/browse/BCLOUD-22312", largestBytes: 256 * 1024 },
    {
      source: "https://ngrok.com/docs/integrations/webhooks/bitbucket-webhooks",
      setup: "the repository's settings, Webhooks, Add webhook: the URL, the secret and the triggers",
    },
  ],
  jira: [
    {
      source: "https://community.developer.atlassian.com/t/new-jira-cloud-webhook-retry-policy/30554",
      repeatsForMs: 30 * MINUTES,
      repeatsOn: "408, 409, 425, 429 and 5xx",
    },
    {
      source: "https://developer.atlassian.com/cloud/jira/platform/webhooks/#retry-policy",
      repeats: "up to 5 times",
    },
    {
      source: "https://ngrok.com/docs/integrations/webhooks/jira-webhooks",
      setup: "Settings, System, WebHooks, Create a WebHook: the URL, the secret and the events",
    },
  ],
  meta: [
    {
      source: "https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/overview",
      largestBytes: 3_000_000,
    },
    {
      source: "https://developers.facebook.com/docs/graph-api/webhooks/getting-started",
      repeatsForMs: 36 * HOURS,
      repeats: "at growing intervals",
      takesOnly: 200,
    },
    {
      source: "https://developers.facebook.com/docs/messenger-platform/webhooks",
      waitsMs: 5 * SECONDS,
      disables: "unsubscribes the app from messages of Messenger and Instagram after 1 h of failures",
      disablesAfterMs: HOURS,
    },
    {
      source: "https://ngrok.com/docs/integrations/webhooks/facebook-webhooks",
      setup:
        "the app, Webhooks, Subscribe to this object: the callback URL and the verify token, then the fields",
    },
  ],
  "x-twitter": [
    {
      source: "https://docs.x.com/x-api/webhooks/introduction",
      waitsMs: 10 * SECONDS,
      resends: "`POST /2/webhooks/replay`, of the last 24 h",
      setup: "its API: `POST /2/webhooks`, with the URL, which answers the challenge at once",
    },
  ],
  shopify: [
    {
      source: "https://shopify.dev/changelog/updates-to-webhook-retry-mechanism",
      repeatsForMs: 4 * HOURS,
      repeats: "8 times",
    },
    {
      source: "https://dev.to/shannonllc/shopify-webhooks-hmac-verification-5-second-timeout-retries-jkj",
      waitsMs: 5 * SECONDS,
      disables: "deletes a subscription that was made by the Admin API after 8 failures in a row",
    },
    {
      source: "https://ngrok.com/docs/integrations/webhooks/shopify-webhooks",
      setup: "Settings, Notifications, Webhooks, Create webhook: the event, the format JSON and the URL",
    },
  ],
  xero: [
    {
      source: "https://ngrok.com/docs/integrations/webhooks/xero-webhooks",
      setup: "the app, Webhooks: the events and the delivery URL, then Send 'Intent to Receive'",
    },
  ],
  typeform: [
    {
      source: "https://ngrok.com/docs/integrations/webhooks/typeform-webhooks",
      setup: "the form's Connect, Webhooks, Add a webhook: the URL; then Edit, the secret",
    },
  ],
  woocommerce: [
    {
      source:
        "https://github.com/woocommerce/woocommerce/blob/trunk/plugins/woocommerce/includes/class-wc-webhook.php",
      waitsMs: MINUTES,
      repeatsForMs: 0,
      disables: "disables the webhook after more than 5 failures in a row",
    },
    {
      source: skills("woocommerce", "setup"),
      setup:
        "WooCommerce, Settings, Advanced, Webhooks, Add webhook: the topic, the delivery URL and the secret",
    },
  ],
  docusign: [
    {
      source: "https://ngrok.com/docs/integrations/webhooks/docusign-webhooks",
      setup: "Settings, Connect, Add Configuration, Custom: the URL to publish and the trigger events",
    },
  ],
  "coinbase-commerce": [
    { source: "https://github.com/coinbase/coinbase-commerce-node#readme", repeatsForMs: 3 * DAYS },
  ],
  razorpay: [
    {
      source: "https://github.com/razorpay/markdown-docs/blob/master/webhooks/best-practices.md",
      waitsMs: 5 * SECONDS,
      repeatsForMs: DAYS,
      repeats: "at growing intervals",
      disables: "disables the webhook after 24 h of failures",
      keepsOrder: false,
    },
    {
      source: "https://github.com/razorpay/markdown-docs/blob/master/webhooks/faqs.md",
      resends: "its support, of an event of the last 15 days",
    },
    {
      source: "https://github.com/razorpay/markdown-docs/blob/master/webhooks/setup-edit-payments.md",
      setup:
        "Accounts & Settings, Webhooks, Add New Webhook: the URL, a secret, the alert email and the events",
    },
    {
      source: "https://github.com/razorpay/markdown-docs/blob/master/webhooks.md",
      addresses: "https://github.com/razorpay/markdown-docs/blob/master/security/whitelists.md#webhook-ips",
    },
  ],
  onfido: [
    {
      source: "https://github.com/onfido/onfido-openapi-spec/blob/master/paths/webhooks.yaml",
      waitsMs: 10 * SECONDS,
      resends: "`POST /webhooks/resend`",
      setup: "its API: `POST /webhooks`, with the URL",
    },
  ],
  dropbox: [
    {
      source: "https://ngrok.com/docs/integrations/webhooks/dropbox-webhooks",
      setup: "the app's page, Webhooks: the webhook URI",
    },
  ],
  asana: [
    {
      source:
        "https://github.com/Asana/developer-docs/blob/master/source/includes/markdown/_webhooks.html.md",
      waitsMs: 10 * SECONDS,
      repeatsForMs: DAYS,
      repeats: "at growing intervals",
      disables:
        "deletes the webhook after 24 h without success, the heartbeats that it sends every 8 h included",
      secretEach: true,
      setup: "its API: `POST /webhooks`, with the resource and the URL; the secret is in its first request",
    },
  ],
  gocardless: [
    {
      source: "https://github.com/gocardless/gocardless-nodejs",
      lists: "`GET /webhooks?successful=false`",
      resends: "`POST /webhooks/{id}/actions/retry`",
    },
  ],
  notion: [
    {
      source: "https://developers.notion.com/reference/webhooks-events-delivery",
      repeatsForMs: DAYS,
      repeats: "up to 8 times",
    },
  ],
  linear: [
    {
      source: "https://ngrok.com/docs/integrations/webhooks/linear-webhooks",
      setup: "Settings, API, Create Webhook: the URL and the events; the webhook has its signing secret",
    },
    {
      source: "https://linear.app/developers/webhooks",
      waitsMs: 5 * SECONDS,
      repeatsForMs: 6 * HOURS,
      repeats: "3 times, after 1 min, 1 h and 6 h",
      disables: "may disable the webhook then",
    },
  ],
  sentry: [
    {
      source: "https://sentry.io/changelog/2023-10-3-change-to-integration-platform-webhook-handling",
      waitsMs: SECONDS,
      disables: "ends the subscription after 1000 timeouts in 24 h",
    },
    {
      source: "https://ngrok.com/docs/integrations/webhooks/sentry-webhooks",
      setup:
        "Settings, Developer Settings, Create new integration: the webhook URL, the permissions and the webhooks; the integration has the client secret",
    },
  ],
  pagerduty: [
    {
      source: "https://github.com/PagerDuty/developer-docs/blob/main/docs/webhooks/02-Behavior.md",
      waitsMs: 5 * SECONDS,
      repeatsForMs: 2 * DAYS,
      repeatsOn: "429 and 5xx",
      disables: "disables the subscription for 24 h after 3 lost events in a row",
      keepsId: true,
      keepsOrder: "of a resource's events that have up to 55 KB",
      largestBytes: 256 * 1024,
    },
    {
      source: "https://ngrok.com/docs/integrations/webhooks/pagerduty-webhooks",
      setup:
        "Integrations, Generic Webhooks, New Webhook: the URL, the scope and the events; the secret is shown once",
    },
  ],
  circleci: [
    {
      source: "https://circleci.com/docs/guides/integration/outbound-webhooks/",
      waitsMs: 10 * SECONDS,
      repeats: "at a later time",
      keepsId: true,
      setup: "Project Settings, Webhooks, Add Webhook: the URL, a secret token and the events",
    },
  ],
  intercom: [
    {
      source: "https://developers.intercom.com/docs/webhooks/webhook-notifications",
      disables:
        "pauses a topic for 15 min after 1000 errors in a row within 15 min, and suspends a private app's subscription after 7 days of errors",
    },
    {
      source: "https://ngrok.com/docs/integrations/webhooks/intercom-webhooks",
      setup: "the Developer Hub, the app, Webhooks: the endpoint URL and the topics",
    },
  ],
  vercel: [
    {
      source: skills("vercel", "overview"),
      waitsMs: 30 * SECONDS,
      repeatsForMs: DAYS,
      repeats: "at growing intervals",
    },
    {
      source: skills("vercel", "setup"),
      setup:
        "the team's settings, Webhooks, Create Webhook: the URL, the events and the projects; the secret is shown once",
    },
  ],
  "lemon-squeezy": [
    {
      source: "https://docs.lemonsqueezy.com/help/webhooks/webhook-requests",
      repeatsForMs: 155 * SECONDS,
      repeats: "3 times, after 5, 25 and 125 s",
    },
  ],
  "cal-com": [
    {
      source: "https://github.com/calcom/docs/blob/main/pages/core-features/webhooks.mdoc",
      setup: "Settings, Developer, Webhooks: the subscriber URL, the event triggers and a secret",
    },
  ],
  pandadoc: [
    {
      source: "https://developers.pandadoc.com/docs/webhook-setup",
      waitsMs: 20 * SECONDS,
      takesOnly: 200,
    },
    { source: "https://developers.pandadoc.com/docs/webhooks-overview/", keepsId: true },
  ],
  clickup: [
    {
      source: "https://developer.clickup.com/docs/webhookhealth",
      waitsMs: 7 * SECONDS,
      repeats: "up to 5 times",
      disables: "suspends the webhook at the first 410, and after 100 lost events",
      secretEach: true,
    },
  ],
  airtable: [
    {
      source: "https://airtable.com/developers/web/api/webhooks-overview",
      lists: "its API's list of a webhook's payloads",
      setup: "its API: a webhook of a base, which ends after 7 days unless it is refreshed",
    },
  ],
  paystack: [
    {
      source: "https://paystack.com/docs/payments/webhooks/",
      repeatsForMs: 3 * DAYS,
      repeats: "4 times every 3 min, then hourly",
    },
  ],
  heroku: [
    {
      source: "https://devcenter.heroku.com/changelog-items/1966",
      repeatsForMs: 3 * DAYS,
      lists: "the API's `webhook-deliveries`, the last 300 of 7 days",
    },
    {
      source: "https://ngrok.com/docs/integrations/webhooks/heroku-webhooks",
      setup: "the app, More, View Webhooks, Create Webhook: the payload URL, the secret and the event types",
    },
  ],
  "terraform-cloud": [
    {
      source: "https://ngrok.com/docs/integrations/webhooks/terraform-webhooks",
      setup:
        "the workspace's Settings, Notifications, Create Notification, Webhook: the URL, a token and the triggers",
    },
  ],
  "ms-teams": [
    {
      source: "https://ngrok.com/docs/integrations/webhooks/teams-webhooks",
      setup:
        "the team's Manage apps, Create an outgoing webhook: the name and the callback URL; the security token is shown once",
    },
  ],
  square: [
    {
      source: "https://github.com/square/square-nodejs-sdk",
      lists: "`POST /v2/events`, kept for 28 days",
    },
    {
      source: "https://developer.squareup.com/docs/webhooks/troubleshooting",
      repeatsForMs: DAYS,
    },
    {
      source: "https://ngrok.com/docs/integrations/webhooks/square-webhooks",
      setup:
        "the application's Webhooks, Subscriptions, Add subscription: the URL and the events; the subscription has its signature key",
    },
  ],
  trello: [
    {
      source: "https://developer.atlassian.com/cloud/trello/guides/rest-api/webhooks",
      setup: "its API, with a token: the model and the callback URL, which is asked by HEAD",
    },
  ],
  twilio: [
    {
      source: "https://www.twilio.com/docs/api/errors/11205",
      waitsMs: 15 * SECONDS,
      repeatsForMs: 0,
      resends: "Twilio itself, to the fallback URL, where there is one",
    },
    {
      source: "https://www.twilio.com/docs/usage/webhooks/webhooks-connection-overrides",
      repeatsMore: "with #rc=5&rp=all at the end of the URL there, up to 5 times",
    },
    {
      source: "https://ngrok.com/docs/integrations/webhooks/twilio-webhooks",
      setup: "Phone Numbers, Manage, Active Numbers, the number: under Messaging the URL and HTTP POST",
    },
  ],
  hubspot: [
    {
      source: "https://developers.hubspot.com/docs/api-reference/latest/error-handling",
      waitsMs: 5 * SECONDS,
      repeatsForMs: DAYS,
      repeats: "up to 10 times",
    },
  ],
  contentful: [
    {
      source: "https://ngrok.com/docs/integrations/webhooks/contentful-webhooks",
      setup: "Settings, Webhooks, Add Webhook: the URL, the triggers and the content type `application/json`",
    },
  ],
  adyen: [
    {
      source: "https://docs.adyen.com/development-resources/webhooks/troubleshoot",
      waitsMs: 10 * SECONDS,
      repeatsForMs: 30 * DAYS,
      repeats: "after 9, 18 and 27 s, then 2 min to 8 h",
      keepsOrder: false,
      resends: "the Customer Area: Retry",
    },
  ],
  mailgun: [
    {
      source: "https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/webhook-retries",
      repeatsForMs: 8 * HOURS,
      repeats: "after 5, 10 and 15 min, 1, 2 and 4 h, but not that a message was delivered",
      repeatsOn: "all but 406",
      takesOnly: 200,
    },
    {
      source: "https://ngrok.com/docs/integrations/webhooks/mailgun-webhooks",
      setup: "Sending, Webhooks, Add webhook: the event type and the URL",
    },
  ],
  "ms-graph": [
    {
      source: "https://learn.microsoft.com/en-us/graph/change-notifications-delivery-webhooks",
      waitsMs: 3 * SECONDS,
      repeatsForMs: 4 * HOURS,
      disables:
        "delays notifications by 10 min when over 10 % of the answers take over 3 s, and drops them when over 15 % take over 10 s",
    },
  ],
  discord: [
    {
      source: "https://docs.discord.com/developers/events/webhook-events",
      waitsMs: 3 * SECONDS,
      repeatsForMs: 10 * MINUTES,
      repeats: "at growing intervals",
      keepsOrder: false,
      setup:
        "the app, Webhooks: the endpoint and the events; the app's general information has the public key",
    },
  ],
  sendgrid: [
    {
      source:
        "https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook",
      repeatsForMs: DAYS,
      repeats: "at growing intervals",
      largestBytes: 768 * 1024,
      setup:
        "Settings, Mail Settings, Event Webhook: the POST URL and the events; its security features have the key",
    },
  ],
  "aws-sns": [
    {
      source: "https://ngrok.com/docs/integrations/webhooks/amazon-sns-webhooks",
      setup: "SNS, Subscriptions, Create subscription: the topic, the protocol HTTPS and the endpoint",
    },
    {
      source: "https://docs.aws.amazon.com/sns/latest/dg/SendMessageToHttp.retry.html",
      repeatsForMs: MINUTES,
      repeats: "3 times, at intervals of 20 s",
    },
    {
      source: "https://docs.aws.amazon.com/sns/latest/dg/sns-message-delivery-retries.html",
      repeatsMore: "with a delivery policy of the subscription, for 1 h at most",
    },
  ],
  paypal: [
    {
      source:
        "https://github.com/paypal/paypal-rest-api-specifications/blob/main/openapi/notifications_webhooks_v1.json",
      lists: "`GET /v1/notifications/webhooks-events?start_time=&end_time=`",
      resends: "`POST /v1/notifications/webhooks-events/{event_id}/resend`",
    },
    {
      source: "https://developer.paypal.com/api/rest/webhooks/",
      repeatsForMs: 3 * DAYS,
      repeats: "up to 25 times",
    },
  ],
  plaid: [
    {
      source: "https://plaid.com/docs/api/webhooks/",
      waitsMs: 10 * SECONDS,
      repeatsForMs: DAYS,
      repeats: "after 30 s, then 4 times as long each time",
    },
  ],
  fusionauth: [
    {
      source: "https://fusionauth.io/docs/apis/webhook-event-logs",
      lists: "`POST /api/system/webhook-event-log/search`",
    },
    {
      source: skills("fusionauth", "setup"),
      setup:
        "Settings, Key Master: an HMAC key; then Tenants, the tenant, Webhooks: the URL, the events and the key",
    },
  ],
  "gcp-pubsub": [
    {
      source: "https://pub.dev/documentation/pulumi_gcp/latest/pubsub/Subscription/ackDeadlineSeconds.html",
      waitsMs: 10 * SECONDS,
      setup:
        "a subscription of the type push: the endpoint, its authentication with a service account and an audience, and the acknowledgement deadline",
    },
  ],
  "azure-eventgrid": [
    {
      source: "https://learn.microsoft.com/en-us/azure/event-grid/delivery-and-retry",
      waitsMs: 30 * SECONDS,
      repeatsForMs: DAYS,
      repeats: "after 10 and 30 s, 1, 5, 10 and 30 min, then hourly",
    },
  ],
  gitlab: GITLAB,
  telegram: [
    {
      source: "https://core.telegram.org/bots/api#setwebhook",
      repeats: "a reasonable number of times",
      setup: "its API: `setWebhook`, with `url` and `secret_token`",
    },
  ],
  okta: [
    {
      source: "https://developer.okta.com/docs/concepts/event-hooks/",
      waitsMs: 3 * SECONDS,
      repeats: "at most once",
      repeatsOn: "5xx",
      keepsId: true,
      keepsOrder: false,
    },
    {
      source: "https://ngrok.com/docs/integrations/webhooks/okta-webhooks",
      setup: "Workflow, Event Hooks, Create Event Hook: the URL, the secret and the events, then Verify",
    },
  ],
  opsgenie: [{ source: "https://docs.opsgenie.com/docs/marid-alert-action-data", replaced: ["source"] }],
  alertmanager: [
    {
      source: "https://github.com/prometheus/alertmanager/blob/main/notify/util.go",
      repeatsOn: "5xx",
    },
    {
      source: "https://prometheus.io/docs/alerting/latest/configuration/#webhook_config",
      setup: "a receiver with `webhook_configs`: the `url`, and in `http_config` the authorization",
    },
  ],
  postmark: [
    {
      source: "https://postmarkapp.com/support/article/understanding-inbound-webhook-retries-in-postmark",
      repeatsForMs: 10 * HOURS,
      repeats: "10 times, of inbound messages",
      repeatsOn: "all but 403",
      takesOnly: 200,
      resends: "the server's page of inbound messages",
    },
    {
      source: skills("postmark", "setup"),
      setup: "the server's Webhooks, Add webhook: the URL, with user name and password, and the events",
    },
  ],
  chargebee: [
    {
      source: skills("chargebee", "overview"),
      waitsMs: 20 * SECONDS,
      repeatsForMs: 2 * DAYS,
      repeats: "up to 7 times",
    },
    {
      source: "https://github.com/chargebee/chargebee-node",
      lists: "`GET /api/v2/events?webhook_status[is]=failed`",
      replaced: ["source"],
    },
    {
      source: skills("chargebee", "setup"),
      setup: "Settings, Webhooks, Add Webhook: the URL, and basic authentication with user name and password",
    },
  ],
  monday: [
    {
      source:
        "https://developer.monday.com/apps/changelog/clarification-on-retry-policies-for-webhooks-and-custom-actions",
      repeatsForMs: 30 * MINUTES,
      repeats: "every minute",
      takesOnly: 200,
    },
    {
      source: "https://developer.monday.com/apps/changelog/webhook-integration-new-3-minute-timeout-policy",
      waitsMs: 3 * MINUTES,
    },
  ],
  mailchimp: [
    {
      source: "https://ngrok.com/docs/integrations/webhooks/mailchimp-webhooks",
      setup:
        "the audience's Settings, Webhooks, Create New Webhook: the callback URL with the secret in its query",
    },
  ],
  gitea: [
    {
      source: "https://github.com/go-gitea/gitea/blob/main/custom/conf/app.example.ini",
      waitsMs: 5 * SECONDS,
    },
  ],
  figma: [
    {
      source: "https://github.com/figma/rest-api-spec/blob/main/openapi/openapi.yaml",
      repeats: "3 times, at growing intervals",
      lists: "`GET /v2/webhooks/{webhook_id}/requests`, of the last 7 days",
      setup: "its API: `POST /v2/webhooks`, with the event type, the endpoint and a passcode",
    },
  ],
}

/** What is known of the deliveries of a provider, by its name; of a custom one nothing. */
export function factsOf(name: string): SenderFacts {
  const rows = Object.hasOwn(FACTS, name) ? FACTS[name]! : []
  const { source: _, ...facts } = Object.assign({ source: "" }, ...rows) as Documented
  return facts
}
