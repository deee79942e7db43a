import { statSync } from "node:fs"
import { dirname } from "node:path"
import type { LogState } from "../broker.ts"
import { isDamage, type DatabaseLocation } from "../../storage/database-file.ts"
import { createKeyJournal, KeyJournalTable, type KeyUntil } from "../../storage/key-journal.ts"
import type { JournaledKey } from "../../pipeline/record.ts"
import type { PackedBatch } from "./batch.ts"
import { findDamage } from "./damage.ts"
import { furthestCommits } from "./group-database.ts"
import { beginEpoch, createEpochs, readEpochs } from "./log-epochs.ts"
import { createIdentity, LOG_LAYOUT, readIdentity } from "./log-tables.ts"
import { noDeletions, SLICE_BYTES, TrimmingWriter, type Deletions, type Limits } from "./trimmer.ts"
import type { Committed } from "./writer.ts"

/*
 * The embedded log's file in its thread, and when that does what no publisher waits for: checkpoints, retention's deletions,
 * giving free space back to the disk.
 *
 * It does so behind a batch, since the next one takes a moment to come: one of them at a time, and deletions only in slices
 * that are worth their fsync. Retention's rounds, several times a second, do it while no batches come. While batches come, a
 * round only notes that something is due, however little, and it is deleted behind the next ones.
 */

/** Batches keep coming if the last one was no longer ago. */
const QUIET_MS = 20
/** Between two slices of space that is given back while batches come. */
const GIVE_BACK_MS = 10

/** Of checking a large file in a round: a commit waits for it. */
const CHECK_MS = 4

/** Between two looks at the file's size. */
const SIZE_MS = 5000

export interface Trimmed extends Pick<LogState, "bytes" | "fileBytes" | "heldBytes" | "oldestMs"> {
  /** Whether there may be more to delete, or to give back. */
  readonly more: boolean
  /** Since the last such answer. */
  readonly deleted: Deletions
}

export class LogDatabase extends TrimmingWriter {
  readonly #journal: KeyJournalTable
  #limits: Limits | undefined
  #deleted = noDeletions()
  /** Bytes of the batch that was just answered; undefined: the answer was to something else. */
  #answeredBytes: number | undefined
  #batchMs = Number.NEGATIVE_INFINITY
  /** Something was due at the last round, and may be still. */
  #isOwed = false
  #wasCheckpointed = false
  #gaveBackMs = Number.NEGATIVE_INFINITY
  /** Of a file that is checked while it takes records. */
  #unchecked: Generator<undefined> | undefined
  #sizedMs = Number.NEGATIVE_INFINITY
  #sizeBytes = 0

