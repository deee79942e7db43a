import { pino } from "pino"
import { Event } from "../../src/pipeline/event.ts"
import type { EventContext } from "../../src/pipeline/event.ts"

interface Given {
  headers?: { [name: string]: string }
  path?: string
  query?: string
  receivedAtMs?: number
}

/** An event that came with this body and these headers. */
export function eventOf(
  body: string | Uint8Array,
  { headers = {}, path = "/", query = "", receivedAtMs }: Given = {},
): Event {
  const request = {
    id: "test-1",
    method: "POST",
    path,
    query,
    url: `http://localhost${path}`,
    headers: new Headers(headers),
    remoteAddress: "127.0.0.1",
  }
  return new Event(request, Buffer.from(body as string), receivedAtMs)
}

/** What a processor is called with where no deadline comes. */
export const IN_TIME: EventContext = {
  signal: new AbortController().signal,
  log: pino({ level: "silent" }),
  state: new Map(),
}
