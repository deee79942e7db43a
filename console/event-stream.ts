import { createParser } from "eventsource-parser"
import { errorOf } from "./api-client.ts"

/** `silent`: connected, but heartbeats are missing. */
export type StreamState = "connecting" | "open" | "silent" | "lost" | "refused"

/** Whether nothing is heard from the service, which was heard from before. */
export const isInterrupted = (state: StreamState | undefined): boolean =>
  state === "silent" || state === "lost"

export interface StreamHandlers {
  /** One event: its name, its data parsed, and the last id. */
  event(name: string, data: unknown, id: string): void
  state(state: StreamState, error?: Error): void
  /** Called for everything that arrives, heartbeats included. */
  heard?(): void
}

const FIRST_RETRY_MS = 500
const LAST_RETRY_MS = 5000
/** The server sends a heartbeat each second: three are missing. */
const SILENT_MS = 3500
/** A connection that has been silent for so long is opened anew. */
const STALE_MS = 40_000

/**
 * Server-sent events that are read until `signal` aborts: reconnects with growing waits, and sends the last id that it saw
 * as Last-Event-ID, so that the server continues from there. EventSource can't say why a server refused, nor keep the id
 * over a refusal.
 */
export async function readEvents(url: string, handlers: StreamHandlers, signal: AbortSignal): Promise<void> {
  let lastId = ""
  handlers.state("connecting")
  for (let wait = FIRST_RETRY_MS; !signal.aborted; wait = Math.min(wait * 2, LAST_RETRY_MS)) {
    const stale = new AbortController()
    let silentTimer: ReturnType<typeof setTimeout> | undefined
    let staleTimer: ReturnType<typeof setTimeout> | undefined
    try {
      const response = await fetch(url, {
        headers: { Accept: "text/event-stream", ...(lastId && { "Last-Event-ID": lastId }) },
        signal: AbortSignal.any([signal, stale.signal]),
      })
      if (!response.ok) {
        const error = await errorOf(response)
        // what the request itself has wrong does not get right by itself
        if (response.status < 500 && response.status !== 429) return handlers.state("refused", error)
        throw error
      }
      handlers.state("open")
      wait = FIRST_RETRY_MS
      const parser = createParser({
        onEvent({ id = lastId, event = "message", data }) {
          lastId = id
          handlers.event(event, JSON.parse(data), lastId)
        },
      })
      const text = response.body!.pipeThrough(new TextDecoderStream())
      let isSilent = false
      const hear = (): void => {
        clearTimeout(silentTimer)
        clearTimeout(staleTimer)
        handlers.heard?.()
        if (isSilent) handlers.state("open")
        isSilent = false
        silentTimer = setTimeout(() => {
          isSilent = true
          handlers.state("silent")
        }, SILENT_MS)
        staleTimer = setTimeout(() => stale.abort(), STALE_MS)
      }
      hear()
      for await (const chunk of text) {
        hear()
        parser.feed(chunk)
      }
    } catch (error) {
      if (signal.aborted) return
      handlers.state("lost", error as Error)
    } finally {
      clearTimeout(silentTimer)
      clearTimeout(staleTimer)
    }
    if (signal.aborted) return
    handlers.state("lost")
    await new Promise((resolve) => setTimeout(resolve, wait))
  }
}
