import { steadyMs } from "../../clock/clock.ts"
import { Lasting } from "../../clock/lasting.ts"
import type { Logger } from "../../telemetry/log.ts"
import type { LogMetrics } from "../../telemetry/metrics.ts"
import type { LogState } from "../broker.ts"
import type { Trimmed } from "./log-database.ts"
import type { Limits, Reason } from "./retention-trimmer.ts"

export interface RetentionDependencies {
  readonly log: Logger
  readonly metrics: LogMetrics
  /** The log's file, for log lines. */
  readonly file: string
  /** Deletes a slice of what is beyond the limits. @param done with undefined: the file can't be written now */
  readonly trim: (limits: Limits, done: (trimmed: Trimmed | undefined) => void) => void
  readonly roundMs?: number | undefined
}

/** The log exceeds its limits by what arrives between two rounds. */
const ROUND_MS = 200
/** Pause between two slices, for commits. */
const SLICE_MS = 5
/** Least time between two log lines about deletions for one reason, or about a reader that holds the WAL. */
const LINE_MS = 60_000

/** Has the log's thread delete what is beyond the limits, in rounds of slices; logs and counts what was deleted. */
export class Retention {
  readonly #deps: RetentionDependencies
  #limits: Limits = { ms: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY }
  #timer: Timer | undefined
  /** Counts changes of the limits: the answer to an older round starts no further one. */
  #round = 0
  readonly #deleted: { readonly [reason in Reason]: Summary } = { age: new Summary(), size: new Summary() }
  #last: Trimmed | undefined
  /** A reader holds the WAL. */
  readonly #held = new Lasting({ remindMs: LINE_MS })

  constructor(deps: RetentionDependencies) {
    this.#deps = deps
  }

  keep(ms = Number.POSITIVE_INFINITY, bytes = Number.POSITIVE_INFINITY): void {
    this.#limits = { ms, bytes }
    clearTimeout(this.#timer)
    this.#next(0, ++this.#round)
  }

  /** undefined: the thread has not said yet. */
  get state(): LogState | undefined {
    if (this.#last === undefined) return undefined
    const { bytes, fileBytes, heldBytes, oldestAgeMs } = this.#last
    return {
      bytes,
      fileBytes,
      heldBytes,
      oldestAgeMs,
      retentionMs: this.#limits.ms,
      retentionBytes: this.#limits.bytes,
    }
  }

  end(): void {
    clearTimeout(this.#timer)
    this.#round++
    this.#logDeletions(true, Number.POSITIVE_INFINITY)
  }

  #next(ms: number, round: number): void {
    this.#timer = setTimeout(() => {
      this.#deps.trim(this.#limits, (trimmed) => {
        if (trimmed !== undefined) this.#trimmed(trimmed)
        if (round === this.#round)
          this.#next(trimmed?.more === true ? SLICE_MS : (this.#deps.roundMs ?? ROUND_MS), round)
      })
    }, ms)
  }

  #trimmed(trimmed: Trimmed): void {
    const { deleted, more, heldBytes } = trimmed
    this.#last = trimmed
    for (const reason of ["age", "size"] as const) {
      const { records, bytes } = deleted[reason]
      if (records === 0) continue
      this.#deps.metrics.deleted(reason, records, bytes)
      this.#deleted[reason].add(records, bytes)
    }
    this.#logDeletions(!more)
    this.#logHeld(heldBytes)
  }

  /** @param isRoundOver the first line has all of a round */
  #logDeletions(isRoundOver: boolean, nowMs = steadyMs()): void {
    for (const reason of ["age", "size"] as const) {
      const sum = this.#deleted[reason].take(nowMs, isRoundOver)
      if (sum === undefined) continue
      const option = reason === "age" ? "retention" : "retention_bytes"
      this.#deps.log.info({ file: this.#deps.file, reason, ...sum }, `records beyond ${option} deleted`)
    }
  }

  #logHeld(bytes: number): void {
    const { log, file } = this.#deps
    if (bytes === 0) {
      if (this.#held.ended() !== undefined)
        log.info({ file }, "WAL can be reset again: the reader that held it is gone")
    } else if (this.#held.began() !== undefined)
      log.warn(
        { file, bytes },
        `a process that reads ${file} has kept one transaction open: the WAL has ${Math.round(bytes / 1024 ** 2)} MiB and grows with every event, and retention waits; end that process, see fuser -v ${file}`,
      )
  }
}

/** What was deleted since the last log line. */
class Summary {
  #records = 0
  #bytes = 0
  #sinceMs = 0
  #lineMs = Number.NEGATIVE_INFINITY

  add(records: number, bytes: number): void {
    if (this.#records === 0) this.#sinceMs = steadyMs()
    this.#records += records
    this.#bytes += bytes
  }

  /** The sums, which start over; undefined: no line is due. */
  take(nowMs: number, isRoundOver: boolean): { records: number; bytes: number } | undefined {
    const isDue = nowMs - this.#lineMs >= LINE_MS && (isRoundOver || nowMs - this.#sinceMs >= LINE_MS)
    if (this.#records === 0 || !isDue) return undefined
    const sums = { records: this.#records, bytes: this.#bytes }
    this.#records = 0
    this.#bytes = 0
    this.#lineMs = nowMs
    return sums
  }
}
