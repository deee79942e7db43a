import { HOUR_MS } from "./certificate.ts"
import type { Listing } from "./listing.ts"

/** For senders whose list has events that they do not send here, too. */
const TYPES = {
  form: "the event types that the sender sends here, separated by commas",
  pattern: /^[\w.-]+(?:\s*,\s*[\w.-]+)*$/,
}
const DAY_MS = 24 * HOUR_MS

/** Of webhooks with a secret token and with a signing token. */
const GITLAB: Listing = {
  title: "GitLab",
  docs: "https://docs.gitlab.com/api/project_webhooks/",
  api: "https://gitlab.com/api/v4",
  auth: { kind: "header", name: "PRIVATE-TOKEN" },
  endpoint: {
    form: "projects/<id>/hooks/<id> or groups/<id>/hooks/<id>",
    pattern: /^(?:projects|groups)\/[\w.%-]+\/hooks\/\d+$/,
  },
  list: {
    path: "/{endpoint}/events",
    query: { per_page: "20" },
    items: "",
    next: { in: "link" },
  },
  item: {
    // equal to webhook-id: https://gitlab.com/gitlab-org/gitlab/-/merge_requests/230944
    event: "/request_headers/Idempotency-Key",
    delivery: "/id",
    time: "/response_headers/Date",
    isTimed: true,
    got: { status: "/response_status" },
  },
  redeliver: {
    path: "/{endpoint}/events/{delivery}/resend",
    permission: "the scope api, of a maintainer",
    perMinute: 5,
  },
  look: { path: "/{endpoint}", active: ["/alert_status", "executable"], url: "/url" },
  perHour: 1000,
  keptMs: 7 * DAY_MS,
  latencyMs: 60_000,
}

