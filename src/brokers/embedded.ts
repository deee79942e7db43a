import type { Receipt, Record } from "../record.ts"
import type { Logger } from "../telemetry/log.ts"
import type { ConnectionMetrics } from "../telemetry/metrics.ts"
import type { Broker } from "./broker.ts"
import { logIn } from "./embedded-file.ts"
import { LogStore } from "./embedded-store.ts"
import { LogWriter } from "./embedded-writer.ts"

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
  readonly metrics: ConnectionMetrics
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
 * embedded-store.ts.
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
  readonly #store: LogStore<LogWriter>
  #topics: readonly string[] = []
  #closing = false
  #retaining: Timer | undefined

  /** For openEmbedded. */
  constructor(options: EmbeddedOptions, deps: EmbeddedDeps) {
    this.#now = deps.now ?? Date.now
    this.#store = new LogStore(logIn(options.directory), {
      log: deps.log,
      open: (place) => new LogWriter(place),
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
    this.#retainIn(0)
  }

  publish(record: Record, deadlineMs: number): Promise<Receipt> {
    return this.#store.publish(record, deadlineMs)
  }

  prepare(topics: readonly string[]): void {
    this.#topics = topics
    // Publishing makes a topic too: while another process holds the file there is nothing to be done.
    this.#store.attempt((writer) => writer.prepare(topics))
  }

  ready(): true | string {
    return this.#closing ? "the log is closing" : (this.#store.problem ?? true)
  }

  close(): Promise<void> {
    this.#closing = true
    clearTimeout(this.#retaining)
    return this.#store.close()
  }

  #retainIn(ms: number): void {
    if (this.#retentionMs === Number.POSITIVE_INFINITY && this.#retentionBytes === Number.POSITIVE_INFINITY)
      return
    this.#retaining = setTimeout(() => {
      const beforeMs = this.#now() - this.#retentionMs
      const more = this.#store.attempt((writer) => writer.trim(beforeMs, this.#retentionBytes))
      this.#retainIn(more === true ? RETENTION_SLICE_MS : RETENTION_MS)
    }, ms)
  }
}
