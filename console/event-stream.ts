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
 * as Last-Event-ID, so that the server goes on from there. EventSource can't say why a server refused, nor keep the id
 * over a refusal.
 */
export async function readEvents(url: string, handlers: StreamHandlers, signal: AbortSignal): Promise<void> {
  const parser = new EventParser((name, data, id) => handlers.event(name, JSON.parse(data), id))
  handlers.state("connecting")
  for (let wait = FIRST_RETRY_MS; !signal.aborted; wait = Math.min(wait * 2, LAST_RETRY_MS)) {
    const silence = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    try {
      const response = await fetch(url, {
        headers: { Accept: "text/event-stream", ...(parser.lastId && { "Last-Event-ID": parser.lastId }) },
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
      parser.reset()
      const text = response.body!.pipeThrough(new TextDecoderStream())
      const watch = (): void => {
        clearTimeout(timer)
        timer = setTimeout(() => silence.abort(), SILENCE_MS)
      }
      watch()
      for await (const chunk of text) {
        watch()
        parser.push(chunk)
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

/** Server-sent events of text that comes in pieces: https://html.spec.whatwg.org/#parsing-an-event-stream */
export class EventParser {
  /** The id of the last event that was whole; empty: none had one. */
  lastId = ""
  readonly #found: (name: string, data: string, id: string) => void
  #rest = ""
  #name = ""
  #id: string | undefined
  #data: string[] = []

  constructor(found: (name: string, data: string, id: string) => void) {
    this.#found = found
  }

  /** Forgets an event that a lost connection cut. */
  reset(): void {
    this.#rest = ""
    this.#name = ""
    this.#id = undefined
    this.#data = []
  }

  push(text: string): void {
    const lines = (this.#rest + text).split("\n")
    this.#rest = lines.pop()!
    for (const line of lines) this.#line(line.endsWith("\r") ? line.slice(0, -1) : line)
  }

  #line(line: string): void {
    if (line === "") return this.#end()
    const at = line.indexOf(":")
    const [field, value] = at < 0 ? [line, ""] : [line.slice(0, at), line.slice(at + 1).replace(/^ /, "")]
    if (field === "event") this.#name = value
    else if (field === "data") this.#data.push(value)
    else if (field === "id") this.#id = value
  }

  #end(): void {
    const [name, data, id] = [this.#name || "message", this.#data, this.#id]
    this.#name = ""
    this.#id = undefined
    this.#data = []
    if (id !== undefined) this.lastId = id
    if (data.length > 0) this.#found(name, data.join("\n"), this.lastId)
  }
}
