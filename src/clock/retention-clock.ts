import { steadyMs } from "./clock.ts"

/*
 * The clock by which retention computes ages.
 *
 * Records carry the time of day, which can be wrong: set two hours ahead for a second, it would make everything two hours
 * older. So the difference between time of day and steady clock is sampled, at each stamp and several times a second, and
 * this clock is the steady clock plus the smallest difference of the last retention period:
 *
 *   time of day      ───────────┐  ┌───────╱ set ahead, set right again
 *   this clock       ────────────────────────────── continues evenly
 *
 * A record of that period was stamped at a difference no smaller, so its age is never more than the time since. A time of day
 * that stays ahead is followed after one retention period: all from before is due by then. Set back, it is followed at once.
 *
 * Only the timestamps of an earlier process's records are known. For the first hour, or the retention period if that is
 * shorter, the newest counts as written at the start: a machine that starts with a wrong clock deletes nothing before somebody
 * could set it right.
 *
 * Steady is CLOCK_MONOTONIC, which stops while the machine sleeps: waking up is a clock set ahead.
 */

/** Closer differences count as one: the clocks are read a moment apart, and drift. */
const SAME_MS = 100
/** Beyond that many, the youngest differences are merged into the smaller one. */
const DIFFERENCES = 512
const START_MS = 3_600_000

/** How far the time of day was ahead of the steady clock, and until when that was seen. */
interface Difference {
  ms: number
  seenMs: number
}

export interface ClockReading {
  /** Milliseconds since 1970. */
  readonly timeMs: number
  /** How far the time of day is ahead of `timeMs`. */
  readonly aheadMs: number
  /** Difference between time of day and steady clock; it changes when the clock is set. */
  readonly differenceMs: number
  /** Whether `timeMs` is earlier because of the newest record's time. */
  readonly isStarting: boolean
}

export class RetentionClock {
  readonly #now: () => number
  readonly #steady: () => number
  readonly #startedMs: number
  /** Between the newest record and the steady clock at the start. */
  readonly #first: number
  /** Ascending in both: each is the smallest since the one before. Never empty. */
  readonly #differences: Difference[]

  /**
   * @param now time of day, in milliseconds since 1970
   * @param newestMs the time of the newest record; undefined: none
   * @param steady as steadyMs
   */
  constructor(now: () => number, newestMs: number | undefined, steady: () => number = steadyMs) {
    this.#now = now
    this.#steady = steady
    this.#startedMs = steady()
    const nowMs = now()
    const ms = nowMs - this.#startedMs
    this.#first = Math.min(ms, (newestMs ?? nowMs) - this.#startedMs)
    this.#differences = [{ ms, seenMs: this.#startedMs }]
  }

  /** The time of day for a record's timestamp. */
  stamp(): number {
    const nowMs = this.#now()
    this.#see(nowMs, this.#steady())
    return nowMs
  }

  /** @param retentionMs how long records are kept; Infinity: forever */
  read(retentionMs: number): ClockReading {
    const nowMs = this.#now()
    const atMs = this.#steady()
    this.#see(nowMs, atMs)
    const differences = this.#differences
    while (differences.length > 1 && differences[0]!.seenMs < atMs - retentionMs) differences.shift()
    const least = differences[0]!.ms
    const isStarting = this.#first < least && atMs - this.#startedMs < Math.min(retentionMs, START_MS)
    const timeMs = atMs + (isStarting ? this.#first : least)
    return { timeMs, aheadMs: nowMs - timeMs, differenceMs: nowMs - atMs, isStarting }
  }

  #see(nowMs: number, seenMs: number): void {
    const ms = nowMs - seenMs
    const differences = this.#differences
    while (differences.length > 0 && differences.at(-1)!.ms >= ms) differences.pop()
    const newest = differences.at(-1)
    if (newest !== undefined && (ms - newest.ms < SAME_MS || differences.length >= DIFFERENCES))
      newest.seenMs = seenMs
    else differences.push({ ms, seenMs })
  }
}
