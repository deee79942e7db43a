import type { Receipt, Record } from "../record.ts"
import type { Logger } from "../telemetry/log.ts"
import type { ConnectionMetrics } from "../telemetry/metrics.ts"
import type { Broker } from "./broker.ts"
import { Committer } from "./embedded-committer.ts"
import { logIn } from "./embedded-file.ts"

export interface EmbeddedOptions {
  /** Folder of the log; made when it is not there. */
  readonly directory: string
  /** How long records are kept, in milliseconds. Default: for ever. */
  readonly retention?: number
  /** How many bytes of keys, values and headers are kept, over all topics; the oldest records go first. Default: all. */
  readonly retention_bytes?: number
}

export interface EmbeddedDeps {
  readonly log: Logger
  readonly metrics: Pick<ConnectionMetrics, "batch">
  /** Milliseconds since 1970, for timestamps and retention. */
  readonly now?: () => number
}

const BATCH_BYTES = 8 * 1024 * 1024
/** How far beyond its limits the log may grow: what arrives in this time. */
const RETENTION_MS = 200
/** Between two slices of retention, commits have their turn. */
const RETENTION_SLICE_MS = 5

/**
 * Opens the log in a directory for publishing. One process at a time can. Its states are those of its file, see
 * embedded-committer.ts.
 *
 * @throws HooklineError `log_locked`, `log_io`
 */
export function openEmbedded(options: EmbeddedOptions, deps: EmbeddedDeps): EmbeddedBroker {
  return new EmbeddedBroker(options, deps)
}

export type Retention = Pick<EmbeddedOptions, "retention" | "retention_bytes">

export class EmbeddedBroker implements Broker {
  #retentionMs = Number.POSITIVE_INFINITY
  #retentionBytes = Number.POSITIVE_INFINITY
  readonly #now: () => number
  readonly #committer: Committer
  #topics: readonly string[] = []
  #closing = false
  #retaining: Timer | undefined
  /** Counts the changes of retention: each has a round of its own. */
  #round = 0

  /** For openEmbedded. */
  constructor(options: EmbeddedOptions, deps: EmbeddedDeps) {
    this.#now = deps.now ?? Date.now
    this.#committer = new Committer(logIn(options.directory), {
      log: deps.log,
      batchBytes: BATCH_BYTES,
      committed: (records, ms) => deps.metrics.batch(records, ms),
      recovered: () => this.prepare(this.#topics),
      now: this.#now,
    })
    this.retain(options)
  }

  /** Keeps records for other times, or other sizes, from now on. */
  retain({ retention, retention_bytes }: Retention): void {
    this.#retentionMs = retention ?? Number.POSITIVE_INFINITY
    this.#retentionBytes = retention_bytes ?? Number.POSITIVE_INFINITY
    clearTimeout(this.#retaining)
    this.#retainIn(0, ++this.#round)
  }

  publish(record: Record, deadlineMs: number): Promise<Receipt> {
    return this.#committer.publish(record, deadlineMs)
  }

  prepare(topics: readonly string[]): void {
    this.#topics = topics
    this.#committer.prepare(topics)
  }

  ready(): true | string {
    return this.#closing ? "the log is closing" : (this.#committer.problem ?? true)
  }

  close(): Promise<void> {
    this.#closing = true
    clearTimeout(this.#retaining)
    this.#round++
    return this.#committer.close()
  }

  #retainIn(ms: number, round: number): void {
    if (this.#retentionMs === Number.POSITIVE_INFINITY && this.#retentionBytes === Number.POSITIVE_INFINITY)
      return
    this.#retaining = setTimeout(() => {
      const beforeMs = this.#now() - this.#retentionMs
      this.#committer.trim(beforeMs, this.#retentionBytes, (more) => {
        if (round === this.#round) this.#retainIn(more ? RETENTION_SLICE_MS : RETENTION_MS, round)
      })
    }, ms)
  }
}
