/*
 * How old the records of each topic are at most, in memory, so that nothing is asked of the file to know that nothing is due.
 *
 * Records carry times that may be wrong. Deletions go from the front, and one that is dated ahead shall not block what lies
 * behind it: where times go back, a floor says that everything before an offset is at least as old as the record there.
 * Floors come from this process's own commits, whose times are watched (retention-clock.ts), and where the oldest record is
 * dated in the future, from a look behind it. A topic is as old as its first record, or its first floor where that is older.
 */

/** Everything before `offset` is at least as old as `ms` says. */
interface Floor {
  readonly offset: number
  readonly ms: number
}

interface Age {
  /** Time of its first record; Infinity: it has none. */
  headMs: number
  /** The latest time that a commit of this process had; -Infinity: none yet. */
  givenMs: number
  /** Ascending in both. */
  readonly floors: Floor[]
}

/** Times that go back by less are not worth a floor. */
const STEP_MS = 1000
/** Floors of a topic; beyond that, records dated ahead go when their own time has come, or the next floor's. */
const FLOORS = 16

/** The ages of the topics of a log. Times in milliseconds since 1970. */
export class Ages<T> {
  readonly #ages = new Map<T, Age>()
  /** No topic is older. */
  oldestMs = Number.POSITIVE_INFINITY

  /** A record was added. `givenMs` is the time of its commit, `ms` its own where it has one. */
  added(topic: T, offset: number, ms: number, givenMs: number): void {
    const age = this.#of(topic)
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

  /** A topic begins with a record of that time now. Infinity: it has none. */
  begins(topic: T, offset: number, ms: number): void {
    const age = this.#of(topic)
    const wasMs = oldestOf(age)
    age.headMs = ms
    while (age.floors.length > 0 && age.floors[0]!.offset <= offset) age.floors.shift()
    this.#moved(age, wasMs)
  }

  /** Whether a topic's first record is dated later than that, and nothing says that it is older. */
  isDatedAhead(topic: T, nowMs: number): boolean {
    const { headMs, floors } = this.#of(topic)
    return (
      headMs > nowMs && headMs < Number.POSITIVE_INFINITY && !(floors.length > 0 && floors[0]!.ms <= nowMs)
    )
  }

  /** Behind the first record of a topic there is one of that offset and time. */
  follows(topic: T, offset: number, ms: number): void {
    const age = this.#of(topic)
    const { floors } = age
    if (floors.length > 0 && (floors[0]!.offset <= offset || floors[0]!.ms <= ms)) return
    const wasMs = oldestOf(age)
    floors.unshift({ offset, ms })
    this.#moved(age, wasMs)
  }

  /** The offset before which a topic's records are from before a time, whatever times they have; 0: none is known to be. */
  floor(topic: T, beforeMs: number): number {
    return this.#of(topic).floors.findLast(({ ms }) => ms < beforeMs)?.offset ?? 0
  }

  /** The topic that is the oldest of all; undefined: none has records. */
  oldest(): T | undefined {
    let oldest: T | undefined
    let oldestMs = Number.POSITIVE_INFINITY
    for (const [topic, age] of this.#ages) {
      const ms = oldestOf(age)
      if (ms >= oldestMs) continue
      oldest = topic
      oldestMs = ms
    }
    return oldest
  }

  #of(topic: T): Age {
    let age = this.#ages.get(topic)
    if (age === undefined) {
      age = { headMs: Number.POSITIVE_INFINITY, givenMs: Number.NEGATIVE_INFINITY, floors: [] }
      this.#ages.set(topic, age)
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

/** A topic without records has no age. */
const oldestOf = ({ headMs, floors }: Age): number =>
  headMs === Number.POSITIVE_INFINITY ? headMs : Math.min(headMs, floors[0]?.ms ?? headMs)
