/** What a sender's documentation says of its deliveries. What is absent is not documented, or could not be confirmed. */
export interface SenderFacts {
  /** How long it waits for an answer, in milliseconds. */
  readonly waitsMs?: number
  /** When it makes the last attempt, in milliseconds after the first; 0: it never sends again by itself. */
  readonly repeatsForMs?: number
  /** The attempts in a few words: `3 times: at once, after 1 and 5 min`. */
  readonly repeats?: string
  /** The failures that it repeats, where these are not all: `429 and 5xx`. */
  readonly repeatsOn?: string
  /** The largest body that it sends, in bytes. */
  readonly largestBytes?: number
  /** What it does to an endpoint that fails, continuing its name: `deletes the subscription after 8 failures in a row`. */
  readonly disables?: string
  /** Whether a repeated delivery has the id of the first. */
  readonly keepsId?: boolean
  readonly keepsOrder?: boolean
  /** Whether each webhook has a secret of its own that the sender chooses, so that one endpoint may need several. */
  readonly secretEach?: true
  /** Members of its events that the Enricher replaces: their values are kept in record headers. */
  readonly replaced?: readonly ("received_at" | "source")[]
  /** Where it publishes the addresses that it sends from. */
  readonly addresses?: string
  /** The request that lists its deliveries or events, and how long they are kept. */
  readonly lists?: string
  /** The request, or the place, by which it sends a delivery again. */
  readonly resends?: string
  /** Where an endpoint is set up there, and what is pasted from where. */
  readonly setup?: string
}

/** Facts of one page of documentation. */
interface Documented extends SenderFacts {
  readonly source: string
}

const SECONDS = 1000
const MINUTES = 60 * SECONDS
const HOURS = 60 * MINUTES
const DAYS = 24 * HOURS
const MEBIBYTES = 1024 * 1024

const GITLAB: readonly Documented[] = [
  {
    source: "https://gitlab.com/gitlab-com/gl-infra/delivery/-/issues/19320",
    disables:
      "disables a webhook after 4 failures in a row: of 5xx for 1 min to 24 h, of 4xx until it is enabled again",
  },
  { source: "https://gitlab.com/gitlab-org/gitlab/-/merge_requests/38687", largestBytes: 25 * MEBIBYTES },
  {
    source: "https://docs.gitlab.com/api/project_webhooks/",
    lists: "`GET /projects/:id/hooks/:hook_id/events`, kept for 7 days",
    resends: "`POST /projects/:id/hooks/:hook_id/events/:hook_event_id/resend`",
  },
]

