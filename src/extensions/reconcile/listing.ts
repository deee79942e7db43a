import { readJson } from "../../json/read.ts"

/** What a sender's API says of its deliveries, and how it is asked: a row of `listings.ts`. Rows have no code. */
export interface Listing {
  readonly title: string
  /** Documentation of the requests. */
  readonly docs: string
  /** Base URL; empty: the option `api` has it. */
  readonly api: string
  readonly auth: Auth
  readonly headers?: { readonly [name: string]: string }
  /** Value of the option `endpoint`, which paths have as `{endpoint}`; undefined: the sender needs none. */
  readonly endpoint?: { readonly form: string; readonly pattern: RegExp }
  readonly list: {
    /** Template; see `TemplateValues`. */
    readonly path: string
    /** Parameters of the query, or members of the body where there is a `body`. */
    readonly query?: { readonly [name: string]: string }
    /** Sent as JSON by POST. A page's cursor is added at its top. */
    readonly body?: (values: TemplateValues) => object
    /** JSON pointer to the items; empty: the answer is the list. */
    readonly items: string
    readonly next: Next
    /** Whether a page may have items from before `{from}`, the newest first: the list ends there. */
    readonly isNewestFirst?: true
  }
  readonly item: {
    /** JSON pointer to the event itself, as the webhook's body has it; empty: the item. */
    readonly body?: string
    /**
     * JSON pointers into the item: the event's id, equal for each of its deliveries; what redelivers; when it was sent, where
     * an item without one counts as sent when it is first listed.
     */
    readonly event: string
    readonly delivery?: string
    readonly time: string
    /** The time is that of a delivery, each of which has an item. Absent: it is that of the event. */
    readonly isTimed?: true
    /** What the sender got; undefined: it does not say, and Hookline keeps the outcomes of its own. */
    readonly got?: Got
  }
  /** undefined: it can't, and the event that is listed is published with `inject = true`. */
  readonly redeliver?: {
    readonly path: string
    /** What the credentials must be allowed to, for messages. */
    readonly permission: string
    readonly perMinute?: number
  }
  readonly look?: Look
  /** Requests an hour at most. */
  readonly perHour: number
  /** How long the sender keeps what it lists. */
  readonly keptMs: number
  /** How long a delivery may take to be listed with its outcome. */
  readonly latencyMs: number
}

/** In templates: `{endpoint}`, `{delivery}`, `{from}` (RFC 3339), `{from_s}` (seconds since 1970), `{to}`; `{types}`, the
 * event types that `endpoint` lists, a parameter each. */
export type TemplateValues = { readonly [name: string]: string }

export type Auth =
  /** `Authorization: Bearer <credentials>`; where these are `<app id>:<PEM key>`, a JWT of GitHub's App. */
  | { readonly kind: "bearer" }
  /** A header of that name. */
  | { readonly kind: "header"; readonly name: string }
  /** The credentials as the user of HTTP Basic authentication. */
  | { readonly kind: "basic" }
  /** OAuth 2 client credentials, `<id>:<secret>`, exchanged at that path. */
  | { readonly kind: "oauth"; readonly path: string }

/** Where the next page is. */
export type Next =
  /** `Link: <url>; rel="next"` */
  | { readonly in: "link" }
  /** A URL in the body, or a list of `{ rel, href }`; `while`: a member that is true while there are more. */
  | { readonly in: "url"; readonly at: string; readonly while?: string }
  /** A cursor in the body, sent as that parameter. */
  | { readonly in: "cursor"; readonly at: string; readonly as: string }
  /** The last item's value, sent as that parameter. */
  | { readonly in: "last"; readonly at: string; readonly as: string; readonly while: string }

export type Got =
  /** An HTTP status. */
  | { readonly status: string }
  /** Texts that say so; others: the sender is still trying. */
  | {
      readonly at: string
      readonly delivered: readonly string[]
      /** undefined: all others. */
      readonly failed?: readonly string[]
      /** Those of events that the sender does not send. */
      readonly unsent?: readonly string[]
    }

/** The endpoint as the sender has it. */
export interface Look {
  readonly path: string
  /** JSON pointers. `active`: a member and the value that it has while the endpoint is enabled. */
  readonly active: readonly [at: string, value: string]
  readonly url: string
  readonly events?: string
  /** What the last delivery got. */
  readonly last?: string
  /** The body of the PATCH that enables it; undefined: only the sender's page does. */
  readonly enable?: object
}

