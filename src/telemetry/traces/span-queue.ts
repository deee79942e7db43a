import { Backoff } from "../../clock/backoff.ts"
import { pause, steadyMs, within } from "../../clock/clock.ts"
import { Lasting } from "../../clock/lasting.ts"
import { readRetryAfter, fetchFailure, proxiedFetch, throughProxy } from "../../outgoing/proxied-fetch.ts"
import type { Logger } from "../log.ts"
import { encodeSpans, readRejectedSpans, type EndedSpan } from "./otlp.ts"
import type { Attributes } from "./trace.ts"
import type { DropReason, TraceMetrics } from "./trace-metrics.ts"

export interface SpanQueueOptions {
  /** URL of the collector, with the path. */
  readonly endpoint: string
  readonly headers: { readonly [name: string]: string }
  /** What the spans are of: the service and its instance. */
  readonly resource: Attributes
  readonly log: Logger
  readonly metrics: TraceMetrics
}

/** Spans that wait for the collector; further ones are dropped. Some 2 KiB each. */
const MOST_WAITING = 2048
/** Spans of a request: few, since encoding them blocks the event loop. */
const BATCH = 128
/** How long spans wait for others. */
const GATHER_MS = 1000
const REQUEST_TIMEOUT_MS = 10_000
const RETRY_MS = { first: 1000, longest: 30_000 }
/** Time that a stop waits for the collector at most: traces are not worth a slow restart. */
const CLOSE_MS = 5000
/** A longer answer is not read. */
const MOST_ANSWER_BYTES = 64 * 1024

/** The statuses that OTLP/HTTP allows a client to retry. */
const RETRIED = [429, 502, 503, 504]

/**
 * The spans that wait for the collector, in order. They are sent in batches, one at a time:
 *
 * - idle: no span waits
 * - gathering: until a batch is full or GATHER_MS have passed
 * - sending: a batch, which stays in the queue until it is taken or refused
 * - retrying: the collector is unavailable; the batch is sent again, after ever longer pauses
 * - closing: everything is sent at once; the first failure drops the rest
 */
export class SpanQueue {
  readonly #options: SpanQueueOptions
  #spans: EndedSpan[] = []
  #running: Promise<void> | undefined
  /** Aborted by a full batch. */
  #gathering = new AbortController()
  readonly #closing = new AbortController()
  /** Ends a request that takes longer than a stop waits. */
  readonly #ended = new AbortController()
  readonly #failing = new Lasting()
  /** Spans dropped since the collector failed. */
  #lost = 0

  constructor(options: SpanQueueOptions) {
    this.#options = options
  }

  add(span: EndedSpan): void {
    if (this.#closing.signal.aborted) return this.#drop("closed", 1)
    if (this.#spans.length >= MOST_WAITING) return this.#drop("queue_full", 1)
    this.#spans.push(span)
    if (this.#spans.length >= BATCH) this.#gathering.abort()
    this.#running ??= this.#run()
  }

  /** Sends what waits, until `untilMs` by the steady clock. */
  async close(untilMs: number): Promise<void> {
    this.#closing.abort()
    this.#gathering.abort()
    if (this.#running === undefined) return
    await within(Math.min(CLOSE_MS, untilMs - steadyMs()), this.#running, () => {
      this.#ended.abort()
      return this.#running
    })
  }

  async #run(): Promise<void> {
    const { signal: closing } = this.#closing
    const pauses = new Backoff(RETRY_MS)
    while (this.#spans.length > 0) {
      if (this.#spans.length < BATCH && !closing.aborted) {
        this.#gathering = new AbortController()
        await pause(GATHER_MS, this.#gathering.signal)
      }
      const batch = this.#spans.slice(0, BATCH)
      const failure = await this.#send(batch)
      if (failure === undefined || failure.isFinal) {
        this.#spans.splice(0, batch.length)
        if (failure !== undefined) this.#drop("refused", batch.length)
        pauses.reset()
      } else if (closing.aborted) {
        this.#drop("closed", this.#spans.splice(0).length)
      } else {
        await pause(Math.max(failure.retryAfterMs, pauses.failed()), closing)
      }
    }
    this.#running = undefined
  }

  /** @returns undefined: the collector has taken the spans */
  async #send(spans: readonly EndedSpan[]): Promise<Failure | undefined> {
    const { endpoint, headers, resource, metrics } = this.#options
    const body = encodeSpans(resource, spans)
    try {
      const response = await proxiedFetch(endpoint, {
        method: "POST",
        headers: { ...headers, "Content-Type": "application/x-protobuf" },
        body,
        // the headers may have a secret
        redirect: "manual",
        signal: AbortSignal.any([AbortSignal.timeout(REQUEST_TIMEOUT_MS), this.#ended.signal]),
      })
      const { ok, status } = response
      if (!ok) {
        await response.body?.cancel()
        return this.#failed(
          `HTTP ${status}${throughProxy(endpoint)}`,
          !RETRIED.includes(status),
          readRetryAfter(response.headers, RETRY_MS.longest),
        )
      }
      const rejected = await rejectedSpans(response)
      if (rejected === undefined)
        return this.#failed("not an OTLP endpoint: its answer is none of OTLP", true)
      metrics.exported(spans.length - rejected)
      if (rejected > 0) this.#drop("refused", rejected)
      this.#recovered()
      return undefined
    } catch (error) {
      return this.#failed(fetchFailure(error), false)
    }
  }

  #failed(reason: string, isFinal: boolean, retryAfterMs = 0): Failure {
    if (this.#failing.began() !== undefined) {
      this.#lost = 0
      const { endpoint, log } = this.#options
      const what = isFinal
        ? "traces refused by the collector; spans are dropped"
        : "collector unavailable; traces wait, up to a limit"
      log.warn({ endpoint: new URL(endpoint).origin, reason }, what)
    }
    return { isFinal, retryAfterMs }
  }

  #recovered(): void {
    if (this.#failing.ended() !== undefined)
      this.#options.log.info({ spans_dropped: this.#lost }, "traces are exported again")
  }

  #drop(reason: DropReason, spans: number): void {
    this.#options.metrics.dropped(reason, spans)
    this.#lost += spans
  }
}

/** Why a batch was not taken. */
interface Failure {
  /** Whether it is not sent again. */
  readonly isFinal: boolean
  readonly retryAfterMs: number
}

/** How many spans of an accepted request the collector has rejected: OTLP's partial success. undefined: not OTLP. */
async function rejectedSpans(response: Response): Promise<number | undefined> {
  const length = Number(response.headers.get("content-length") ?? 0)
  if (length === 0 || length > MOST_ANSWER_BYTES) {
    await response.body?.cancel()
    return 0
  }
  return readRejectedSpans(await response.bytes())
}