/** By preset. A fact is only here if its page was read. */
export const FACTS: { readonly [preset: string]: readonly Documented[] } = {
  resend: [
    {
      source: "https://resend.com/docs/webhooks/introduction",
      repeatsForMs: 27 * HOURS,
      repeats: "after 5 s, 5 and 30 min, 2, 5, 10 and 10 h",
      resends: "the dashboard: Webhooks, the event, Replay",
    },
  ],
  "gitlab-signing-token": GITLAB,
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
  workos: [
    {
      source: "https://github.com/workos/workos-node/blob/main/src/events/events.ts",
      lists: "`GET /events?events[]=&range_start=&range_end=`",
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
      source: "https://github.com/PaddleHQ/paddle-node-sdk/tree/main/src/resources/notifications",
      lists: "`GET /notifications?status=failed`",
      resends: "`POST /notifications/{id}/replay`",
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
  ],
  zoom: [
    {
      source: "https://developers.zoom.us/blog/webhook-delays",
      waitsMs: 3 * SECONDS,
      repeatsForMs: 85 * MINUTES,
      repeats: "3 times: after 5, 20 and 60 min",
    },
  ],
  webflow: [
    {
      source:
        "https://github.com/hookdeck/webhook-skills/blob/main/skills/webflow-webhooks/references/overview.md",
      waitsMs: 30 * SECONDS,
      repeatsForMs: 30 * MINUTES,
      repeats: "3 times, at intervals of 10 min",
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
  ],
  bitbucket: [{ source: "https://jira.atlassian.com/browse/BCLOUD-22312", largestBytes: 256 * 1024 }],
  jira: [
    {
      source: "https://developer.atlassian.com/cloud/jira/platform/webhooks/",
      waitsMs: 20 * SECONDS,
      repeats: "up to 5 times",
      repeatsOn: "408, 409, 425, 429 and 5xx",
    },
  ],
  meta: [
    {
      source: "https://docs.360dialog.com/partner/messaging-and-calling/webhooks",
      repeatsForMs: 7 * DAYS,
    },
  ],
  "x-twitter": [
    {
      source: "https://docs.x.com/x-api/webhooks/introduction",
      waitsMs: 10 * SECONDS,
      resends: "`POST /2/webhooks/replay`, of the last 24 h",
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
  ],
  woocommerce: [
    {
      source:
        "https://github.com/woocommerce/woocommerce/blob/trunk/plugins/woocommerce/includes/class-wc-webhook.php",
      waitsMs: MINUTES,
      repeatsForMs: 0,
      disables: "disables the webhook after more than 5 failures in a row",
    },
  ],
  "coinbase-commerce": [
    { source: "https://github.com/coinbase/coinbase-commerce-node#readme", repeatsForMs: 3 * DAYS },
  ],
  gocardless: [
    {
      source: "https://github.com/gocardless/gocardless-nodejs",
      lists: "`GET /webhooks?successful=false`",
      resends: "`POST /webhooks/{id}/actions/retry`",
    },
  ],
  linear: [
    {
      source: "https://github.com/linear/linear/blob/master/packages/sdk/src/webhooks/client.ts",
      largestBytes: 5 * MEBIBYTES,
    },
  ],
  sentry: [
    {
      source: "https://sentry.io/changelog/2023-10-3-change-to-integration-platform-webhook-handling",
      waitsMs: SECONDS,
      disables: "ends the subscription after 1000 timeouts in 24 h",
    },
  ],
  vercel: [
    {
      source:
        "https://github.com/hookdeck/webhook-skills/blob/main/skills/vercel-webhooks/references/overview.md",
      waitsMs: 30 * SECONDS,
      repeatsForMs: DAYS,
      repeats: "at growing intervals",
    },
  ],
  square: [
    {
      source: "https://github.com/square/square-nodejs-sdk",
      lists: "`POST /v2/events`, kept for 28 days",
    },
  ],
  "ms-graph": [
    {
      source: "https://learn.microsoft.com/en-us/graph/change-notifications-delivery-webhooks",
      waitsMs: 10 * SECONDS,
      repeatsForMs: 4 * HOURS,
      disables: "delays notifications when 10 % of the answers take over 10 s, and drops them at 15 %",
    },
  ],
  discord: [
    {
      source: "https://docs.discord.com/developers/events/webhook-events",
      waitsMs: 3 * SECONDS,
      repeatsForMs: 10 * MINUTES,
      repeats: "at growing intervals",
    },
  ],
  paypal: [
    {
      source:
        "https://github.com/paypal/paypal-rest-api-specifications/blob/main/openapi/notifications_webhooks_v1.json",
      lists: "`GET /v1/notifications/webhooks-events?start_time=&end_time=`",
      resends: "`POST /v1/notifications/webhooks-events/{event_id}/resend`",
    },
  ],
  fusionauth: [
    {
      source: "https://fusionauth.io/docs/apis/webhook-event-logs",
      lists: "`POST /api/system/webhook-event-log/search`",
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
  okta: [
    {
      source: "https://developer.okta.com/docs/concepts/event-hooks/",
      waitsMs: 3 * SECONDS,
    },
  ],
  chargebee: [
    {
      source:
        "https://github.com/hookdeck/webhook-skills/blob/main/skills/chargebee-webhooks/references/overview.md",
      waitsMs: 20 * SECONDS,
      repeats: "up to 7 times, after 2 minutes to 2 days",
    },
    {
      source: "https://github.com/chargebee/chargebee-node",
      lists: "`GET /api/v2/events?webhook_status[is]=failed`",
      replaced: ["source"],
    },
  ],
  opsgenie: [{ source: "https://docs.opsgenie.com/docs/marid-alert-action-data", replaced: ["source"] }],
  elevenlabs: [
    {
      source:
        "https://github.com/hookdeck/webhook-skills/blob/main/skills/elevenlabs-webhooks/references/overview.md",
      waitsMs: 10 * SECONDS,
      repeats: "at growing intervals",
      disables: "disables the endpoint after 10 failures in a row",
    },
  ],
}

/** What is known of the deliveries of a provider, by its name; of a custom one nothing. */
export function factsOf(name: string): SenderFacts {
  const rows = Object.hasOwn(FACTS, name) ? FACTS[name]! : []
  const { source: _, ...facts } = Object.assign({ source: "" }, ...rows) as Documented
  return facts
}

/** `800 ms`, `5 s`, `10 min`, `4 h`, `3 days` */
export function inTime(ms: number): string {
  const [unit, name] = UNITS.find(([length, , least = length]) => ms >= least && ms % length === 0) ?? [
    1,
    "ms",
  ]
  return `${ms / unit} ${name}`
}

const UNITS: readonly (readonly [lengthMs: number, name: string, leastMs?: number])[] = [
  [DAYS, "days", 2 * DAYS],
  [HOURS, "h"],
  [MINUTES, "min"],
  [SECONDS, "s"],
]

/** `1 MB`, `256 KiB`, `13.4 MiB` */
export function inBytes(bytes: number): string {
  if (bytes % 1_000_000 === 0) return `${bytes / 1_000_000} MB`
  const isSmall = bytes < MEBIBYTES
  return `${Math.round((bytes / (isSmall ? 1024 : MEBIBYTES)) * 10) / 10} ${isSmall ? "KiB" : "MiB"}`
}
