import type { Receipt, Record } from "../record.ts"
import type { Logger } from "../telemetry/log.ts"
import type { ConnectionMetrics, LogMetrics } from "../telemetry/metrics.ts"
import type { Broker } from "./broker.ts"
import { Committer } from "./embedded-committer.ts"
import { logIn } from "./embedded-file.ts"
import { Retention } from "./embedded-retention.ts"
import { RetentionClock } from "./retention-clock.ts"

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
  /** What retention counts with; nothing is counted without it. */
  readonly logMetrics?: LogMetrics
  /** Milliseconds since 1970, for timestamps and retention. */
  readonly now?: () => number
  /** As steadyMs, for retention. */
  readonly steady?: () => number
}

const BATCH_BYTES = 8 * 1024 * 1024

/**
 * Opens the log in a directory for publishing. One process at a time can. Its states are those of its file, see
 * embedded-committer.ts.
 *
 * @throws HooklineError `log_locked`, `log_io`
 */
export function openEmbedded(options: EmbeddedOptions, deps: EmbeddedDeps): EmbeddedBroker {
  return new EmbeddedBroker(options, deps)
}

export class EmbeddedBroker implements Broker {
  readonly #committer: Committer
  readonly #retention: Retention
  #topics: readonly string[] = []
  #closing = false

  /** For openEmbedded. */
  constructor(options: EmbeddedOptions, deps: EmbeddedDeps) {
    const { log, metrics, logMetrics = { deleted() {}, walHeld() {} }, now = Date.now, steady } = deps
    const place = logIn(options.directory)
    this.#committer = new Committer(place, {
      log,
      batchBytes: BATCH_BYTES,
      committed: (records, ms) => metrics.batch(records, ms),
      recovered: () => this.prepare(this.#topics),
      now: () => clock.stamp(),
    })
    const clock = new RetentionClock(now, this.#committer.newestMs, steady)
    this.#retention = new Retention({
      log,
      metrics: logMetrics,
      file: place.file,
      clock,
      trim: (limits, done) => this.#committer.trim(limits, done),
    })
    this.retain(options)
  }

  /** Keeps records for other times, or other sizes, from now on. */
  retain({ retention, retention_bytes }: Pick<EmbeddedOptions, "retention" | "retention_bytes">): void {
    this.#retention.keep({
      ms: retention ?? Number.POSITIVE_INFINITY,
      bytes: retention_bytes ?? Number.POSITIVE_INFINITY,
    })
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
    this.#retention.end()
    return this.#committer.close()
  }
}
