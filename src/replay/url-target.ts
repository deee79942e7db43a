import type { StoredRecord } from "../brokers/broker.ts"
import { deliver, type Attempt } from "./post.ts"
import type { ReplayTarget, Sent } from "./target.ts"

/** Called after each attempt; `retryInMs` when there will be another. */
export type Attempted = (record: StoredRecord, attempt: Attempt, retryInMs: number | undefined) => void

/** A URL to which records are posted, one after the other. */
export class UrlTarget implements ReplayTarget {
  readonly window = { records: 1, bytes: Number.POSITIVE_INFINITY }
  readonly #url: URL
  readonly #attempted: Attempted | undefined
  readonly #stop = new AbortController()
  #problem: string | undefined

  constructor(url: URL, attempted?: Attempted) {
    this.#url = url
    this.#attempted = attempted
  }

  async send(record: StoredRecord): Promise<Sent> {
    const end = await deliver(this.#url, record, {
      signal: this.#stop.signal,
      attempted: (attempt, retryInMs) => {
        this.#problem = attempt.outcome === "unavailable" ? attempt.reason : undefined
        this.#attempted?.(record, attempt, retryInMs)
      },
    })
    if (end === undefined) return "stopped"
    return end.outcome === "delivered" ? "delivered" : { reason: end.reason, status: end.status }
  }

  problem(): string | undefined {
    return this.#problem
  }

  stop(): void {
    this.#stop.abort()
  }
}
