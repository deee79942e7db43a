// Hot path: every event with a key passes here.
import { steadyMs } from "../steady-clock.ts"
import type { Claim, MarkStore } from "./mark-store.ts"
import { Turns } from "./turns.ts"

/*
 * A key's states:
 *
 *   free     no event of it is known.
 *   pending  begin() gave "first": that event is on its way. Whoever begins with the same key waits, until its own
 *            deadline at the latest.
 *   marked   end() was told that the event was published, and its mark is kept for the window: others are duplicates.
 *            Those who waited are answered now, after the first one's acknowledgement and after its mark.
 *
 * An event that was not published leaves no mark: the one that waited longest takes its turn, or the key is free again.
 * That goes for an event whose acknowledgement did not come in time, too: it may be in the log all the same, and its
 * retry is published then. Twice is better than not at all.
 *
 * A crash between the acknowledgement and the mark leaves the event in the log and no mark. Its sender saw no answer.
 */

/** The keys of one store, for the pipelines that share it. Deadlines are by the steady clock. */
export class Marks {
  readonly #store: MarkStore
  readonly #turns = new Turns()

  constructor(store: MarkStore) {
    this.#store = store
  }

  /**
   * Begins with an event. When it is the first of its key, `end` has to be called.
   *
   * @returns "late" when another event of the key was still on its way at the deadline
   * @throws HooklineError `unavailable` when marks can't be read now
   */
  begin(key: string, deadlineMs: number): Claim | Promise<Claim> {
    return this.#turns.take(key) ? this.#claim(key, deadlineMs) : this.#wait(key, deadlineMs)
  }

  /**
   * Ends with an event that was the first of its key.
   *
   * @param untilMs how long its mark is to be kept (milliseconds since 1970); undefined: it was not published
   * @returns whether the mark is durable
   */
  end(key: string, untilMs: number | undefined, deadlineMs: number): boolean | Promise<boolean> {
    if (untilMs === undefined) {
      this.#store.release(key)
      this.#turns.pass(key)
      return true
    }
    const marked = this.#store.mark(key, untilMs, deadlineMs)
    if (marked instanceof Promise) return marked.finally(() => this.#turns.end(key))
    this.#turns.end(key)
    return marked
  }

  /** How many events wait for what becomes of the one of their key that is on its way. */
  waiting(): number {
    return this.#turns.waiting() + (this.#store.waiting?.() ?? 0)
  }

  /** Whether events can be begun with now; if not, why. */
  ready(): true | string {
    return this.#store.ready()
  }

  close(): Promise<void> {
    return this.#store.close()
  }

  #claim(key: string, deadlineMs: number): Claim | Promise<Claim> {
    try {
      const claim = this.#store.claim(key, deadlineMs)
      if (!(claim instanceof Promise)) return this.#conclude(key, claim)
      return claim.then(
        (it) => this.#conclude(key, it),
        (error: unknown) => {
          this.#turns.pass(key)
          throw error
        },
      )
    } catch (error) {
      this.#turns.pass(key)
      throw error
    }
  }

  #conclude(key: string, claim: Claim): Claim {
    if (claim === "duplicate") this.#turns.end(key)
    if (claim === "late") this.#turns.pass(key)
    return claim
  }

  async #wait(key: string, deadlineMs: number): Promise<Claim> {
    const turn = await this.#turns.wait(key, deadlineMs)
    if (turn === "published") return "duplicate"
    if (turn === "late") return "late"
    if (deadlineMs > steadyMs()) return this.#claim(key, deadlineMs)
    this.#turns.pass(key)
    return "late"
  }
}
