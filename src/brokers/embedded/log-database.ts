import type { LogState } from "../broker.ts"
import type { JournaledKey, KnownPlace, Record } from "../../pipeline/record.ts"
import type { MachineTime } from "../../clock/machine-clock.ts"
import { meetsDamage } from "../../storage/damage.ts"
import { type DatabaseLocation } from "../../storage/database-file.ts"
import { KeptClock } from "../../storage/kept-clock.ts"
import { KeyJournalTable, type KeyUntil } from "../../storage/key-journal.ts"
import type { PackedBatch } from "./batch.ts"
import { allGaps, findDamage } from "./damage.ts"
import { beginEpoch, readEpochs, type Epochs, type Extents } from "./log-epochs.ts"
import { embeddedLayout } from "./embedded-layout.ts"
import { LogFile, type Committed } from "./log-file.ts"
import { checkFollows, extentsOf, lostKeys, type LogContents } from "./log-contents.ts"
import type { OpenPartition } from "./open-partition.ts"
import { PAGE_BYTES, readIdentity } from "./log-tables.ts"
import { Shrinker } from "./shrinker.ts"
import { noDeletions, SLICE_BYTES, Trimmer, type Deletions, type Limits } from "./retention-trimmer.ts"
import { sizeOfFile, Wal } from "./wal.ts"

/*
 * The embedded log's file in its thread, and the chores that no publisher waits for, each in slices that a commit can wait for:
 *
 *   checkpoint   when the WAL has grown (wal.ts)
 *   trim         deletes what is beyond retention's limits (retention-trimmer.ts)
 *   give back    returns free pages to the disk (shrinker.ts)
 *
 * `nextChore` says which is next:
 *
 *                after a batch                                      in one of retention's rounds, several times a second
 *   checkpoint   if it is due; often nothing else then              if it is due
 *   trim         if the last round found something due, or there    if anything is due, however little
 *                is a slice beyond the limit; as much as came
 *   give back    else, every GIVE_BACK_MS                           else
 *
 * After a batch, since the next one takes a moment to come, and deletions only in slices that are worth their fsync. While
 * batches come, a round only notes that something is due.
 */

/** Batches keep coming if the last one was no longer ago. */
const QUIET_MS = 20
/** Pause between two slices of space that is given back while batches come. */
const GIVE_BACK_MS = 10

/** How long a round checks a large file: a commit waits for it. */
const CHECK_MS = 4

/** Pause between two readings of the file's size. */
const SIZE_MS = 5000

export interface Trimmed extends Pick<LogState, "bytes" | "fileBytes" | "heldBytes" | "oldestAgeMs"> {
  /** Whether there may be more to delete, or to give back. */
  readonly more: boolean
  /** Since the last such answer. */
  readonly deleted: Deletions
}

export class LogDatabase extends LogFile {
  readonly clock: KeptClock
  readonly trimmer: Trimmer
  readonly #wal: Wal
  readonly #shrinker: Shrinker
  readonly #journal: KeyJournalTable
  readonly #clusterId: string
  /** As the file had them when it was opened. */
  readonly #epochs: Epochs
  readonly #extents: Extents
  /** The epoch that this opening's first commit has begun. */
  #epoch: LogContents["epoch"]
  #limits: Limits | undefined
  #deleted = noDeletions()
  /** Size of the batch that was just answered; undefined: the answer was to something else. */
  #answeredBytes: number | undefined
  #batchMs = Number.NEGATIVE_INFINITY
  /** Something was due at the last round, and may be still. */
  #isOwed = false
  #wasCheckpointed = false
  #gaveBackMs = Number.NEGATIVE_INFINITY
  /** The check of a file that accepts records meanwhile. */
  #unchecked: Generator<undefined> | undefined
  #sizedMs = Number.NEGATIVE_INFINITY
  #sizeBytes = 0

