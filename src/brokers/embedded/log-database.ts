import type { DatabaseLocation } from "../../storage/database-file.ts"
import { createKeyJournal, KeyJournalTable, type KeyUntil } from "../../storage/key-journal.ts"
import type { JournaledKey } from "../../pipeline/record.ts"
import type { PackedBatch } from "./batch.ts"
import { LOG_LAYOUT } from "./log-tables.ts"
import { TrimmingWriter, type Deletions, type Limits } from "./trimmer.ts"
import { Upkeep } from "./upkeep.ts"
import type { Committed } from "./writer.ts"

export interface Trimmed {
  /** Whether there may be more to delete, or to give back. */
  readonly more: boolean
  /** Since the last such answer. */
  readonly deleted: Deletions
  /** As `TrimmingWriter.heldBytes`. */
  readonly heldBytes: number
}

/** The embedded log's file in the thread that has it open; what its publishers do not wait for comes behind each batch. */
export class LogDatabase extends TrimmingWriter {
  readonly #upkeep = new Upkeep()
  readonly #journal: KeyJournalTable
  /** Bytes of the batch that was just answered; undefined: the answer was to something else. */
  #answeredBytes: number | undefined

  /** @throws as DurableDatabase */
  constructor(location: DatabaseLocation) {
    super(location, {
      ...LOG_LAYOUT,
      createTables(db) {
        LOG_LAYOUT.createTables(db)
        createKeyJournal(db)
      },
    })
    this.#journal = this.load(() => new KeyJournalTable(this.db))
    this.load(() => this.recover())
  }

  /** The dedupe keys in the journal. */
  override state(): readonly JournaledKey[] {
    return this.#journal.keys()
  }

  /**
   * Writes a batch in one transaction, with the dedupe keys of its records.
   *
   * @param forgetThroughId of the keys that are not needed any more
   * @returns with the id of the last key
   */
  commitWithKeys(
    batch: PackedBatch,
    keys: readonly KeyUntil[],
    timestampMs: number,
    forgetThroughId: number | undefined,
  ): Committed & { readonly lastKeyId: number } {
    const bytesBefore = this.bytes
    let lastKeyId = 0
    this.#upkeep.begins(timestampMs)
    const committed = this.commit(batch, timestampMs, () => {
      if (keys.length > 0) lastKeyId = this.#journal.add(keys)
      if (forgetThroughId !== undefined) this.#journal.deleteThrough(forgetThroughId)
    })
    this.#answeredBytes = this.bytes - bytesBefore
    return { ...committed, lastKeyId }
  }

  /** Keeps what these limits say from now on, and does a slice of retention's work. */
  keep(limits: Limits): Trimmed {
    const more = this.#upkeep.round(this, limits)
    return { more, deleted: this.#upkeep.take(), heldBytes: this.heldBytes }
  }

  forgetKeys(throughId: number): void {
    this.transact(() => this.#journal.deleteThrough(throughId))
  }

  override afterAnswer(): void {
    const bytes = this.#answeredBytes
    this.#answeredBytes = undefined
    if (bytes !== undefined) this.#upkeep.afterBatch(this, bytes)
  }
}
