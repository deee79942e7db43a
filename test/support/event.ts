import { Event } from "../../src/pipeline/event.ts"
import type { EventContext } from "../../src/pipeline/event.ts"

/** An event that came with this body and these headers. */
export function eventOf(
  body: string | Uint8Array,
  { headers = {}, receivedAtMs }: { headers?: { [name: string]: string }; receivedAtMs?: number } = {},
): Event {
  const request = {
    id: "test-1",
    method: "POST",
    path: "/",
    query: "",
    url: "http://localhost/",
    headers: new Headers(headers),
    remoteAddress: "127.0.0.1",
  }
  return new Event(request, Buffer.from(body as string), receivedAtMs)
}

/** What a processor is called with where no deadline comes. */
export const IN_TIME: EventContext = { signal: new AbortController().signal }
