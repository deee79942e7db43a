import { HooklineError } from "../errors.ts"
import type { KeyJournal } from "../pipeline/record.ts"
import type { KeyLookups } from "./key-lookups.ts"
import type { KeyWrites } from "./key-writes.ts"

/*
 * Reads the keys that an earlier process left in a log's journal, before the log adds others:
 *
 *   none     no log in the store's folder has a journal, or it is read.
 *   reading  claims wait.
 *   failed   the log is not open yet: claims are refused with its reason, and it is read again after REREAD_MS.
 *
 * Another journal, of a log that replaces the first one, is read from its beginning.
 */

const REREAD_MS = 500

export class JournalReader {
  readonly #lookups: KeyLookups
  readonly #writes: KeyWrites
  #problem: string | undefined
  #isClosed = false

  constructor(lookups: KeyLookups, writes: KeyWrites) {
    this.#lookups = lookups
    this.#writes = writes
  }

  /** Why the journal can't be read; undefined: it can, or is being read. */
  get problem(): string | undefined {
    return this.#problem
  }

  use(journal: KeyJournal): void {
    if (journal === this.#writes.journal) return
    this.#writes.journal = journal
    this.#lookups.hold()
    void this.#read(journal)
  }

  close(): void {
    this.#isClosed = true
  }

  async #read(journal: KeyJournal): Promise<void> {
    while (journal === this.#writes.journal && !this.#isClosed) {
      const keys = await journal.read().catch((error: HooklineError) => error)
      if (journal !== this.#writes.journal) return
      this.#problem = keys instanceof HooklineError ? keys.message : undefined
      if (!(keys instanceof HooklineError)) {
        for (const key of keys) this.#writes.addJournaled(key)
        return this.#lookups.resume()
      }
      this.#lookups.rejectAll(keys)
      await Bun.sleep(REREAD_MS)
    }
  }
}
