import { createParser } from "eventsource-parser"
import { errorOf } from "./api-client.ts"

export type StreamState = "connecting" | "open" | "lost" | "refused"

export interface StreamHandlers {
  /** One event: its name, its data parsed, and the last id. */
  event(name: string, data: unknown, id: string): void
  state(state: StreamState, error?: Error): void
}

const FIRST_RETRY_MS = 500
const LAST_RETRY_MS = 5000
/** The server sends something, if only a comment, every 15 s. */
const SILENCE_MS = 40_000

/**
 * Server-sent events that are read until `signal` aborts: reconnects with growing waits, and sends the last id that it saw
 * as Last-Event-ID, so that the server continues from there. EventSource can't say why a server refused, nor keep the id
 * over a refusal.
 */
export async function readEvents(url: string, handlers: StreamHandlers, signal: AbortSignal): Promise<void> {
  let lastId = ""
  handlers.state("connecting")
  for (let wait = FIRST_RETRY_MS; !signal.aborted; wait = Math.min(wait * 2, LAST_RETRY_MS)) {
    const silence = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    try {
      const response = await fetch(url, {
        headers: { Accept: "text/event-stream", ...(lastId && { "Last-Event-ID": lastId }) },
        signal: AbortSignal.any([signal, silence.signal]),
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
      const watch = (): void => {
        clearTimeout(timer)
        timer = setTimeout(() => silence.abort(), SILENCE_MS)
      }
      watch()
      for await (const chunk of text) {
        watch()
        parser.feed(chunk)
      }
    } catch (error) {
      if (signal.aborted) return
      handlers.state("lost", error as Error)
    } finally {
      clearTimeout(timer)
    }
    if (signal.aborted) return
    handlers.state("lost")
    await new Promise((resolve) => setTimeout(resolve, wait))
  }
}
