import { HooklineError } from "../errors.ts"
import type { JournaledKey, KeyJournal } from "../pipeline/record.ts"

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

export interface JournalListener {
  readonly began: () => void
  readonly read: (keys: readonly JournaledKey[]) => void
  /** It is read again. */
  readonly failed: (error: HooklineError) => void
}

export class JournalReader {
  readonly #listener: JournalListener
  #journal: KeyJournal | undefined
  #problem: string | undefined
  #isClosed = false

  constructor(listener: JournalListener) {
    this.#listener = listener
  }

  /** Why the journal can't be read; undefined: it can, or is being read. */
  get problem(): string | undefined {
    return this.#problem
  }

  use(journal: KeyJournal): void {
    if (journal === this.#journal) return
    this.#journal = journal
    this.#listener.began()
    void this.#read(journal)
  }

  forget(throughId: number): void {
    this.#journal?.forget(throughId)
  }

  close(): void {
    this.#isClosed = true
  }

  async #read(journal: KeyJournal): Promise<void> {
    while (journal === this.#journal && !this.#isClosed) {
      const keys = await journal.read().catch((error: HooklineError) => error)
      if (journal !== this.#journal) return
      this.#problem = keys instanceof HooklineError ? keys.message : undefined
      if (!(keys instanceof HooklineError)) return this.#listener.read(keys)
      this.#listener.failed(keys)
      await Bun.sleep(REREAD_MS)
    }
  }
}
