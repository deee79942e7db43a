import { SLICE_BYTES, type Deletions, type Limits, type TrimmingWriter } from "./trimmer.ts"

/*
 * When the thread that has the log open does what no publisher waits for: checkpoints, deleting what retention does
 * not keep, giving free space back to the disk.
 *
 * Behind a batch, since the next one takes a moment to come; one of them at a time, and deletions in slices that are worth
 * their fsync. Retention's own rounds, several times a second, do it where no batches come; where batches do, they only see
 * to it that what is due goes behind the next ones, however little it is.
 */

/** Batches come when the last one is not longer ago. */
const QUIET_MS = 20
/** Between two slices of space that is given back while batches come. */
const GIVE_BACK_MS = 10

export class Upkeep {
  #limits: Limits | undefined
  #deleted = nothing()
  /** When the last batch was written. */
  #batchMs = Number.NEGATIVE_INFINITY
  /** Something was due at the last round, and may be still. */
  #isOwed = false
  #wasCheckpointed = false
  #gaveBackMs = Number.NEGATIVE_INFINITY

  /** A batch is about to be written with that time: ages go by no later one, should the clock have been set back. */
  begins(timestampMs: number): void {
    const limits = this.#limits
    if (limits === undefined || timestampMs >= limits.nowMs) return
    const { beforeMs, nowMs, maxBytes } = limits
    this.#limits = { beforeMs: beforeMs - (nowMs - timestampMs), nowMs: timestampMs, maxBytes }
  }

  /** A batch of so many bytes was written and answered. Throws as the writer's calls. */
  afterBatch(writer: TrimmingWriter, bytes: number): void {
    this.#batchMs = performance.now()
    const isCheckpointed = writer.checkpoint()
    // large batches have it each time
    const hasDone = isCheckpointed && !this.#wasCheckpointed
    this.#wasCheckpointed = isCheckpointed
    if (hasDone || this.#limits === undefined) return
    if (this.#isOwed || writer.excess(this.#limits) >= SLICE_BYTES) {
      // as much as came, so that large batches are kept up with
      for (let left = Math.max(1, bytes); left > 0;) {
        const deleted = this.#trim(writer, this.#limits)
        if (deleted === 0) break
        left -= deleted
      }
      this.#isOwed &&= writer.isDue(this.#limits)
    } else if (this.#batchMs - this.#gaveBackMs >= GIVE_BACK_MS) {
      this.#gaveBackMs = this.#batchMs
      writer.giveBack()
    }
  }

  /**
   * Keeps what these limits say from now on, and does a slice for it where no batches come. Throws as the writer's calls.
   *
   * @returns whether there may be more to do at once
   */
  round(writer: TrimmingWriter, limits: Limits): boolean {
    this.#limits = limits
    if (writer.heldBytes > 0) writer.recover()
    if (performance.now() - this.#batchMs < QUIET_MS) {
      this.#isOwed = writer.isDue(limits)
      return false
    }
    return writer.checkpoint() || this.#trim(writer, limits) > 0 || writer.giveBack()
  }

  /** What was deleted since the last call. */
  take(): Deletions {
    const deleted = this.#deleted
    this.#deleted = nothing()
    return deleted
  }

  /** @returns how many bytes went, at least 1 where anything did */
  #trim(writer: TrimmingWriter, limits: Limits): number {
    const slice = writer.trim(limits)
    if (slice === undefined) return 0
    for (const reason of ["age", "size"] as const) {
      this.#deleted[reason].records += slice[reason].records
      this.#deleted[reason].bytes += slice[reason].bytes
    }
    return Math.max(1, slice.age.bytes + slice.size.bytes)
  }
}

function nothing(): { [reason in keyof Deletions]: { records: number; bytes: number } } {
  return { age: { records: 0, bytes: 0 }, size: { records: 0, bytes: 0 } }
}
