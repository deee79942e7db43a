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
const MEBIBYTES = 1024 * 1024

/** By preset. A fact is only here if its page was read. */
export const FACTS: { readonly [preset: string]: readonly Documented[] } = {
  slack: [
    {
      source: "https://docs.slack.dev/apis/events-api/",
      waitsMs: 3 * SECONDS,
      repeatsForMs: 6 * MINUTES,
      repeats: "3 times: at once, after 1 and 5 min",
      keepsId: true,
      disables: "turns event subscriptions off when more than 95 % of an hour's deliveries failed",
      setup:
        "app settings, Event Subscriptions: Request URL; the secret is Basic Information, Signing Secret",
    },
  ],
  github: [
    {
      source: "https://docs.github.com/en/webhooks/using-webhooks/handling-failed-webhook-deliveries",
      waitsMs: 10 * SECONDS,
      repeatsForMs: 0,
      lists: "GET /repos/{owner}/{repo}/hooks/{hook_id}/deliveries, kept for 3 days",
      resends: "POST /repos/{owner}/{repo}/hooks/{hook_id}/deliveries/{delivery_id}/attempts",
    },
    {
      source: "https://docs.github.com/en/webhooks/webhook-events-and-payloads#payload-cap",
      largestBytes: 25 * MEBIBYTES,
      keepsId: true,
    },
    {
      source: "https://docs.github.com/en/webhooks/using-webhooks/creating-webhooks",
      setup:
        "repository or organization settings, Webhooks, Add webhook: Payload URL, Content type application/json, Secret of your choice",
    },
    { source: "https://docs.github.com/en/rest/meta/meta", addresses: "https://api.github.com/meta" },
  ],
  shopify: [
    {
      source: "https://shopify.dev/docs/apps/build/webhooks/subscribe/https",
      waitsMs: 5 * SECONDS,
      repeatsForMs: 4 * HOURS,
      repeats: "8 times",
      disables: "deletes the subscription after 8 failures in a row if it was made by the Admin API",
    },
  ],
  sentry: [
    {
      source: "https://sentry.io/changelog/2023-10-3-change-to-integration-platform-webhook-handling",
      waitsMs: SECONDS,
      disables: "ends the subscription after 1000 timeouts in 24 h",
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
  [24 * HOURS, "days", 48 * HOURS],
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