  readonly operations = {
    state: () => this.state(),
    prepare: (...next: Parameters<LogDatabase["prepare"]>) => this.prepare(...next),
    commit: (...batch: Parameters<LogDatabase["commitWithKeys"]>) => this.commitWithKeys(...batch),
    forgetKeys: (throughId: number) => this.forgetKeys(throughId),
    lost: (places: readonly KnownPlace[]) =>
      lostKeys(places, { ...this.#contents, epochs: readEpochs(this.db) }, allGaps(this.db)),
    keep: (limits: Limits) => this.keep(limits),
  }

  /** @param machine the time since the machine was started */
  constructor(location: DatabaseLocation, machine?: MachineTime) {
    super(location, embeddedLayout(machine))
    this.clock = this.load(() => new KeptClock(this.db, machine))
    if (this.newestClock !== undefined) this.clock.catchUp(this.newestClock)
    this.#wal = new Wal(this.db, location.file, (mode) => this.checkpointNow(mode))
    this.#shrinker = this.load(() => new Shrinker(this.db))
    this.trimmer = this.load(() => new Trimmer(this, this.clock))
    this.#journal = this.load(() => new KeyJournalTable(this.db, this.clock.now()))
    this.#clusterId = this.load(() => readIdentity(this.db)!)
    this.#epochs = this.load(() => readEpochs(this.db))
    this.#extents = extentsOf(this.topics)
    this.load(() => this.#wal.checkpoint())
  }

  override check(wasUnclean: boolean): boolean {
    try {
      const isChecked = super.check(wasUnclean)
      if (!isChecked && wasUnclean) this.#unchecked = findDamage(this.db, this.location)
      return isChecked
    } catch (error) {
      // to name the records, if it is theirs
      if (meetsDamage(this.db, error)) for (const _ of findDamage(this.db, this.location));
      throw error
    }
  }

  override follow(before: LogDatabase): void {
    checkFollows(this.#contents, before.#contents, this.location.file)
  }

  get #contents(): LogContents {
    const [clusterId, epoch] = [this.#clusterId, this.#epoch]
    return { topics: this.topics, clusterId, epochs: this.#epochs, extents: this.#extents, epoch }
  }

  /** The dedupe keys in the journal. */
  override state(): readonly JournaledKey[] {
    return this.#journal.keys()
  }

  /**
   * Commits a batch together with the dedupe keys of its records.
   *
   * @param forgetThroughId id of the last key that is no longer needed
   * @returns with the id of the last key, and the log and epoch of the records
   */
  commitWithKeys(
    batch: PackedBatch,
    keys: readonly KeyUntil[],
    timestampMs: number,
    forgetThroughId: number | undefined,
  ): Committed & {
    readonly lastKeyId: number
    readonly log: string
    readonly epoch: number
    readonly epochId: number
  } {
    const bytesBefore = this.bytesKept
    let lastKeyId = 0
    let epoch = this.#epoch
    const extents = epoch === undefined ? extentsOf(this.topics) : undefined
    const committed = this.commit(batch, timestampMs, () => {
      if (extents !== undefined) epoch = beginEpoch(this.db, extents)
      if (keys.length > 0) lastKeyId = this.#journal.add(keys)
      if (forgetThroughId !== undefined) this.#journal.deleteThrough(forgetThroughId)
    })
    this.#epoch = epoch
    this.#answeredBytes = this.bytesKept - bytesBefore
    return { ...committed, lastKeyId, log: this.#clusterId, epoch: epoch!.number, epochId: epoch!.id }
  }

  /** How many partitions the topic with the most has. */
  get mostPartitions(): number {
    return Math.max(1, ...[...this.topics.values()].map(({ partitions }) => partitions.length))
  }

  forgetKeys(throughId: number): void {
    this.transact(() => this.#journal.deleteThrough(throughId))
  }

  /** Sets what is kept, and does a chore of retention's round. */
  keep(limits: Limits): Trimmed {
    this.#limits = limits
    if (this.clock.isDue) this.transact(() => {})
    // should the reader be gone
    if (this.#wal.heldBytes > 0) this.#wal.checkpoint()
    let more = this.#checkSlice()
    const nowMs = performance.now()
    if (nowMs - this.#batchMs < QUIET_MS) this.#isOwed = this.trimmer.isDue(limits)
    else more = this.checkpoint() || this.#perform(this.#nextChore(nowMs), 1) || more
    const deleted = this.#deleted
    this.#deleted = noDeletions()
    const { bytesKept: bytes } = this
    const { heldBytes } = this.#wal
    const oldestAgeMs = Math.max(0, this.clock.now() - this.trimmer.oldestMs)
    return { more, deleted, bytes, fileBytes: this.#fileBytes(), heldBytes, oldestAgeMs }
  }

  override afterAnswer(): void {
    const bytes = this.#answeredBytes
    if (bytes === undefined) return
    this.#answeredBytes = undefined
    const nowMs = (this.#batchMs = performance.now())
    const isCheckpointed = this.checkpoint()
    // large batches have one each time
    const hasDone = isCheckpointed && !this.#wasCheckpointed
    this.#wasCheckpointed = isCheckpointed
    if (!hasDone) this.#perform(this.#nextChore(nowMs, bytes), bytes)
  }

  /** The chore after a checkpoint, as drawn above. @param batchBytes of the batch that was answered; absent: in a round */
  #nextChore(nowMs: number, batchBytes?: number): "trim" | "give back" | undefined {
    const limits = this.#limits
    if (limits === undefined) return undefined
    if (batchBytes === undefined) return this.trimmer.isDue(limits) ? "trim" : "give back"
    if (this.#isOwed || this.bytesKept - limits.bytes >= SLICE_BYTES) return "trim"
    return nowMs - this.#gaveBackMs >= GIVE_BACK_MS ? "give back" : undefined
  }

  /** @param bytes deleted at least, to keep up with large batches @returns whether there may be more to do */
  #perform(chore: "trim" | "give back" | undefined, bytes: number): boolean {
    if (chore === "trim") return this.#trim(bytes)
    return chore === "give back" && this.#giveBack()
  }

  #trim(bytes: number): boolean {
    const limits = this.#limits!
    let left = Math.max(1, bytes)
    while (left > 0) {
      const slice = this.trim(limits)
      if (slice === undefined) break
      for (const reason of ["age", "size"] as const) {
        this.#deleted[reason].records += slice[reason].records
        this.#deleted[reason].bytes += slice[reason].bytes
      }
      left -= Math.max(1, slice.age.bytes + slice.size.bytes)
    }
    this.#isOwed &&= this.trimmer.isDue(limits)
    return left < Math.max(1, bytes)
  }

  /** Deletes a slice; undefined: nothing is due, or it has to wait for readers. */
  trim(limits: Limits): Deletions | undefined {
    const deleted = this.#wal.slice((space) => this.trimmer.trim(limits, space))
    if (deleted !== undefined) this.#shrinker.deleted()
    return deleted
  }

  #giveBack(): boolean {
    this.#gaveBackMs = performance.now()
    if (!this.#shrinker.isDue) return false
    const pages = this.#wal.slice((space) => this.runAlone(() => this.#shrinker.giveBack(space))) ?? 0
    this.gathered(pages * PAGE_BYTES)
    return pages > 0 && this.#shrinker.isDue
  }

  /** All checkpoints of a WAL that has grown. */
  protected override checkpointPassively(): void {
    this.#wal.checkpoint()
  }

  override commit(...batch: Parameters<LogFile["commit"]>): Committed {
    this.clockMs = this.clock.now()
    return super.commit(...batch)
  }

  protected override add(record: Record, timestampMs: number): OpenPartition {
    const partition = super.add(record, timestampMs)
    this.trimmer.added(partition, this.clockMs!)
    return partition
  }

  /** Saves the clock with whatever is committed. */
  protected override transact(change: () => void): void {
    super.transact(() => {
      change()
      this.clock.save()
    })
  }

  /** @returns whether there is more to check @throws DamagedFile */
  #checkSlice(): boolean {
    const startedMs = performance.now()
    while (this.#unchecked !== undefined && performance.now() - startedMs < CHECK_MS)
      if (this.#unchecked.next().done === true) this.#unchecked = undefined
    return this.#unchecked !== undefined
  }

  /** As of some seconds ago at most. */
  #fileBytes(): number {
    const nowMs = performance.now()
    if (nowMs - this.#sizedMs < SIZE_MS) return this.#sizeBytes
    this.#sizedMs = nowMs
    const { file } = this.location
    return (this.#sizeBytes = sizeOfFile(file) + sizeOfFile(`${file}-wal`))
  }
}
