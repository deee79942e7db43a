import type { StoredRecord } from "../brokers/broker.ts"
import { steadyMs } from "../clock/clock.ts"
import { readRetryAfter, fetchFailure, throughProxy } from "../outgoing/proxied-fetch.ts"
import { pinnedFetch, refusedHost, type AddressRule } from "../outgoing/refused-addresses.ts"
import type { Sendable, Signer } from "../verify/verification.ts"
import type { Attempt, AttemptOptions } from "./attempt.ts"
import { attemptTarget } from "./attempt-target.ts"
import { headersOf } from "./request-of-record.ts"
import type { AttemptTarget } from "./target.ts"

export interface PostOptions {
  /** Time limit of a response. */
  readonly timeoutMs?: number | undefined
  /** In addition to the record's, or in place of them. */
  readonly headers?: readonly (readonly [name: string, value: string])[] | undefined
  readonly signer?: Signer | undefined
  readonly tls?: BunFetchRequestInit["tls"] | undefined
  /** The option of the CAs that the server's certificate is checked against, where there is one. */
  readonly caOption?: string | undefined
  /** Which addresses the URL may lead to. Default: the rule for URLs of the configuration. */
  readonly rule?: AddressRule | undefined
}

const TIMEOUT_MS = 30_000
/** A Retry-After beyond it counts as this. */
const LONGEST_RETRY_AFTER_MS = 3_600_000
/** The time that a response's body may take, once its status has arrived. */
const BODY_MS = 1000
/** How much of a response's body is read. */
const MOST_READ_BYTES = 16_384
const MOST_SHOWN = 200

/**
 * Posts records to a URL. A 2xx accepts one; a 3xx or 4xx refuses it, except for those that may pass; a 5xx, or no response,
 * says nothing of it.
 */
function posting(
  url: URL,
  { timeoutMs = TIMEOUT_MS, headers = [], signer, tls, caOption, rule = refusedHost }: PostOptions,
): AttemptOptions["attempt"] {
  const fetch = pinnedFetch(url, rule)
  return async (record, signal) => {
    const startedMs = steadyMs()
    try {
      const request = await toRequest(url, record, headers, signer)
      const response = await fetch(request.url, {
        method: "POST",
        headers: request.headers,
        body: request.body,
        redirect: "manual",
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
        ...(tls !== undefined && { tls }),
      })
      return toAttempt(response, await readStart(response), steadyMs() - startedMs, url)
    } catch (error) {
      return {
        outcome: "unavailable",
        reason: fetchFailure(error, caOption),
        durationMs: steadyMs() - startedMs,
      }
    }
  }
}

async function toRequest(
  url: URL,
  record: StoredRecord,
  added: NonNullable<PostOptions["headers"]>,
  signer: Signer | undefined,
): Promise<Pick<Sendable, "url" | "headers" | "body">> {
  const headers = headersOf(record)
  for (const [name, value] of added) headers.set(name, value)
  const body = record.value.slice()
  if (signer === undefined) return { url: url.href, headers, body }
  // the same for each attempt, so that it can be told from another event
  const id = `${record.topic}-${record.partition}-${record.offset}`
  return signer.sign({ method: "POST", url: url.href, headers, body, id }, Date.now())
}

/** A URL to which records are posted. */
export const urlTarget = (
  url: URL,
  options: PostOptions & Omit<AttemptOptions, "attempt"> = {},
): AttemptTarget => attemptTarget({ ...options, attempt: posting(url, options) })

function toAttempt({ status, headers }: Response, text: string, durationMs: number, url: URL): Attempt {
  if (status >= 200 && status < 300) return { outcome: "delivered", status, reason: "", durationMs }
  const shown = text.trim().slice(0, MOST_SHOWN)
  if (status >= 500 || RETRIED.has(status)) {
    const reason = `${status}${throughProxy(url)}${shown === "" ? "" : `: ${shown}`}`
    const retryAfterMs = readRetryAfter(headers, LONGEST_RETRY_AFTER_MS)
    return { outcome: "unavailable", status, reason, retryAfterMs, durationMs }
  }
  const why = status < 400 ? "redirects are not followed" : shown
  const reason = why === "" ? `${status}` : `${status}: ${why}`
  return { outcome: "refused", status, reason, durationMs }
}

/** The 4xx that may pass: timeout, too early, too many requests. */
const RETRIED = new Set([408, 425, 429])

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
