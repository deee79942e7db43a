// Hot path: every event whose record keeps headers of its request passes here.
import { rarely } from "../clock/lasting.ts"
import { OF_THE_CONNECTION } from "../http/submission.ts"
import type { Event } from "../pipeline/event.ts"
import { headerBytes } from "../headers.ts"
import type { Logger } from "../telemetry/log.ts"
import { isTokenName, maskUrlsAndForms } from "../verify/masking.ts"
import type { KnownSender } from "./known-sender.ts"
import { eventHeaders } from "../verify/senders.ts"

/** Most headers of a request in its record, and their bytes, names included. */
const MOST_HEADERS = 64
const MOST_BYTES = 8192

/** Appends headers of the event's request to those of its record. */
type KeepHeaders = (event: Event, keep: (name: string, value: Uint8Array) => void) => void

/** Names of a request's headers in its record, in lower case, since brokers compare them byte by byte. */
type NamesOf = (headers: Headers) => readonly string[]

/** What `headers` of a BrokerSink may be instead of a list: no header of the request, or all but credentials. */
export const NO_HEADERS = "none"
export const ALL_HEADERS = "*"

/** The headers that belong to the provider's events; none where one is the secret itself. */
export const eventHeadersOf = (sender: KnownSender | undefined): readonly string[] =>
  sender === undefined ? [] : EVENT_HEADERS.getOrInsertComputed(sender, headersOfEvents)

const EVENT_HEADERS = new WeakMap<KnownSender, readonly string[]>()

const headersOfEvents = ({ event, covers }: KnownSender): readonly string[] =>
  eventHeaders(event ?? {})
    .map((name) => name.toLowerCase())
    .filter((name) => name !== covers?.credential?.header)

/** Names that Hookline itself gives to record headers. */
const OWN = /^(?:received[-_]|source$|hookline\.)/

/** All headers but those of the connection, credentials, and names that are taken. */
export const allHeadersOf =
  (sender: KnownSender | undefined, isTaken: (name: string) => boolean): NamesOf =>
  (headers) => {
    const ofConnection = headers
      .get("connection")
      ?.toLowerCase()
      .split(/\s*,\s*/)
    return [...headers].flatMap(([name, value]) =>
      OF_THE_CONNECTION.has(name) ||
      ofConnection?.includes(name) ||
      name === sender?.covers?.credential?.header ||
      isTokenName(name) ||
      maskUrlsAndForms(value) !== value ||
      OWN.test(name) ||
      isTaken(name)
        ? []
        : name,
    )
  }

/**
 * Request headers as record headers. One that came several times has its values joined by commas. What is beyond the limits
 * is left out, and logged.
 *
 * @param namesOf the most important first
 */
export function keepRequestHeaders(namesOf: NamesOf, log: Pick<Logger, "warn">): KeepHeaders {
  return ({ request: { headers } }, keep) => {
    let count = 0
    let bytes = 0
    for (const name of namesOf(headers)) {
      const text = headers.get(name)
      if (text === null) continue
      const value = headerBytes(text)
      bytes += name.length + value.length
      if (++count > MOST_HEADERS || bytes > MOST_BYTES) return leftOut(log)
      keep(name, value)
    }
  }
}

/** Logs that headers were left out. What limits the lines is made on first use. */
const leftOut = (log: Pick<Logger, "warn">): void =>
  LEFT_OUT.getOrInsertComputed(log, () =>
    rarely(60_000, (events) =>
      log.warn({ events }, "request headers beyond 64 or 8 KiB are not in the record"),
    ),
  )()

const LEFT_OUT = new WeakMap<object, () => void>()
