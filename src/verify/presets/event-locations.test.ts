import { describe, expect, test } from "bun:test"
import { EXTRACTION } from "../../components/extraction.ts"
import { eventOf } from "../../../test/support/event.ts"
import { sendersWith } from "../../../test/support/senders.ts"
import { sampleRequest, SAMPLES } from "../samples/samples.ts"
import { locateEventPart } from "../../components/known-sender.ts"
import { EVENT_PARTS, eventHeaders, isSigned, placesOf } from "./event-locations.ts"
import { PRESETS } from "./presets.ts"
import { findFamily } from "./providers.ts"

const SENT = { id: "0b0d2a5e-9f57-4f37-8f3c-1d7f3a1f2f10", number: 7, atMs: 1_790_000_000_400 }

const located = Object.entries(PRESETS).flatMap(([name, { event = {} }]) =>
  EVENT_PARTS.flatMap((part) => placesOf(event, part).map((location) => [name, part, location] as const)),
)

test.each(located)("%s: its %s has the form of a location", (_name, _part, location) => {
  expect(location).toMatch(/^(?:header:[A-Za-z-]+|json:(?:\/[\w-]+)+)$/)
  expect(EXTRACTION.parse(location, undefined)).toBeDefined()
})

/** The sample as its components see it: a list's or a form's first element. */
function sampleOf(name: string): ReturnType<typeof eventOf> {
  const { headers, body } = sampleRequest(name, SENT)
  const text = Buffer.from(body).toString()
  const form = headers.get("content-type")?.includes("form") === true ? new URLSearchParams(text) : undefined
  const value: unknown = form === undefined ? JSON.parse(text) : Object.fromEntries(form)
  const decoded = name === "mandrill" ? (JSON.parse(form!.get("mandrill_events")!) as unknown) : value
  const event: unknown = Array.isArray(decoded) ? decoded[0] : decoded
  return eventOf(JSON.stringify(event), { headers: Object.fromEntries(headers) })
}

/** Headers that the signature's own code adds. */
const BY_SIGNER = ["svix-id", "webhook-id", "Twitch-Eventsub-Message-Id", "Twitch-Eventsub-Message-Timestamp"]

describe("samples", () => {
  const parts = new Map(
    located
      .filter(
        ([name, , location]) => name in SAMPLES && !BY_SIGNER.includes(location.slice("header:".length)),
      )
      .map(([name, part]) => [`${name} ${part}`, [name, part] as const]),
  )
  test.each([...parts.values()])("of %s have their %s there", (name, part) => {
    const sender = { name, event: PRESETS[name]!.event!, covers: undefined }
    const found = EXTRACTION.parse(`event:${part}`, sender)!(sampleOf(name))
    expect(Buffer.from(found ?? "").toString()).toMatch(/^\S+(?: \S+)*$/)
  })
})

test("a provider's own id header is used only where its signed body has no id", () => {
  const byHeader = located.filter(([, part, location]) => part === "id" && location.startsWith("header:"))
  expect([...new Set(byHeader.map(([name]) => name))]).toEqual([
    "standard-webhooks",
    "svix",
    "openai",
    "clerk",
    "resend",
    "gitlab-signing-token",
    "polar",
    "supabase",
    "replicate",
    "render",
    "brex",
    "dodo-payments",
    "incident-io",
    "lithic",
    "etsy",
    "gemini",
    "vanta",
    "stytch",
    "sanity",
    "zendesk",
    "twitch",
    "github",
    "bitbucket",
    "jira",
    "shopify",
    "woocommerce",
    "coinbase",
    "razorpay",
    "linear",
    "pandadoc",
    "gitea",
    "forgejo",
    "twilio",
    "contentful",
    "gitlab",
    "wise",
  ])
})

test("the id's header is signed by Standard Webhooks and Twitch, and by none of the others", () => {
  const senders = sendersWith("https://keys.example.com/")
  const signed = located.filter(
    ([name, part, location]) =>
      part === "id" &&
      location.startsWith("header:") &&
      isSigned(location, findFamily(name)!.covers(senders[name]!.settings)),
  )
  expect(signed.map(([name]) => name)).toEqual([
    "standard-webhooks",
    "svix",
    "openai",
    "clerk",
    "resend",
    "gitlab-signing-token",
    "polar",
    "supabase",
    "replicate",
    "render",
    "brex",
    "dodo-payments",
    "incident-io",
    "lithic",
    "etsy",
    "gemini",
    "vanta",
    "stytch",
    "twitch",
  ])
})

test("a part that no preset has is refused with what is known instead", () => {
  const github = { name: "github", event: PRESETS.github!.event!, covers: undefined }
  expect(locateEventPart("event:type", github)).toEqual(["header:X-GitHub-Event"])
  expect(() => locateEventPart("event:time", github)).toThrow(
    "event:time has no known place in events of github; write header:Name or json:/pointer; known: event:id, event:type, event:source",
  )
})

test("the headers of an event are those of its parts in every version, and further ones, each once", () => {
  const event = {
    id: ["header:X-Id", "header:Id", "json:/id"],
    type: "header:x-id",
    time: "json:/time",
    headers: ["X-Version", "id"],
  }
  expect(eventHeaders(event)).toEqual(["x-id", "id", "X-Version"])
})

test.each<[string, string, { [name: string]: string }, object, string]>([
  ["shopify", "id", { "Shopify-Webhook-Id": "w" }, {}, "w"],
  ["shopify", "type", { "Shopify-Topic": "Product" }, {}, "Product"],
  ["shopify", "source", { "Shopify-Shop-Domain": "a.myshopify.com" }, {}, "a.myshopify.com"],
  ["netlify", "type", { "X-Netlify-Event": "deploy_created" }, {}, "deploy_created"],
  ["x-twitter", "id", {}, { data: { event_uuid: "u" } }, "u"],
  ["x-twitter", "type", {}, { data: { event_type: "follow.follow" } }, "follow.follow"],
])(
  "%s: the %s of an event as its newer documentation has it is found",
  (name, part, headers, body, expected) => {
    const sender = { name, event: PRESETS[name]!.event ?? {}, covers: undefined }
    const found = EXTRACTION.parse(`event:${part}`, sender)!(eventOf(JSON.stringify(body), { headers }))
    expect(Buffer.from(found ?? "").toString()).toBe(expected)
  },
)

test("of a provider's versions the one that an event has counts, the first before the others", () => {
  const sender = { name: "acme", event: { id: ["header:X-Id", "json:/id", "header:Id"] }, covers: undefined }
  const find = EXTRACTION.parse("event:id", sender)!
  const text = (body: object, headers: Record<string, string> = {}): string | undefined => {
    const found = find(eventOf(JSON.stringify(body), { headers }))
    return found && Buffer.from(found).toString()
  }
  expect(text({ id: "b" }, { "X-Id": "a", Id: "c" })).toBe("a")
  expect(text({ id: "b" }, { Id: "c" })).toBe("b")
  expect(text({}, { Id: "c" })).toBe("c")
  expect(text({})).toBeUndefined()
})
