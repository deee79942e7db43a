// Hot path: every event whose record keeps headers of its request passes here.
import { rarely } from "../clock/lasting.ts"
import type { Event } from "../pipeline/event.ts"
import type { Logger } from "../telemetry/log.ts"

/** Most headers of a request in its record, and their bytes, names included. */
const MOST_HEADERS = 64
const MOST_BYTES = 8192

/** Appends headers of the event's request to those of its record. */
export type KeepHeaders = (event: Event, keep: (name: string, value: Uint8Array) => void) => void

/**
 * Request headers as record headers: named in lower case, since brokers compare names byte by byte; one that came several times has its
 * values joined by commas. What is beyond the limits is left out, and logged.
 *
 * @param namesOf those of a request, in lower case, the most important first
 */
export function keepRequestHeaders(
  namesOf: (headers: Headers) => Iterable<string>,
  log: Pick<Logger, "warn">,
): KeepHeaders {
  const logLeftOut = rarely(60_000, (events) =>
    log.warn({ events }, "request headers beyond 64 or 8 KiB are not in the record"),
  )
  return ({ request: { headers } }, keep) => {
    let count = 0
    let bytes = 0
    for (const name of namesOf(headers)) {
      const text = headers.get(name)
      if (text === null) continue
      const value = Buffer.from(text)
      bytes += name.length + value.length
      if (++count > MOST_HEADERS || bytes > MOST_BYTES) return logLeftOut()
      keep(name, value)
    }
  }
}
