// Hot path: every event with a key passes here; one that has company waits.
import { steadyMs } from "../clock/clock.ts"

export type LockWait =
  /** The event that had the lock was published. */
  | "published"
  /** It was not; the caller has the lock now, and must end or pass it. */
  | "mine"
  /** The deadline passed. */
  | "late"

type Waiting = (outcome: LockWait) => void

/** Admits one event of each key at a time; the others wait for its outcome, in order of arrival. */
export class KeyedLock {
  readonly #taken = new Map<string, Waiting[] | undefined>()

  /** @returns whether the caller has the lock, and must end or pass it */
  take(key: string): boolean {
    if (this.#taken.has(key)) return false
    this.#taken.set(key, undefined)
    return true
  }

  /** Waits for a lock that is taken. The deadline is by the steady clock. */
  wait(key: string, deadlineMs: number): Promise<LockWait> {
    const { promise, resolve } = Promise.withResolvers<LockWait>()
    const waiting = this.#taken.get(key) ?? []
    this.#taken.set(key, waiting)
    const leftMs = Math.max(deadlineMs - steadyMs(), 0)
    const timer = setTimeout(() => {
      const at = waiting.indexOf(settle)
      if (at !== -1) waiting.splice(at, 1)
      resolve("late")
    }, leftMs)
    const settle = (outcome: LockWait): void => {
      clearTimeout(timer)
      resolve(outcome)
    }
    waiting.push(settle)
    return promise
  }

  /** The event was published: all that wait are its duplicates. */
  end(key: string): void {
    const waiting = this.#taken.get(key)
    this.#taken.delete(key)
    if (waiting !== undefined) for (const settle of waiting) settle("published")
  }

  /** The event was not published: the next has the lock. */
  pass(key: string): void {
    const next = this.#taken.get(key)?.shift()
    if (next === undefined) this.#taken.delete(key)
    else next("mine")
  }

  waiting(): number {
    return [...this.#taken.values()].reduce((sum, waiting = []) => sum + waiting.length, 0)
  }
}
