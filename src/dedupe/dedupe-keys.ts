// Hot path: every event with a key passes here.
import { steadyMs } from "../clock/clock.ts"
import { HooklineError } from "../errors.ts"
import type { DedupeKey } from "../pipeline/record.ts"
import type { KeyClaim, KeyStore } from "./key-store.ts"
import { KeyedLock } from "./keyed-lock.ts"

/*
 * The states of a key:
 *
 *   free     no event of it is known.
 *   pending  begin() returned "first", and that event is being published. Others of the key wait, up to their deadlines.
 *   known    end() had the key stored for the window after the event was published: others, also those that waited, are
 *            duplicates.
 *
 * The key of an event that was not published passes to the next that waits, or is free again. So does that of an event not
 * acknowledged in time, which may be in the log: its retry is published again, since twice is better than never. If the log
 * keeps the key with its record (`withRecord`), it stays pending until the log knows.
 *
 * A crash between acknowledgement and storing leaves the event published and the key free; the sender saw no answer. If the
 * log keeps the key, there is no such moment.
 */

/** A claim; an error: why the store can't be read. */
export type Begun = KeyClaim | HooklineError

/** The keys of a store, shared by pipelines. Deadlines are by the steady clock. */
export class DedupeKeys {
  readonly store: KeyStore
  readonly #lock = new KeyedLock()

  constructor(store: KeyStore) {
    this.store = store
  }

  /**
   * Claims the key of an event; after "first", `end` must be called.
   *
   * @returns "late" if another event of the key was still pending at the deadline
   */
  begin(key: string, deadlineMs: number): Begun | Promise<Begun> {
    return this.#lock.take(key) ? this.#claim(key, deadlineMs) : this.#wait(key, deadlineMs)
  }

  /**
   * Ends the claim of a first event.
   *
   * @param windowMs for how long the key is known from now on; undefined: the event was not published
   * @param withRecord as returned by the store's `withRecord`
   * @returns whether the key is durable
   */
  end(
    key: string,
    windowMs: number | undefined,
    deadlineMs: number,
    withRecord?: DedupeKey,
  ): boolean | Promise<boolean> {
    if (windowMs === undefined) {
      if (withRecord?.isInDoubt === true) withRecord.known = (isCommitted) => this.#known(key, isCommitted)
      else this.#known(key, false)
      return true
    }
    const added = this.store.add(key, windowMs, deadlineMs)
    if (added instanceof Promise) return added.finally(() => this.#lock.end(key))
    this.#lock.end(key)
    return added
  }

  /** Events that wait for a pending one of their key. */
  waiting(): number {
    return this.#lock.waiting() + (this.store.waiting?.() ?? 0)
  }

  #known(key: string, isPublished: boolean): void {
    if (isPublished) return this.#lock.end(key)
    this.store.release(key)
    this.#lock.pass(key)
  }

  #claim(key: string, deadlineMs: number): Begun | Promise<Begun> {
    try {
      const claim = this.store.claim(key, deadlineMs)
      if (!(claim instanceof Promise)) return this.#conclude(key, claim)
      return claim.then(
        (it) => this.#conclude(key, it),
        (error: unknown) => this.#unclaimed(key, error),
      )
    } catch (error) {
      return this.#unclaimed(key, error)
    }
  }

  #unclaimed(key: string, error: unknown): HooklineError {
    this.#lock.pass(key)
    if (error instanceof HooklineError && error.code === "unavailable") return error
    throw error
  }

  #conclude(key: string, claim: KeyClaim): KeyClaim {
    if (claim === "duplicate") this.#lock.end(key)
    if (claim === "late") this.#lock.pass(key)
    return claim
  }

  async #wait(key: string, deadlineMs: number): Promise<Begun> {
    const waited = await this.#lock.wait(key, deadlineMs)
    if (waited === "published") return "duplicate"
    if (waited === "late") return "late"
    if (deadlineMs > steadyMs()) return this.#claim(key, deadlineMs)
    this.#lock.pass(key)
    return "late"
  }
}
