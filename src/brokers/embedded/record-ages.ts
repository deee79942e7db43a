/*
 * The age of each partition's oldest record, in memory: knowing that nothing is due takes no read of the file.
 *
 * Timestamps may be wrong. Deletions go from the front, and a record dated ahead must not block those after it: where
 * timestamps go back, a floor says that all before an offset is at least as old as the record there. Floors come from this
 * process's commits, whose clock is known (retention-clock.ts), and from a lookup after an oldest record dated in the future.
 * A partition is as old as its first record, or its first floor if that is older.
 */

/** All before `offset` is from `ms` or earlier. */
interface Floor {
  readonly offset: number
  readonly ms: number
}

interface Age {
  /** Time of the first record; Infinity: none. */
  headMs: number
  /** Time of this process's latest commit; -Infinity: none yet. */
  givenMs: number
  /** Ascending in both. */
  readonly floors: Floor[]
}

/** The least step back that makes a floor. */
const STEP_MS = 1000
/** Floors of a partition; beyond them, records dated ahead are deleted at their own time, or the next floor's. */
const FLOORS = 16

/** Times are in milliseconds since 1970. */
export class Ages<T> {
  readonly #ages = new Map<T, Age>()
  /** No partition is older. */
  oldestMs = Number.POSITIVE_INFINITY

  /** A record was added. @param ms its timestamp @param givenMs that of its commit */
  added(partition: T, offset: number, ms: number, givenMs: number): void {
    const age = this.#of(partition)
    if (age.headMs === Number.POSITIVE_INFINITY) {
      age.headMs = ms
      if (ms < this.oldestMs) this.oldestMs = ms
    }
    const isBack = givenMs <= age.givenMs - STEP_MS || age.givenMs === Number.NEGATIVE_INFINITY
    if (isBack) {
      while (age.floors.length > 0 && age.floors.at(-1)!.ms >= givenMs) age.floors.pop()
      age.floors.push({ offset, ms: givenMs })
      if (age.floors.length > FLOORS) age.floors.shift()
      if (givenMs < this.oldestMs) this.oldestMs = givenMs
    }
    if (isBack || givenMs > age.givenMs) age.givenMs = givenMs
  }

  /** A partition's first record is another. @param ms Infinity: the partition is empty */
  begins(partition: T, offset: number, ms: number): void {
    const age = this.#of(partition)
    const wasMs = oldestOf(age)
    age.headMs = ms
    while (age.floors.length > 0 && age.floors[0]!.offset <= offset) age.floors.shift()
    this.#moved(age, wasMs)
  }

  /** Whether a partition's first record is dated later, and no floor says that it is older. */
  isDatedAhead(partition: T, nowMs: number): boolean {
    const { headMs, floors } = this.#of(partition)
    return (
      headMs > nowMs && headMs < Number.POSITIVE_INFINITY && !(floors.length > 0 && floors[0]!.ms <= nowMs)
    )
  }

  /** A record of that offset and time was found after a partition's first. */
  follows(partition: T, offset: number, ms: number): void {
    const age = this.#of(partition)
    const { floors } = age
    if (floors.length > 0 && (floors[0]!.offset <= offset || floors[0]!.ms <= ms)) return
    const wasMs = oldestOf(age)
    floors.unshift({ offset, ms })
    this.#moved(age, wasMs)
  }

  /** The offset before which all records are from before a time, whatever their timestamps; 0: unknown. */
  floor(partition: T, beforeMs: number): number {
    return this.#of(partition).floors.findLast(({ ms }) => ms < beforeMs)?.offset ?? 0
  }

  /** undefined: all are empty. */
  oldest(): T | undefined {
    let oldest: T | undefined
    let oldestMs = Number.POSITIVE_INFINITY
    for (const [partition, age] of this.#ages) {
      const ms = oldestOf(age)
      if (ms >= oldestMs) continue
      oldest = partition
      oldestMs = ms
    }
    return oldest
  }

  #of(partition: T): Age {
    let age = this.#ages.get(partition)
    if (age === undefined) {
      age = { headMs: Number.POSITIVE_INFINITY, givenMs: Number.NEGATIVE_INFINITY, floors: [] }
      this.#ages.set(partition, age)
    }
    return age
  }

  #moved(age: Age, wasMs: number): void {
    const ms = oldestOf(age)
    if (ms < this.oldestMs) this.oldestMs = ms
    else if (wasMs === this.oldestMs && ms > wasMs) this.#compare()
  }

  #compare(): void {
    this.oldestMs = Number.POSITIVE_INFINITY
    for (const age of this.#ages.values()) this.oldestMs = Math.min(this.oldestMs, oldestOf(age))
  }
}

/** A partition without records has no age. */
const oldestOf = ({ headMs, floors }: Age): number =>
  headMs === Number.POSITIVE_INFINITY ? headMs : Math.min(headMs, floors[0]?.ms ?? headMs)