/** The value at a JSON pointer (RFC 6901) of parsed JSON; undefined: there is none. */
export function valueAt(json: unknown, pointer: string): unknown {
  let value = json
  for (const step of pointer.split("/").slice(1)) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return undefined
    value = (value as { readonly [name: string]: unknown })[step]
  }
  return value
}

/** The text of a string, number or boolean; undefined: it is none of them, or empty. */
export function textAt(json: unknown, pointer: string): string | undefined {
  const value = valueAt(json, pointer)
  if (typeof value === "string") return value === "" ? undefined : value
  return typeof value === "number" || typeof value === "boolean" ? String(value) : undefined
}

/** A delivery of a page. */
export interface Listed {
  readonly event: string
  readonly delivery: string
  /** Milliseconds since 1970, by the sender's clock. */
  readonly atMs: number
  /** `accepted`, `refused 401`; `failed`, `pending`: not yet for good; undefined: the list does not say. */
  readonly got: string | undefined
  /** The event, where it can be published as it is listed. */
  readonly body: string | undefined
}

export interface Page {
  readonly items: readonly Listed[]
  /** URL of the next page, or its cursor; undefined: it is the last. */
  readonly next: string | undefined
}

/**
 * Reads a page of a sender's list.
 *
 * @param nowMs by the sender's clock, in milliseconds since 1970
 * @returns text: what is wrong with it
 */
export function readPage(
  listing: Listing,
  bytes: Uint8Array,
  link: string | null,
  nowMs: number,
): Page | string {
  const json = readJson(bytes)
  if (json === undefined) return "its answer is not JSON"
  const found = valueAt(json, listing.list.items)
  if (!Array.isArray(found))
    return `its answer has no list${listing.list.items && ` at ${listing.list.items}`}`
  const items: Listed[] = []
  for (const item of found as readonly unknown[]) {
    const { got } = listing.item
    if (got !== undefined && "at" in got && got.unsent?.includes(textAt(item, got.at) ?? "")) continue
    const listed = readItem(listing, item, nowMs)
    if (listed === undefined) return "it lists a delivery without an id or with a wrong time"
    items.push(listed)
  }
  return { items, next: found.length === 0 ? undefined : nextOf(listing.list.next, json, found, link) }
}

function readItem({ item: where, redeliver }: Listing, item: unknown, nowMs: number): Listed | undefined {
  const event = textAt(item, where.event)
  const time = textAt(item, where.time)
  const atMs = time === undefined ? nowMs : /^\d+$/.test(time) ? Number(time) * 1000 : Date.parse(time)
  if (event === undefined || Number.isNaN(atMs)) return undefined
  return {
    event,
    delivery: textAt(item, where.delivery ?? where.event) ?? event,
    atMs,
    got: where.got && gotOf(where.got, item),
    body: redeliver === undefined ? JSON.stringify(valueAt(item, where.body ?? "")) : undefined,
  }
}

/** Refusals that a later delivery of the same event may not get. */
const NOT_FINAL = [408, 421, 425, 429]

/** Whether a sender that got this status need not send the event again: it is refused for good. */
export const isRefusal = (status: number): boolean =>
  status >= 400 && status < 500 && !NOT_FINAL.includes(status)

function gotOf(got: Got, item: unknown): string {
  if ("status" in got) {
    const status = Number(textAt(item, got.status) ?? 0)
    if (status >= 200 && status < 300) return "accepted"
    return isRefusal(status) ? `refused ${status}` : "failed"
  }
  const text = textAt(item, got.at) ?? ""
  if (got.delivered.includes(text)) return "accepted"
  return (got.failed?.includes(text) ?? true) ? "failed" : "pending"
}

function nextOf(next: Next, json: unknown, items: readonly unknown[], link: string | null) {
  if (next.in === "link") return /<([^>]+)>;\s*rel="?next"?/i.exec(link ?? "")?.[1]
  if (next.in === "cursor") return textAt(json, next.at)
  if (next.in === "last")
    return textAt(json, next.while) === "true" ? textAt(items.at(-1), next.at) : undefined
  if (next.while !== undefined && textAt(json, next.while) !== "true") return undefined
  const found = valueAt(json, next.at)
  return Array.isArray(found)
    ? textAt(
        (found as readonly unknown[]).find((it) => textAt(it, "/rel") === "next"),
        "/href",
      )
    : textAt(json, next.at)
}
