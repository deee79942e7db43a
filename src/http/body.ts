// Hot path: every event passes here.
import type { RefusalReason } from "./answer.ts"
import type { BodyDeadlines } from "./body-deadlines.ts"
import type { Decoder } from "./content-coding.ts"
import { SMALL_BYTES, type Share } from "./in-flight.ts"

export interface BodyLimits {
  /** Of the body, as sent and again as decoded. */
  readonly maxBytes: number
  /** From the end of the header section to the end of the body. */
  readonly deadlines: BodyDeadlines
}

/**
 * Reads a body whole, within its limits. What is read is held in the request's share, before it is read where its length
 * is declared, else as it arrives.
 *
 * While less than half of the budget is free, all but small bodies are held as they arrive, though that costs a fifth more
 * CPU: else 64 senders that declare 1 MiB each and send next to nothing would keep everybody out. While half of it is
 * being worked on, none but small bodies are taken.
 *
 * @returns the bytes, or why there are none. Of a body that is refused the rest is not kept.
 */
export function readBody(
  request: Request,
  share: Share,
  limits: BodyLimits,
): Promise<Uint8Array | RefusalReason> | RefusalReason {
  const declared = request.headers.get("content-length")
  // equal repetitions, which the parser lets through, come as a list; such a body is measured as it arrives
  if (declared === null || declared.includes(","))
    return share.isCrowded ? discardBody(request) : readChunked(request, share, limits)
  const length = Number(declared)
  if (length > limits.maxBytes) return "body_too_large"
  if (length > share.freeBytes || (length > SMALL_BYTES && share.isCrowded)) return discardBody(request)
  if (length > SMALL_BYTES && length > share.amplyFreeBytes)
    return readMeasured(request, share, { ...limits, maxBytes: length })
  share.hold(length)
  return within(limits.deadlines, request.bytes())
}

/** Has a body thrown away as it arrives: else Bun would keep 1 MiB of it until it is answered. */
async function discardBody(request: Request): Promise<RefusalReason> {
  await request.body?.cancel()
  return "in_flight_full"
}

/** Reads a body as it arrives. */
function readMeasured(
  request: Request,
  share: Share,
  { maxBytes, deadlines }: BodyLimits,
): Promise<Uint8Array | RefusalReason> {
  if (request.body === null) return Promise.resolve(new Uint8Array())
  return within(deadlines, collect(request.body.getReader(), share, maxBytes))
}

/** Reads a body of unknown length. */
async function readChunked(
  request: Request,
  share: Share,
  limits: BodyLimits,
): Promise<Uint8Array | RefusalReason> {
  const body = await readMeasured(request, share, limits)
  // the parser takes trailers for a bad request, which it answers itself and closes; by the next turn it shows
  await new Promise(setImmediate)
  return request.signal.aborted ? "client_closed" : body
}

/**
 * Decodes a body within its limits. The share then holds the decoded bytes alone; meanwhile both are counted.
 *
 * @returns the bytes, or why there are none
 */
export function decodeBody(
  encoded: Uint8Array,
  decode: Decoder,
  share: Share,
  maxBytes: number,
): Uint8Array | RefusalReason {
  const roomBytes = Math.min(maxBytes, share.freeBytes)
  if (roomBytes === 0) return "in_flight_full"
  const decoded = decode(encoded, roomBytes)
  if (decoded === "invalid") return "invalid_encoding"
  if (decoded === "too_large") return roomBytes < maxBytes ? "in_flight_full" : "body_too_large"
  // nothing else ran since the room was measured
  share.hold(decoded.length)
  return decoded
}

/**
 * Waits for a body, but not longer than it may take. A connection that ends before is a reason too.
 *
 * Every event's body is waited for: Bun hands it over just after the handler has returned. Promise.race, or an async
 * function here, would cost 1 us more of CPU.
 */
function within(
  deadlines: BodyDeadlines,
  reading: Promise<Uint8Array | RefusalReason>,
): Promise<Uint8Array | RefusalReason> {
  return new Promise((resolve, reject) => {
    const wait = deadlines.start(resolve)
    const settle = (body: Uint8Array | RefusalReason): void => {
      deadlines.end(wait)
      resolve(body)
    }
    const fail = (error: unknown): void => {
      if (error instanceof Error && error.name === "AbortError") return settle("client_closed")
      deadlines.end(wait)
      reject(error)
    }
    reading.then(settle, fail)
  })
}

/**
 * Collects a body of unknown length in one buffer that doubles, so that what is held is what is counted, however small
 * the chunks are that it comes in.
 */
async function collect(
  reader: Pick<ReadableStreamDefaultReader<Uint8Array>, "read" | "cancel">,
  share: Share,
  maxBytes: number,
): Promise<Uint8Array | RefusalReason> {
  let buffer = new Uint8Array()
  let length = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return buffer.subarray(0, length)
    const needed = length + value.length
    if (needed > buffer.length) {
      const capacity = Math.max(needed, Math.min(Math.max(buffer.length * 2, SMALL_BYTES), maxBytes))
      const refused =
        needed > maxBytes ? "body_too_large" : share.hold(capacity) ? undefined : "in_flight_full"
      if (refused !== undefined) {
        await reader.cancel()
        return refused
      }
      const larger = new Uint8Array(capacity)
      larger.set(buffer.subarray(0, length))
      buffer = larger
    }
    buffer.set(value, length)
    length = needed
  }
}
