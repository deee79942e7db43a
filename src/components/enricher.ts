// Hot path: every event passes here.
import { message, setting } from "../message.ts"
import { oneOf } from "../config/options/option-types.ts"
import { splice } from "../json/splice.ts"
import { toName, type Name } from "../json/name.ts"
import type { Event, Processor } from "../pipeline/event.ts"
import { headerBytes } from "../headers.ts"
import type { KnownSender } from "./known-sender.ts"
import { defineComponent, type ComponentContext } from "./define-component.ts"
import { toLocalTime } from "./local-time.ts"
import { keepRequestHeaders } from "./request-headers.ts"

const NAMES = [toName("received_at"), toName("source")]

/** The members of the last millisecond, which events of all pipelines share. */
let formattedMs = Number.NaN
let members = Buffer.alloc(0)

/** Adds `received_at` and `source`, replacing members of these names, or has them as record headers. */
export const enricher = defineComponent({
  kind: "processor",
  name: "Enricher",
  summary:
    "Adds received_at (local time with milliseconds and offset) and source (webhook) to the object, or to the record's headers.",
  options: {
    value: oneOf(["enriched", "received"], {
      default: "enriched",
      doc: "With `enriched` the value is the object with `received_at` and `source` at its end; what the sender had under these names is in the record headers `received-received_at` and `received-source`, as JSON, the first 1,024 bytes. With `received` it is the body byte for byte, and `received_at` and `source` are record headers, with the signature's headers and `received-content-type`; see headers.md.",
    }),
  },
  checkInPipeline({ values: { value }, sender, wrong }) {
    if (value === "received" && sender?.covers?.credential !== undefined)
      wrong(
        "value",
        message`received would put the secret that ${sender.name} sends into the record, since it signs nothing; set ${setting("value", "enriched")}`,
      )
  },
  recordHeaders: ({ value }, sender) =>
    value === "received"
      ? ["received_at", "source", "received-content-type", ...verifying(sender)]
      : (sender?.facts?.replaced ?? []).map((name) => `received-${name}`),
  keepsReceived: ({ value }) => value === "received",
  create: ({ value }, context) => (value === "received" ? keepReceived(context) : enrich),
})

const enrich: Processor = (event) => {
  if (event.receivedAtMs !== formattedMs) {
    formattedMs = event.receivedAtMs
    members = Buffer.from(`"received_at":"${toLocalTime(formattedMs)}","source":"webhook"`)
  }
  event.body = splice(event.body, NAMES, members, (name, value) => keepReplaced(event, name, value))
  return event
}

/** Of a name that came several times the last value counts, as for JSON parsers. */
function keepReplaced(event: Event, { text }: Name, value: Uint8Array): void {
  event.recordHeaders ??= new Map()
  event.recordHeaders.set(`received-${text}`, beginningOf(value))
}

const MOST_REPLACED_BYTES = 1024

/** A copy of the first bytes, which does not end within a character. */
function beginningOf(value: Uint8Array): Uint8Array {
  let end = Math.min(value.length, MOST_REPLACED_BYTES)
  while (end < value.length && (value[end]! & 0xc0) === 0x80) end--
  return value.slice(0, end)
}

const SOURCE = Buffer.from("webhook")

/** Names of the headers that a signature verifies with. */
const verifying = (sender: KnownSender | undefined): readonly string[] => [
  ...new Set([...(sender?.covers?.signature ?? []), ...(sender?.covers?.headers ?? [])]),
]

/** Publishes the body as received, with what verifies it again. */
function keepReceived({ sender, log }: ComponentContext): Processor {
  const { url = false, isInQuery = false } = sender?.covers ?? {}
  const names = verifying(sender)
  const keepSignature = keepRequestHeaders(() => names, log)
  return (event) => {
    const { receivedAtMs, request, list } = event
    const kept = (event.recordHeaders ??= new Map<string, Uint8Array>())
    kept.set("received_at", Buffer.from(toLocalTime(receivedAtMs)))
    kept.set("source", SOURCE)
    const type = request.headers.get("content-type")
    if (type !== null) kept.set("received-content-type", headerBytes(type))
    // the Kafka protocol binding, 3.3: structured content
    if (type !== null && /^application\/cloudevents/i.test(type)) kept.set("content-type", headerBytes(type))
    // an item of a list is not signed by itself
    if (list === undefined) {
      keepSignature(event, (name, value) => kept.set(name, value))
      if (url || isInQuery) kept.set("received-url", Buffer.from(request.url))
    }
    event.publishesReceived = true
    return event
  }
}