/** By the provider's preset. */
export const LISTINGS: { readonly [provider: string]: Listing } = {
  github: {
    title: "GitHub",
    docs: "https://docs.github.com/en/rest/repos/webhooks",
    api: "https://api.github.com",
    auth: { kind: "bearer" },
    headers: { Accept: "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28" },
    endpoint: {
      form: "repos/<owner>/<repo>/hooks/<id>, orgs/<org>/hooks/<id> or app/hook",
      pattern: /^(?:repos\/[\w.-]+\/[\w.-]+\/hooks\/\d+|orgs\/[\w.-]+\/hooks\/\d+|app\/hook)$/,
    },
    list: {
      path: "/{endpoint}/deliveries",
      query: { per_page: "100" },
      items: "",
      next: { in: "link" },
      isNewestFirst: true,
    },
    item: {
      event: "/guid",
      delivery: "/id",
      time: "/delivered_at",
      isTimed: true,
      got: { status: "/status_code" },
    },
    redeliver: {
      path: "/{endpoint}/deliveries/{delivery}/attempts",
      permission: "write access to webhooks",
      perMinute: 120,
    },
    look: {
      path: "/{endpoint}",
      active: ["/active", "true"],
      url: "/config/url",
      events: "/events",
      last: "/last_response/message",
      enable: { active: true },
    },
    perHour: 2000,
    keptMs: 3 * DAY_MS,
    latencyMs: 60_000,
  },
  gitlab: GITLAB,
  "gitlab-signing-token": GITLAB,
  stripe: {
    title: "Stripe",
    docs: "https://docs.stripe.com/api/events/list",
    api: "https://api.stripe.com",
    auth: { kind: "bearer" },
    endpoint: TYPES,
    list: {
      path: "/v1/events",
      query: { limit: "25", "types[]": "{types}", "created[gte]": "{from_s}" },
      items: "/data",
      next: { in: "last", at: "/id", as: "starting_after", while: "/has_more" },
    },
    // the number of endpoints that have not got it yet
    item: { event: "/id", time: "/created", got: { at: "/pending_webhooks", delivered: ["0"] } },
    perHour: 3000,
    keptMs: 30 * DAY_MS,
    latencyMs: 5 * 60_000,
  },
  paypal: {
    title: "PayPal",
    docs: "https://developer.paypal.com/docs/api/webhooks/v1/#webhooks-events_list",
    api: "https://api-m.paypal.com",
    auth: { kind: "oauth", path: "/v1/oauth2/token" },
    list: {
      path: "/v1/notifications/webhooks-events",
      query: { page_size: "50", start_time: "{from}", end_time: "{to}" },
      items: "/events",
      next: { in: "url", at: "/links" },
    },
    item: { event: "/id", time: "/create_time" },
    redeliver: {
      path: "/v1/notifications/webhooks-events/{delivery}/resend",
      permission: "the webhooks of their own app",
      perMinute: 30,
    },
    perHour: 500,
    // its page shows them for this long: https://developer.paypal.com/api/rest/webhooks/events-dashboard/
    keptMs: 30 * DAY_MS,
    latencyMs: 5 * 60_000,
  },
  paddle: {
    title: "Paddle",
    docs: "https://developer.paddle.com/api-reference/notifications/list-notifications",
    api: "https://api.paddle.com",
    auth: { kind: "bearer" },
    endpoint: { form: "ntfset_<id>", pattern: /^ntfset_\w+$/ },
    list: {
      path: "/notifications",
      query: { notification_setting_id: "{endpoint}", from: "{from}", per_page: "50" },
      items: "/data",
      next: { in: "url", at: "/meta/pagination/next", while: "/meta/pagination/has_more" },
    },
    item: {
      event: "/payload/event_id",
      delivery: "/id",
      time: "/occurred_at",
      got: { at: "/status", delivered: ["delivered"], failed: ["failed"] },
    },
    redeliver: { path: "/notifications/{delivery}/replay", permission: "to write notifications" },
    look: {
      path: "/notification-settings/{endpoint}",
      active: ["/data/active", "true"],
      url: "/data/destination",
      enable: { active: true },
    },
    perHour: 3000,
    // https://developer.paddle.com/api-reference/notifications/replay-notification
    keptMs: 90 * DAY_MS,
    latencyMs: 2 * 60_000,
  },
  square: {
    title: "Square",
    docs: "https://developer.squareup.com/reference/square/events-api/search-events",
    api: "https://connect.squareup.com",
    auth: { kind: "bearer" },
    endpoint: TYPES,
    list: {
      path: "/v2/events",
      body: ({ from, to, types }) => ({
        limit: 25,
        query: {
          filter: { event_types: types!.split(","), created_at: { start_at: from, end_at: to } },
          sort: { field: "DEFAULT", order: "DESC" },
        },
      }),
      items: "/events",
      next: { in: "cursor", at: "/cursor", as: "cursor" },
    },
    item: { event: "/event_id", time: "/created_at" },
    perHour: 1000,
    keptMs: 28 * DAY_MS,
    latencyMs: 5 * 60_000,
  },
  chargebee: {
    title: "Chargebee",
    docs: "https://apidocs.chargebee.com/docs/api/events#list_events",
    api: "",
    auth: { kind: "basic" },
    list: {
      path: "/api/v2/events",
      query: { limit: "25", "occurred_at[after]": "{from_s}", "sort_by[desc]": "occurred_at" },
      items: "/list",
      next: { in: "cursor", at: "/next_offset", as: "offset" },
    },
    item: {
      body: "/event",
      event: "/event/id",
      time: "/event/occurred_at",
      got: {
        at: "/event/webhooks/0/webhook_status",
        delivered: ["succeeded"],
        failed: ["failed"],
        unsent: ["not_configured", "skipped", "not_applicable", "disabled"],
      },
    },
    perHour: 1000,
    // its page shows them for this long: https://chargebee.com/docs/1.0/site-configuration/articles-and-faq/can-i-filter-events-for-a-specific-customer-using-api.html
    keptMs: 90 * DAY_MS,
    latencyMs: 5 * 60_000,
  },
  gocardless: {
    title: "GoCardless",
    docs: "https://developer.gocardless.com/api-reference/#webhooks-list-webhooks",
    api: "https://api.gocardless.com",
    auth: { kind: "bearer" },
    headers: { "GoCardless-Version": "2015-07-06" },
    list: {
      path: "/webhooks",
      query: { limit: "50", "created_at[gte]": "{from}" },
      items: "/webhooks",
      next: { in: "cursor", at: "/meta/cursors/after", as: "after" },
    },
    item: {
      event: "/id",
      time: "/created_at",
      got: { at: "/successful", delivered: ["true"], failed: ["false"] },
    },
    redeliver: { path: "/webhooks/{delivery}/actions/retry", permission: "read-write access" },
    perHour: 3000,
    // not documented; of the events in them it lists 18 months: https://developer.gocardless.com/api-reference/#events-list-events
    keptMs: 30 * DAY_MS,
    latencyMs: 2 * 60_000,
  },
  resend: {
    title: "Resend",
    docs: "https://resend.com/docs/api-reference/webhooks/list-events",
    api: "https://api.resend.com",
    auth: { kind: "bearer" },
    endpoint: { form: "<webhook id>, a UUID", pattern: /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/ },
    list: {
      path: "/webhooks/{endpoint}/events",
      query: { limit: "100" },
      items: "/data",
      next: { in: "last", at: "/id", as: "after", while: "/has_more" },
      isNewestFirst: true,
    },
    item: {
      event: "/id",
      time: "/created_at",
      got: { at: "/status", delivered: ["success"], failed: ["failed"] },
    },
    redeliver: {
      path: "/webhooks/{endpoint}/events/{delivery}/replay",
      permission: "full access",
      perMinute: 30,
    },
    look: {
      path: "/webhooks/{endpoint}",
      active: ["/status", "enabled"],
      url: "/endpoint",
      events: "/events",
      enable: { status: "enabled" },
    },
    // its limit of requests a second is one for all of a team's, those that send mail included
    perHour: 1000,
    // not documented
    keptMs: 30 * DAY_MS,
    latencyMs: 2 * 60_000,
  },
  workos: {
    title: "WorkOS",
    docs: "https://workos.com/docs/reference/events/list",
    api: "https://api.workos.com",
    auth: { kind: "bearer" },
    endpoint: TYPES,
    list: {
      path: "/events",
      query: { limit: "25", "events[]": "{types}", range_start: "{from}" },
      items: "/data",
      next: { in: "cursor", at: "/list_metadata/after", as: "after" },
    },
    item: { event: "/id", time: "/created_at" },
    perHour: 1000,
    keptMs: 30 * DAY_MS,
    latencyMs: 5 * 60_000,
  },
}
