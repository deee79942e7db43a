import type { DedupeKey, KeyJournal } from "../pipeline/record.ts"

/** What becomes of a key that an event on its way claims. */
export type KeyClaim =
  /** Nobody has it: the event is to be published. */
  | "first"
  /** An event of this key was published. */
  | "duplicate"
  /** Another process has an event of this key on its way, and had it until the deadline. */
  | "late"

/**
 * Keeps the keys of events that were published, each for a time. Within a process each key is claimed by one event at a
 * time, see dedupe-keys.ts.
 *
 * Deadlines are by the steady clock, the times until which keys are kept in milliseconds since 1970.
 */
export interface KeyStore {
  /**
   * Claims a key for an event that is to be published.
   *
   * @throws HooklineError `unavailable` when keys can't be looked up now; nothing is claimed then
   */
  claim(key: string, deadlineMs: number): KeyClaim | Promise<KeyClaim>
  /**
   * Keeps a claimed key, since its event was published.
   *
   * @returns whether the key is durable, by the deadline at the latest; if not, the store keeps trying to make it so
   */
  add(key: string, untilMs: number, deadlineMs: number): Promise<boolean> | boolean
  /** Gives up a claimed key, since its event was not published. */
  release(key: string): void
  /** What has a log keep a claimed key together with its record; a store that is in no log's folder has not this member. */
  withRecord?(key: string, untilMs: number): DedupeKey
  /** Has claims wait for the keys in the journal of a log in the store's folder. A member as `withRecord`. */
  useJournal?(journal: KeyJournal): void
  /** How many claims wait for an event of another process; a store of one process has not this member. */
  waiting?(): number
  /** Whether keys can be claimed now; if not, why. */
  ready(): true | string
  /** Writes what is still to be written, as far as that goes, then lets go of files and connections. */
  close(): Promise<void>
}
