import { toShownUrl } from "../outgoing/shown-url.ts"
import type { StoredRecord } from "../brokers/broker.ts"
import { HooklineError } from "../errors.ts"
import { OF_THE_CONNECTION } from "../http/submission.ts"
import { isJson } from "../json/check.ts"
import { isHeaderName } from "../headers.ts"
import { asBuffer } from "../json/tokens.ts"

/** @throws HooklineError `usage` */
export function parseTargetUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== "http:" && url?.protocol !== "https:")
    throw new HooklineError("usage", "the target is not an http or https URL")
  url.hash = ""
  return url
}

/** Where a forward delivers, as it is shown. @param url undefined: to a function of the program */
export const toShownTarget = (url: string | undefined): string =>
  url === undefined ? "a handler" : toShownUrl(url)

/**
 * The headers of a record that is posted to a URL, its value being the body: `hookline-topic`, `-partition`, `-offset`,
 * `-timestamp` (ISO 8601) and `-key`, and the record's own under their names. Those of a CloudEvent in Kafka's binary mode
 * are those of HTTP's: `ce_id` is `ce-id`, percent-encoded by its HTTP binding, 3.1.3.2. In other values control characters are
 * percent-encoded, in the key all that is not printable ASCII.
 */
export function headersOf(record: StoredRecord): Headers {
  const { topic, partition, offset, timestampMs, key, value } = record
  const headers = new Headers()
  for (const [name, content] of record.headers) {
    if (isHeaderName(name) && !isReserved(name.toLowerCase()))
      headers.append(
        name.replace(/^ce_/, "ce-"),
        name.startsWith("ce_") ? escaped(content, OF_CLOUD_EVENTS) : escaped(content),
      )
  }
  const received = headers.get("received-content-type")
  if (!headers.has("content-type") && received !== null) headers.set("content-type", received)
  if (!headers.has("content-type"))
    headers.set("content-type", isJson(value) ? "application/json" : "application/octet-stream")
  headers.set("hookline-topic", topic)
  headers.set("hookline-partition", `${partition}`)
  headers.set("hookline-offset", `${offset}`)
  const time = new Date(timestampMs)
  if (!Number.isNaN(time.getTime())) headers.set("hookline-timestamp", time.toISOString())
  if (key !== undefined) headers.set("hookline-key", escaped(key, /[^\x20-\x7e]/g))
  return headers
}

/** Those of the connection or of the body's encoding, which are the client's, and those of this module. */
const isReserved = (name: string): boolean =>
  RESERVED.has(name) || name.startsWith("hookline-") || name.startsWith("proxy-")

const RESERVED = new Set([...OF_THE_CONNECTION, "accept-encoding", "host"])

/** A value as it came, with a character for each byte. */
const escaped = (bytes: Uint8Array, pattern = /[^\x20-\x7e\x80-\xff]/g): string =>
  asBuffer(bytes)
    .toString("latin1")
    .replace(pattern, (it) => `%${it.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`)

const OF_CLOUD_EVENTS = /[^\x21-\x7e]|["%]/g
