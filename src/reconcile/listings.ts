import type { Listing } from "./listing.ts"

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** By the provider's preset. */
export const LISTINGS: { readonly [provider: string]: Listing } = {
  github: {
    title: "GitHub",
    docs: "https://docs.github.com/en/rest/repos/webhooks",
    api: "https://api.github.com",
    auth: { kind: "bearer or app" },
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
    item: { event: "/guid", delivery: "/id", time: "/delivered_at", got: { status: "/status_code" } },
    redeliver: { path: "/{endpoint}/deliveries/{delivery}/attempts", perMinute: 60 },
    look: {
      path: "/{endpoint}",
      active: ["/active", "true"],
      url: "/config/url",
      events: "/events",
      last: "/last_response/message",
      enable: { method: "PATCH", body: { active: true } },
    },
    perHour: 2000,
    keptMs: 3 * DAY_MS,
    latencyMs: 60_000,
  },
}
