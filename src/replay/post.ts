import type { StoredRecord } from "../brokers/broker.ts"
import { Backoff } from "../clock/backoff.ts"
import { pause, steadyMs } from "../clock/clock.ts"
import { fetchFailure, proxiedFetch, throughProxy } from "../outgoing/proxied-fetch.ts"
import { headersOf } from "./request-of-record.ts"

/** How one POST of a record ended. */
export interface Attempt {
  /**
   * - delivered: a 2xx
   * - refused: a 3xx or 4xx; the target would not take this record if it came again
   * - unavailable: a 5xx, 408, 425 or 429, or no response
   */
  readonly outcome: "delivered" | "refused" | "unavailable"
  /** undefined: no response */
  readonly status: number | undefined
  /** The status and the beginning of the body; empty: delivered. */
  readonly reason: string
  /** The time in the header Retry-After. */
  readonly retryAfterMs?: number | undefined
  readonly durationMs: number
}

export interface Delivery {
  readonly signal: AbortSignal
  /** Time limit of a response. */
  readonly timeoutMs?: number
  /** How often the target has to refuse the record; 1 unless given. */
  readonly refusals?: number
  /** Called after each attempt; `retryInMs` when there will be another. */
  readonly attempted?: (attempt: Attempt, retryInMs: number | undefined) => void
}

const TIMEOUT_MS = 30_000
const RETRY_MS = { first: 250, longest: 10_000 }
/** A Retry-After beyond it counts as this. */
const LONGEST_RETRY_AFTER_MS = 3_600_000
/** The time that a response's body may take, once its status has arrived. */
const BODY_MS = 1000
/** How much of a response's body is read. */
const MOST_READ_BYTES = 16_384
const MOST_SHOWN = 200

/**
 * Posts a record until the target accepts it or has refused it often enough, with growing pauses or those that Retry-After
 * asks for.
 *
 * @returns undefined when the signal aborted before
 */
export async function deliver(
  url: URL,
  record: StoredRecord,
  { signal, timeoutMs = TIMEOUT_MS, refusals = 1, attempted }: Delivery,
): Promise<Attempt | undefined> {
  const headers = headersOf(record)
  let refused = 0
  const pauses = new Backoff(RETRY_MS)
  for (;;) {
    if (signal.aborted) return undefined
    const attempt = await post(
      url,
      record.value,
      headers,
      AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    )
    if (signal.aborted && attempt.outcome === "unavailable") return undefined
    if (attempt.outcome === "delivered" || (attempt.outcome === "refused" && ++refused >= refusals)) {
      attempted?.(attempt, undefined)
      return attempt
    }
    const pauseMs = pauses.failed()
    const { retryAfterMs } = attempt
    // up to a quarter less, so that several senders do not come back together
    const retryInMs =
      retryAfterMs === undefined
        ? Math.round(pauseMs * (1 - Math.random() / 4))
        : Math.max(retryAfterMs, RETRY_MS.first)
    attempted?.(attempt, retryInMs)
    await pause(retryInMs, signal)
  }
}

async function post(url: URL, value: Uint8Array, headers: Headers, signal: AbortSignal): Promise<Attempt> {
  const startedMs = steadyMs()
  try {
    const response = await proxiedFetch(url, {
      method: "POST",
      headers,
      body: value.slice(),
      redirect: "manual",
      signal,
    })
    const text = await readStart(response)
    return toAttempt(response, text, steadyMs() - startedMs, url)
  } catch (error) {
    const durationMs = steadyMs() - startedMs
    return { outcome: "unavailable", status: undefined, reason: fetchFailure(error), durationMs }
  }
}

function toAttempt({ status, headers }: Response, text: string, durationMs: number, url: URL): Attempt {
  if (status >= 200 && status < 300) return { outcome: "delivered", status, reason: "", durationMs }
  const shown = text.trim().slice(0, MOST_SHOWN)
  if (status >= 500 || RETRIED.has(status)) {
    const reason = `${status}${throughProxy(url)}${shown === "" ? "" : `: ${shown}`}`
    return { outcome: "unavailable", status, reason, retryAfterMs: readRetryAfter(headers), durationMs }
  }
  const why = status < 400 ? "redirects are not followed" : shown
  const reason = why === "" ? `${status}` : `${status}: ${why}`
  return { outcome: "refused", status, reason, durationMs }
}

/** The 4xx that may pass: timeout, too early, too many requests. */
const RETRIED = new Set([408, 425, 429])

function readRetryAfter(headers: Headers): number | undefined {
  const text = headers.get("retry-after") ?? ""
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now()
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), LONGEST_RETRY_AFTER_MS)
}

/**
 * Reads a small body to its end, so that the connection is used again. One that stalls or breaks off is read as far as it
 * came: the status says what became of the record.
 */
async function readStart({ body }: Response): Promise<string> {
  if (body === null) return ""
  const reader = body.getReader()
  const chunks: Uint8Array[] = []
  const timer = setTimeout(() => void reader.cancel(), BODY_MS)
  try {
    for (let bytes = 0; bytes <= MOST_READ_BYTES;) {
      const { done, value } = await reader.read()
      if (done) break
      chunks.push(value)
      bytes += value.length
    }
    await reader.cancel()
  } catch {
    // it broke off
  } finally {
    clearTimeout(timer)
  }
  return Buffer.concat(chunks).toString()
}
