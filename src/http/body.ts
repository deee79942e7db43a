// Hot path: every event passes here.
import { SMALL_BYTES, type Reservation } from "./admission/budget.ts"
import type { RefusalReason } from "./answer.ts"
import type { Deadlines } from "../clock/deadlines.ts"
import type { Decoder } from "./content-coding.ts"

export interface BodyLimits {
  /** Limit of the body, as sent and again as decoded. */
  readonly maxBytes: number
  /** Limit the time from the end of the header section to the end of the body. */
  readonly deadlines: Deadlines
  /** Whether the server guarantees that a body has its declared length. */
  readonly isFramed: boolean
}

/**
 * Reads a whole body within its limits. Its bytes are reserved before reading if the length is declared, else as they
 * arrive.
 *
 * While less than half of the budget is free, all but small bodies are reserved as they arrive, though that costs a
 * fifth more CPU: otherwise 64 senders that declare 1 MiB each and send nothing would block everyone. While bodies
 * being processed take half of the budget, only small ones are accepted.
 *
 * @returns the bytes, or the reason for a refusal; the rest of a refused body is discarded
 */
export function readBody(
  request: Request,
  reservation: Reservation,
  limits: BodyLimits,
): Promise<Uint8Array | RefusalReason> | RefusalReason {
  const { budget } = reservation
  const declared = request.headers.get("content-length")
  // equal repeated Content-Length headers, which the parser lets through, arrive as a list: measure the body instead
  if (declared === null || declared.includes(","))
    return budget.isCrowded ? discardBody(request) : readChunked(request, reservation, limits)
  const length = Number(declared)
  if (length > limits.maxBytes) return "body_too_large"
  if (length > budget.freeBytes || (length > SMALL_BYTES && budget.isCrowded)) return discardBody(request)
  if (!limits.isFramed) return readMeasured(request, reservation, limits)
  if (length > SMALL_BYTES && length > budget.amplyFreeBytes)
    return readMeasured(request, reservation, { ...limits, maxBytes: length })
  reservation.reserve(length)
  return within(limits.deadlines, request.bytes())
}

/** Discards a body as it arrives: Bun would keep 1 MiB of it until the answer. */
async function discardBody(request: Request): Promise<RefusalReason> {
  await request.body?.cancel()
  return "in_flight_full"
}

function readMeasured(
  request: Request,
  reservation: Reservation,
  { maxBytes, deadlines }: BodyLimits,
): Promise<Uint8Array | RefusalReason> {
  if (request.body === null) return Promise.resolve(new Uint8Array())
  return within(deadlines, collect(request.body.getReader(), reservation, maxBytes))
}

async function readChunked(
  request: Request,
  reservation: Reservation,
  limits: BodyLimits,
): Promise<Uint8Array | RefusalReason> {
  const body = await readMeasured(request, reservation, limits)
  // the parser answers a body with trailers itself, as a bad request, and closes; visible in the next event-loop turn
  await new Promise(setImmediate)
  return request.signal.aborted ? "client_closed" : body
}

/** The most that a body may expand: what deflate can at most. Brotli and zstd make megabytes of ten bytes. */
const MAX_RATIO = 1032
/** Any body may expand to that many bytes. */
const EXPANDED_BYTES = 64 * 1024

/** Decodes a body within its limits. Both forms are counted meanwhile, then the decoded one only. */
export function decodeBody(
  encoded: Uint8Array,
  decode: Decoder,
  reservation: Reservation,
  maxBytes: number,
): Uint8Array | RefusalReason {
  const roomBytes = Math.min(maxBytes, reservation.budget.freeBytes)
  if (roomBytes <= 0) return "in_flight_full"
  const limitBytes = Math.min(roomBytes, Math.max(encoded.length * MAX_RATIO, EXPANDED_BYTES))
  const decoded = decode(encoded, limitBytes)
  if (typeof decoded === "string") {
    reservation.mostBytes = Math.max(reservation.mostBytes, limitBytes)
    if (decoded === "invalid") return "invalid_encoding"
    if (limitBytes < roomBytes) return "compression_ratio"
    return roomBytes < maxBytes ? "in_flight_full" : "body_too_large"
  }
  // synchronous since the free bytes were read: can't fail
  reservation.reserve(decoded.length)
  return decoded
}

/** Waits for a body until its deadline or the end of the connection; Promise.race would cost 1 us of CPU more. */
function within(
  deadlines: Deadlines,
  reading: Promise<Uint8Array | RefusalReason>,
): Promise<Uint8Array | RefusalReason> {
  return new Promise((resolve, reject) => {
    const wait = deadlines.start(() => resolve("body_timeout"))
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

/** The largest chunk that costs more to be read alone than in the next turn of the event loop, with what follows it. */
const TINY_BYTES = 1024

/**
 * Collects a body of unknown length in one doubling buffer: the memory held is what is counted.
 *
 * Bun gives each chunk to a read that waits for it, at 0.2 us and more, and joins those that come while none does. So
 * after a tiny chunk the next read waits for a turn of the event loop: 1 MB in chunks of one byte are then 10 reads
 * instead of a million.
 */
async function collect(
  reader: Pick<ReadableStreamDefaultReader<Uint8Array>, "read" | "cancel">,
  reservation: Reservation,
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
        needed > maxBytes ? "body_too_large" : reservation.reserve(capacity) ? undefined : "in_flight_full"
      if (refused !== undefined) {
        await reader.cancel()
        return refused
      }
      const larger = new Uint8Array(capacity)
      larger.set(buffer.subarray(0, length))
      buffer = larger
    }
    buffer.set(value, length)
    if (length > 0 && value.length <= TINY_BYTES) await new Promise(setImmediate)
    length = needed
  }
}
