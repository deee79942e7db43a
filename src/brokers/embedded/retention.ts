import { steadyMs } from "../../clock.ts"
import type { Logger } from "../../telemetry/log.ts"
import type { LogMetrics } from "../../telemetry/metrics.ts"
import type { Trimmed } from "./log-database.ts"
import type { Deletions, Limits, Reason } from "./trimmer.ts"
import type { ClockReading, RetentionClock } from "./retention-clock.ts"

export interface RetentionDependencies {
  readonly log: Logger
  readonly metrics: LogMetrics
  /** The log's file, for the lines about it. */
  readonly file: string
  readonly clock: RetentionClock
  /** Says what is kept, and deletes a slice of the rest. @param done called with what was deleted; undefined: the file can't be written now */
  readonly trim: (limits: Limits, done: (trimmed: Trimmed | undefined) => void) => void
  /** Between two rounds; 200 ms unless given. */
  readonly roundMs?: number | undefined
}

/** How far beyond its limits the log may grow: what arrives in this time. */
const ROUND_MS = 200
/** Between two slices, commits have their turn. */
const SLICE_MS = 5
/** Between two lines about what is deleted for one reason, or about a reader that holds the WAL. */
const LINE_MS = 60_000
/** A clock that is set by less is not worth a line. */
const STEP_MS = 1000
/** Between two lines about the clock. */
const CLOCK_LINE_MS = 5000
/** A log that nothing was written to for less time is not worth one. */
const IDLE_MS = 60_000
const MEBIBYTE = 1024 * 1024

/**
 * Deletes what is not kept: several times a second the thread that has the log open learns what is kept, slice after slice
 * until nothing more is due, and it logs and counts what went.
 */
export class Retention {
  readonly #deps: RetentionDependencies
  /** How long records are kept, in milliseconds, and how many bytes of them; Infinity: for ever, all. */
  #limits = { ms: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY }
  #timer: Timer | undefined
  /** Counts the changes of limits: each has a round of its own. */
  #round = 0
  readonly #deleted: { readonly [reason in Reason]: Summary } = { age: new Summary(), size: new Summary() }
  /** What the last line about the clock said; 0: that time of day and retention agree. */
  #aheadMs = 0
  #differenceMs: number | undefined
  #clockLineMs = Number.NEGATIVE_INFINITY
  /** When the last line said that a reader holds the WAL; undefined: none does. */
  #heldLineMs: number | undefined

  constructor(deps: RetentionDependencies) {
    this.#deps = deps
  }

  /** Keeps records for other times, or other sizes, from now on. */
  keep(ms = Number.POSITIVE_INFINITY, bytes = Number.POSITIVE_INFINITY): void {
    this.#limits = { ms, bytes }
    clearTimeout(this.#timer)
    this.#next(0, ++this.#round)
  }

  /** Deletes nothing more. */
  end(): void {
    clearTimeout(this.#timer)
    this.#round++
    this.#logDeletions(true, Number.POSITIVE_INFINITY)
  }

  #next(ms: number, round: number): void {
    this.#timer = setTimeout(() => {
      const { ms: retentionMs, bytes } = this.#limits
      const reading = this.#deps.clock.read(retentionMs)
      if (retentionMs < Number.POSITIVE_INFINITY) this.#logClock(reading)
      const { timeMs } = reading
      const limits = { beforeMs: timeMs - retentionMs, nowMs: timeMs, maxBytes: bytes }
      this.#deps.trim(limits, (trimmed) => {
        if (trimmed !== undefined) this.#trimmed(trimmed)
        if (round === this.#round)
          this.#next(trimmed?.more === true ? SLICE_MS : (this.#deps.roundMs ?? ROUND_MS), round)
      })
    }, ms)
  }

  #trimmed({ deleted, more, heldBytes }: Trimmed): void {
    this.#count(deleted)
    this.#logDeletions(!more)
    if (heldBytes > 0 || this.#heldLineMs !== undefined) this.#logHeld(heldBytes)
  }

  #count(deleted: Deletions): void {
    for (const reason of ["age", "size"] as const) {
      const { records, bytes } = deleted[reason]
      if (records === 0) continue
      this.#deps.metrics.deleted(reason, records, bytes)
      this.#deleted[reason].add(records, bytes)
    }
  }

  /** @param isRoundOver so that the first line has the whole of it */
  #logDeletions(isRoundOver: boolean, nowMs = steadyMs()): void {
    for (const reason of ["age", "size"] as const) {
      const sum = this.#deleted[reason].take(nowMs, isRoundOver)
      if (sum === undefined) continue
      const option = reason === "age" ? "retention" : "retention_bytes"
      this.#deps.log.info({ file: this.#deps.file, reason, ...sum }, `records beyond ${option} deleted`)
    }
  }

  #logClock({ aheadMs, differenceMs, isStarting }: ClockReading): void {
    const nowMs = steadyMs()
    if (nowMs - this.#clockLineMs < CLOCK_LINE_MS) return
    const { log } = this.#deps
    const backMs = (this.#differenceMs ?? differenceMs) - differenceMs
    this.#differenceMs = differenceMs
    const agreed = this.#aheadMs < STEP_MS
    if (aheadMs < STEP_MS && !agreed) {
      log.info("retention by age follows the clock again")
    } else if (aheadMs - this.#aheadMs >= (isStarting ? IDLE_MS : STEP_MS)) {
      const retentionMs = this.#limits.ms
      if (isStarting)
        log.info(
          { idleMs: aheadMs },
          "nothing was written for a while: ages count from the newest record for the first hour, or retention if that is shorter",
        )
      else
        log.warn(
          { aheadMs, retentionMs },
          "clock jumped ahead: retention by age goes on by the steady clock, and follows the new time when retention has passed or the clock is set right",
        )
    } else if (backMs >= STEP_MS && agreed) {
      log.warn(
        { backMs },
        "clock set back: retention by age follows it, and keeps what was written before for longer",
      )
    } else return
    this.#aheadMs = aheadMs
    this.#clockLineMs = nowMs
  }

  #logHeld(bytes: number): void {
    const { log, metrics, file } = this.#deps
    metrics.walHeld(bytes)
    if (bytes === 0) {
      this.#heldLineMs = undefined
      log.info({ file }, "WAL can be reset again: the reader that held it is gone")
      return
    }
    const nowMs = steadyMs()
    if (this.#heldLineMs !== undefined && nowMs - this.#heldLineMs < LINE_MS) return
    this.#heldLineMs = nowMs
    log.warn(
      { file, bytes },
      `a process that reads ${file} has kept one transaction open: the WAL has ${Math.round(bytes / MEBIBYTE)} MiB and grows with every event, and retention waits; end that process, see fuser -v ${file}`,
    )
  }
}

/** What was deleted since the last line, and when that was. */
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

  /** The sums, where a line is due; they begin anew then. */
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
