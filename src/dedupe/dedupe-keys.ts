// Hot path: every event with a key passes here.
import { steadyMs } from "../clock.ts"
import type { DedupeKey, KeyJournal } from "../pipeline/record.ts"
import type { KeyClaim, KeyStore } from "./key-store.ts"
import { KeyedLock } from "./keyed-lock.ts"

/*
 * A key's states:
 *
 *   free     no event of it is known.
 *   pending  begin() gave "first": that event is on its way. Whoever begins with the same key waits, until its own
 *            deadline at the latest.
 *   known    end() was told that the event was published, and the key is kept for the window: others are duplicates.
 *            Those who waited are answered now, after the first one's acknowledgement and after its key was kept.
 *
 * The key of an event that was not published is passed to the one that waited longest, or free again. That goes for an event
 * whose acknowledgement did not come in time, too: it may be in the log all the same, and its retry is published then. Twice
 * is better than not at all. Where the log keeps the key with its record (`withRecord`), the key stays pending until the log
 * knows.
 *
 * A crash between the acknowledgement and the keeping of the key leaves the event published and its key free. Its sender saw
 * no answer. Where the log keeps the key there is no such moment.
 */

/** The keys of one store, for the pipelines that share it. Deadlines are by the steady clock. */
export class DedupeKeys {
  readonly #store: KeyStore
  readonly #lock = new KeyedLock()

  constructor(store: KeyStore) {
    this.#store = store
  }

  /**
   * Begins with an event. When it is the first of its key, `end` has to be called.
   *
   * @returns "late" when another event of the key was still on its way at the deadline
   * @throws HooklineError `unavailable` when keys can't be looked up now
   */
  begin(key: string, deadlineMs: number): KeyClaim | Promise<KeyClaim> {
    return this.#lock.take(key) ? this.#claim(key, deadlineMs) : this.#wait(key, deadlineMs)
  }

  /**
   * Ends with an event that was the first of its key.
   *
   * @param untilMs how long its key is to be kept (milliseconds since 1970); undefined: it was not published
   * @param withRecord what `withRecord` gave
   * @returns whether the key is durable
   */
  end(
    key: string,
    untilMs: number | undefined,
    deadlineMs: number,
    withRecord?: DedupeKey,
  ): boolean | Promise<boolean> {
    if (untilMs === undefined) {
      if (withRecord?.isInDoubt === true) withRecord.known = (isCommitted) => this.#known(key, isCommitted)
      else this.#known(key, false)
      return true
    }
    const added = this.#store.add(key, untilMs, deadlineMs)
    if (added instanceof Promise) return added.finally(() => this.#lock.end(key))
    this.#lock.end(key)
    return added
  }

  /** What has a log keep the key of the first event with its record, where that is in the store's folder. */
  withRecord(key: string, untilMs: number): DedupeKey | undefined {
    return this.#store.withRecord?.(key, untilMs)
  }

  /** As `KeyStore.useJournal`. */
  useJournal(journal: KeyJournal): void {
    this.#store.useJournal?.(journal)
  }

  /** How many events wait for what becomes of the one of their key that is on its way. */
  waiting(): number {
    return this.#lock.waiting() + (this.#store.waiting?.() ?? 0)
  }

  /** Whether events can be begun with now; if not, why. */
  ready(): true | string {
    return this.#store.ready()
  }

  close(): Promise<void> {
    return this.#store.close()
  }

  /** It is known at last whether an event that was not acknowledged was published. */
  #known(key: string, isPublished: boolean): void {
    if (isPublished) return this.#lock.end(key)
    this.#store.release(key)
    this.#lock.pass(key)
  }

  #claim(key: string, deadlineMs: number): KeyClaim | Promise<KeyClaim> {
    try {
      const claim = this.#store.claim(key, deadlineMs)
      if (!(claim instanceof Promise)) return this.#conclude(key, claim)
      return claim.then(
        (it) => this.#conclude(key, it),
        (error: unknown) => {
          this.#lock.pass(key)
          throw error
        },
      )
    } catch (error) {
      this.#lock.pass(key)
      throw error
    }
  }

  #conclude(key: string, claim: KeyClaim): KeyClaim {
    if (claim === "duplicate") this.#lock.end(key)
    if (claim === "late") this.#lock.pass(key)
    return claim
  }

  async #wait(key: string, deadlineMs: number): Promise<KeyClaim> {
    const waited = await this.#lock.wait(key, deadlineMs)
    if (waited === "published") return "duplicate"
    if (waited === "late") return "late"
    if (deadlineMs > steadyMs()) return this.#claim(key, deadlineMs)
    this.#lock.pass(key)
    return "late"
  }
}