  constructor(location: DatabaseLocation) {
    super(location, {
      ...LOG_LAYOUT,
      createTables(db) {
        LOG_LAYOUT.createTables(db)
        createKeyJournal(db)
        createIdentity(db)
        createEpochs(db)
      },
    })
    this.#journal = this.load(() => new KeyJournalTable(this.db))
    this.load(() => this.recover())
    this.load(() => this.#noticeCopy())
  }

  override check(wasUnclean: boolean): boolean {
    try {
      const isChecked = super.check(wasUnclean)
      if (!isChecked && wasUnclean) this.#unchecked = findDamage(this.db, this.location)
      return isChecked
    } catch (error) {
      // to name the records, if it is theirs
      if (isDamage(error)) for (const _ of findDamage(this.db, this.location));
      throw error
    }
  }

  /** The dedupe keys in the journal. */
  override state(): readonly JournaledKey[] {
    return this.#journal.keys()
  }

  /**
   * Commits a batch together with the dedupe keys of its records.
   *
   * @param forgetThroughId id of the last key that is no longer needed
   * @returns with the id of the last key
   */
  commitWithKeys(
    batch: PackedBatch,
    keys: readonly KeyUntil[],
    timestampMs: number,
    forgetThroughId: number | undefined,
  ): Committed & { readonly lastKeyId: number } {
    const bytesBefore = this.bytesKept
    let lastKeyId = 0
    this.#followClock(timestampMs)
    const committed = this.commit(batch, timestampMs, () => {
      if (keys.length > 0) lastKeyId = this.#journal.add(keys)
      if (forgetThroughId !== undefined) this.#journal.deleteThrough(forgetThroughId)
    })
    this.#answeredBytes = this.bytesKept - bytesBefore
    return { ...committed, lastKeyId }
  }

  /** Of the topic that has most. */
  get mostPartitions(): number {
    return Math.max(1, ...[...this.topics.values()].map(({ partitions }) => partitions.length))
  }

  /**
   * Sets how many partitions topics have at least: those that are written to get them first, then others, so many at once.
   *
   * @returns whether there are others
   */
  grow(leastPartitions: number, topics: number): boolean {
    this.leastPartitions = leastPartitions
    const smaller = [...this.topics.values()].filter(({ partitions }) => partitions.length < leastPartitions)
    if (smaller.length > 0)
      this.transact(() => {
        for (const { name } of smaller.slice(0, topics)) this.topic(name)
      })
    return smaller.length > topics
  }

  forgetKeys(throughId: number): void {
    this.transact(() => this.#journal.deleteThrough(throughId))
  }

  /** Sets what is kept, and does a slice of retention's work. */
  keep(limits: Limits): Trimmed {
    this.#limits = limits
    if (this.heldBytes > 0) this.recover()
    let more = this.#checkSlice()
    if (performance.now() - this.#batchMs < QUIET_MS) this.#isOwed = this.isDue(limits)
    else more = this.checkpoint() || this.#trim(limits) > 0 || this.giveBack() || more
    const deleted = this.#deleted
    this.#deleted = noDeletions()
    const { bytesKept: bytes, heldBytes, oldestMs } = this
    return { more, deleted, bytes, fileBytes: this.#fileBytes(), heldBytes, oldestMs }
  }

  override afterAnswer(): void {
    const bytes = this.#answeredBytes
    if (bytes === undefined) return
    this.#answeredBytes = undefined
    this.#batchMs = performance.now()
    const isCheckpointed = this.checkpoint()
    // large batches have one each time
    const hasDone = isCheckpointed && !this.#wasCheckpointed
    this.#wasCheckpointed = isCheckpointed
    const limits = this.#limits
    if (hasDone || limits === undefined) return
    if (this.#isOwed || this.bytesKept - limits.maxBytes >= SLICE_BYTES) {
      // as much as came, to keep up with large batches
      for (let left = Math.max(1, bytes); left > 0;) {
        const deleted = this.#trim(limits)
        if (deleted === 0) break
        left -= deleted
      }
      this.#isOwed &&= this.isDue(limits)
    } else if (this.#batchMs - this.#gaveBackMs >= GIVE_BACK_MS) {
      this.#gaveBackMs = this.#batchMs
      this.giveBack()
    }
  }

  /** @returns whether there is more to check @throws DamagedFile */
  #checkSlice(): boolean {
    const startedMs = performance.now()
    while (this.#unchecked !== undefined && performance.now() - startedMs < CHECK_MS)
      if (this.#unchecked.next().done === true) this.#unchecked = undefined
    return this.#unchecked !== undefined
  }

  /** Begins an epoch if an earlier copy has replaced the log: a backup, or groups have committed offsets beyond the end. */
  #noticeCopy(): void {
    const { current } = readEpochs(this.db)
    const isBackup = this.db.query("SELECT 1 FROM sqlite_schema WHERE name = 'backup'").get() !== null
    const commits = furthestCommits(dirname(this.location.file), readIdentity(this.db)!)
    const isBeyond = commits.some(({ topic, partition, offset, epoch }) => {
      const { nextOffset = 0 } = this.topics.get(topic)?.partitions[partition] ?? {}
      return epoch >= current && offset > nextOffset
    })
    if (!isBeyond && !isBackup) return
    const after = Math.max(current, ...commits.map(({ epoch }) => epoch))
    this.transact(() => {
      beginEpoch(this.db, after)
      this.db.run("DROP TABLE IF EXISTS backup")
    })
  }

  /** As of some seconds ago at most. */
  #fileBytes(): number {
    const nowMs = performance.now()
    if (nowMs - this.#sizedMs < SIZE_MS) return this.#sizeBytes
    this.#sizedMs = nowMs
    const { file } = this.location
    const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0
    return (this.#sizeBytes = sizeOf(file) + sizeOf(`${file}-wal`))
  }

  /** A clock that was set back makes records no older until the next round. */
  #followClock(timestampMs: number): void {
    if (this.#limits === undefined || timestampMs >= this.#limits.nowMs) return
    const { beforeMs, nowMs, maxBytes } = this.#limits
    this.#limits = { beforeMs: beforeMs - (nowMs - timestampMs), nowMs: timestampMs, maxBytes }
  }

  /** @returns bytes deleted, at least 1 if any record was */
  #trim(limits: Limits): number {
    const slice = this.trim(limits)
    if (slice === undefined) return 0
    for (const reason of ["age", "size"] as const) {
      this.#deleted[reason].records += slice[reason].records
      this.#deleted[reason].bytes += slice[reason].bytes
    }
    return Math.max(1, slice.age.bytes + slice.size.bytes)
  }
}
