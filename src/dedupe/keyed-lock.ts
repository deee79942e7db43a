// Hot path: every event with a key passes here; one that has company waits.
import { steadyMs } from "../clock.ts"

/** What a wait for a key's lock came to. */
export type LockWait =
  /** The event before was published. */
  | "published"
  /** The event before was not published; whoever waited is next, and has to end or pass the lock. */
  | "mine"
  /** The deadline came before. */
  | "late"

type Waiting = (outcome: LockWait) => void

/** Lets one event of each key go its way at a time; the others wait for what becomes of it, in the order they came. */
export class KeyedLock {
  readonly #taken = new Map<string, Waiting[] | undefined>()

  /** @returns whether the lock is the caller's, who has to end or pass it; if not, it may wait */
  take(key: string): boolean {
    if (this.#taken.has(key)) return false
    this.#taken.set(key, undefined)
    return true
  }

  /** Waits for the lock of a key that is taken, until a time of the steady clock. */
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

  /** The event that has the lock was published, and all who wait are its duplicates. */
  end(key: string): void {
    const waiting = this.#taken.get(key)
    this.#taken.delete(key)
    if (waiting !== undefined) for (const settle of waiting) settle("published")
  }

  /** The event that has the lock was not published: the next one has it. */
  pass(key: string): void {
    const next = this.#taken.get(key)?.shift()
    if (next === undefined) this.#taken.delete(key)
    else next("mine")
  }

  /** How many wait. */
  waiting(): number {
    return [...this.#taken.values()].reduce((sum, waiting = []) => sum + waiting.length, 0)
  }
}
