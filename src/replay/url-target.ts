import type { StoredRecord } from "../brokers/broker.ts"
import { deliver, type Attempt } from "./post.ts"
import type { ReplayTarget, Sent } from "./target.ts"

/** Called after each attempt; `retryInMs` when there will be another. */
export type Attempted = (record: StoredRecord, attempt: Attempt, retryInMs: number | undefined) => void

export interface UrlTargetOptions {
  /** How often a record has to be refused; 1 unless given. */
  readonly refusals?: number
  readonly attempted?: Attempted
}

/** A URL to which records are posted, one after the other. */
export class UrlTarget implements ReplayTarget {
  readonly window = { records: 1, bytes: Number.POSITIVE_INFINITY }
  readonly #url: URL
  readonly #options: UrlTargetOptions
  readonly #stop = new AbortController()
  #problem: string | undefined

  constructor(url: URL, options: UrlTargetOptions = {}) {
    this.#url = url
    this.#options = options
  }

  async send(record: StoredRecord): Promise<Sent> {
    const { refusals = 1, attempted } = this.#options
    const end = await deliver(this.#url, record, {
      signal: this.#stop.signal,
      refusals,
      attempted: (attempt, retryInMs) => {
        this.#problem = retryInMs === undefined ? undefined : attempt.reason
        attempted?.(record, attempt, retryInMs)
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
