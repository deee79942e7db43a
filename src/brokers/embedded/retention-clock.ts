import { steadyMs } from "../../clock.ts"

/*
 * The time by which retention tells how old a record is.
 *
 * Records carry the time of day, and the time of day can be wrong: set two hours ahead for a second, it made everything older
 * than it is. So the difference between the time of day and the machine's steady clock is watched, at each stamp and several
 * times a second, and the time here is the steady clock plus the smallest difference of the last retention period:
 *
 *   time of day      ───────────┐  ┌───────╱ set ahead, set right again
 *   time here        ────────────────────────────── goes on evenly
 *
 * A record that was stamped within the period was stamped at a difference no smaller than that one, so its age here is never
 * more than the time that has passed since. When the time of day stays ahead, it is followed after one retention period:
 * everything from before is due by then, and what came since goes in its own time. Set back, it is followed at once.
 *
 * Of what an earlier process wrote, only its own times are known. For the first hour, or the retention period where that is
 * shorter, the newest record counts as written at the start, as if no time had passed while nobody wrote: a machine that
 * starts with a wrong clock deletes nothing before somebody could see it and set it right.
 *
 * Steady is CLOCK_MONOTONIC, which stands still while the machine sleeps: waking up is a clock set ahead.
 */

/** Differences that are closer are one: clocks are read a moment apart, and drift. */
const SAME_MS = 100
/** How many differences are remembered; beyond that the youngest are taken together, for the smaller one. */
const DIFFERENCES = 512
/** How long the newest record's time is held against the time of day after a start. */
const START_MS = 3_600_000

/** How far the time of day was ahead of the steady clock, and until when that was seen. */
interface Difference {
  ms: number
  seenMs: number
}

/** What the clock says. */
export interface ClockReading {
  /** The time by which a record's age is told, in milliseconds since 1970. */
  readonly timeMs: number
  /** How far the time of day is ahead of it. */
  readonly aheadMs: number
  /** Between the time of day and the steady clock; a change is a clock that was set. */
  readonly differenceMs: number
  /** The newest record's time is why it is behind. */
  readonly isStarting: boolean
}

export class RetentionClock {
  readonly #now: () => number
  readonly #steady: () => number
  readonly #startedMs: number
  /** Between the newest record and the steady clock, at the start. */
  readonly #first: number
  /** Ever later seen and ever larger: each is the smallest since the one before. Never empty. */
  readonly #differences: Difference[]

  /**
   * @param now time of day, in milliseconds since 1970
   * @param newestMs the time of the newest record there is; undefined: there is none
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

  /** The time of day, to stamp records with. */
  stamp(): number {
    const nowMs = this.#now()
    this.#see(nowMs, this.#steady())
    return nowMs
  }

  /** @param retentionMs how long records are kept; Infinity: for ever */
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
