import { steadyMs } from "../../clock/clock.ts"
import type { Peer } from "../../http/peer.ts"
import { ApiError } from "./problem.ts"

/** Streams open at once, of all kinds. */
const MAX_STREAMS = 16
/** Bytes that wait for a client before it gets no more. */
const MAX_QUEUED_BYTES = 1024 * 1024
/** A client that has not read for so long is dropped. */
const STALLED_MS = 10_000
/** The interval of heartbeats, whatever else is sent; the page shows a service that missed three as unknown. */
const HEARTBEAT_MS = 1000

const encoder = new TextEncoder()
const HEARTBEAT = encoder.encode(":\n\n")

/** Server-sent events to one client. */
export class EventStream {
  readonly #ended = new AbortController()
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined
  #fullSinceMs: number | undefined

  /** Aborts when the client has gone, or was dropped. */
  get ended(): AbortSignal {
    return this.#ended.signal
  }

  /** Whether the client reads: what is sent else is left out. */
  get isReading(): boolean {
    return (this.#controller?.desiredSize ?? 0) > 0
  }

  /** @returns false: the client does not read, and the event was left out */
  send(event: Uint8Array): boolean {
    if (!this.isReading) return false
    this.#controller!.enqueue(event)
    return true
  }

  /** Once a second. */
  watch(nowMs: number): void {
    if (this.isReading) this.#fullSinceMs = undefined
    else if (nowMs - (this.#fullSinceMs ??= nowMs) >= STALLED_MS) this.drop()
  }

  beat(): void {
    this.send(HEARTBEAT)
  }

  /** Ends the stream: the client connects again. */
  end(): void {
    if (this.#ended.signal.aborted) return
    this.#ended.abort()
    this.#controller?.close()
  }

  drop(): void {
    if (this.#ended.signal.aborted) return
    this.#ended.abort()
    this.#controller?.error(new Error("the client does not read"))
  }

  /** The body of the answer. */
  open(): ReadableStream<Uint8Array> {
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller
        },
        cancel: () => this.#ended.abort(),
      },
      { highWaterMark: MAX_QUEUED_BYTES, size: (chunk) => chunk?.length ?? 0 },
    )
  }
}

/** An event as it is sent. */
export function encodeEvent(name: string, data: unknown, id?: string): Uint8Array {
  return encoder.encode(
    `${id === undefined ? "" : `id: ${id}\n`}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`,
  )
}

/** All open streams, up to `MAX_STREAMS` at once. */
export class EventStreams {
  readonly #open = new Set<EventStream>()
  #timer: Timer | undefined

  /** @throws ApiError 503 when too many are open */
  answer(request: Request, connection: Peer, begin: (stream: EventStream) => void): Response {
    if (this.#open.size >= MAX_STREAMS)
      throw new ApiError(503, `${MAX_STREAMS} live connections are open; close one`, { "Retry-After": "5" })
    const stream = new EventStream()
    const body = stream.open()
    this.#open.add(stream)
    stream.ended.addEventListener("abort", () => this.#closed(stream), { once: true })
    // heartbeats take the place of the server's idle timeout
    connection.timeout(request, 0)
    this.#timer ??= setInterval(() => this.#beat(), HEARTBEAT_MS).unref()
    stream.beat()
    begin(stream)
    return new Response(body, {
      headers: {
        "Content-Type": "text/event-stream",
        "Cache-Control": "no-store",
        "X-Accel-Buffering": "no",
        "X-Content-Type-Options": "nosniff",
      },
    })
  }

  close(): void {
    for (const stream of this.#open) stream.end()
  }

  #closed(stream: EventStream): void {
    this.#open.delete(stream)
    if (this.#open.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #beat(): void {
    const nowMs = steadyMs()
    for (const stream of this.#open) {
      stream.watch(nowMs)
      stream.beat()
    }
  }
}
