/** What becomes of a key that an event on its way claims. */
export type Claim =
  /** Nobody has it: the event is to be published. */
  | "first"
  /** An event of this key was published. */
  | "duplicate"
  /** Another process has an event of this key on its way, and had it until the deadline. */
  | "late"

/**
 * Keeps marks: keys of events that were published, each for a time. Within a process each key is asked for by one event
 * at a time, see marks.ts.
 *
 * Deadlines are by the steady clock, the times until which marks are kept in milliseconds since 1970.
 */
export interface MarkStore {
  /**
   * Claims a key for an event that is to be published.
   *
   * @throws HooklineError `unavailable` when marks can't be read now; nothing is claimed then
   */
  claim(key: string, deadlineMs: number): Claim | Promise<Claim>
  /**
   * Marks a claimed key, since its event was published.
   *
   * @returns whether the mark is durable, by the deadline at the latest; if not, the store keeps trying to make it so
   */
  mark(key: string, untilMs: number, deadlineMs: number): Promise<boolean> | boolean
  /** Gives up a claimed key, since its event was not published. */
  release(key: string): void
  /** How many claims wait for an event of another process; a store of one process has not this member. */
  waiting?(): number
  /** Whether keys can be claimed now; if not, why. */
  ready(): true | string
  /** Writes what is still to be written, as far as that goes, then lets go of files and connections. */
  close(): Promise<void>
}
