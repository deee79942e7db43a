import type { DedupeKey, KeyJournal } from "../pipeline/record.ts"

export type KeyClaim =
  /** The event is to be published. */
  | "first"
  /** An event of the key was published. */
  | "duplicate"
  /** Another process's event of the key was still pending at the deadline. */
  | "late"

/**
 * Stores the keys of published events for a window, by a clock that setting the time of day does not change. Deadlines are by
 * the steady clock. Within a process each key is claimed by one event at a time, see dedupe-keys.ts.
 */
export interface KeyStore {
  /** Claims a key before its event is published. @throws HooklineError `unavailable`; the key is not claimed then */
  claim(key: string, deadlineMs: number): KeyClaim | Promise<KeyClaim>
  /**
   * Stores a claimed key after its event was published.
   *
   * @returns whether the key is durable by the deadline; if not, the store continues to try
   */
  add(key: string, windowMs: number, deadlineMs: number): Promise<boolean> | boolean
  /** Gives up a claim: its event was not published. */
  release(key: string): void
  /** For a log in the store's folder: it commits a claimed key with its record. */
  withRecord?(key: string, windowMs: number): DedupeKey
  /** Has claims wait for the keys in the journal of a log in the store's folder. */
  useJournal?(journal: KeyJournal): void
  /** Claims that wait for another process. */
  waiting?(): number
  /** Keys that were dropped since the store was opened, whose records the log does not have. */
  dropped?(): number
  /** Whether keys can be claimed now; if not, why. */
  ready(): true | string
  /** Stores what is left, where possible, and closes files and connections. */
  close(): Promise<void>
}
