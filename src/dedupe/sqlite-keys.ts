// Hot path: every event of a pipeline with an embedded store passes here.
import { resolve } from "node:path"
import { steadyMs } from "../clock/clock.ts"
import { continuedFrom, type ClockReading } from "../clock/machine-clock.ts"
import { sweepDeadlines } from "../clock/deadlines.ts"
import { HooklineError } from "../errors.ts"
import type { DedupeKey, JournaledKey, KeyJournal } from "../pipeline/record.ts"
import { answerOf } from "../storage/database-calls.ts"
import { DurableWriter, type WriterDependencies } from "../storage/durable-writer.ts"
import type { Logger } from "../telemetry/log.ts"
import { dedupeFileIn, KeyDatabase } from "./key-database.ts"
import { KeyLookups, storeUnavailable } from "./key-lookups.ts"
import type { KeyClaim, KeyStore } from "./key-store.ts"
import { KeyWrites } from "./key-writes.ts"

/*
 * Keys in a file, whose modes are those of storage/durable-writer.ts. A claim is answered from the keys that are not written
 * yet (key-writes.ts), else by a lookup in the file (key-lookups.ts). Both gather while the thread works on the last ones.
 *
 * A log in the folder may have keys of an earlier process in its journal, which is read before the log adds others. Claims wait
 * meanwhile, and are refused with the log's reason while it is not open. Another journal, of a log that replaces the first one,
 * is read from its beginning. So is that of a log whose file failed, once it is open again: until then a key says nothing, since
 * the file that is open next may not have the record.
 *
 * Keys expire by the clock of the file, which goes on here from a reading of the thread. Before the file is open nothing is
 * claimed.
 *
 * While another process holds a lock, or the disk stalls, claims and writes are answered at their deadlines. After a failure
 * claims are refused, and unwritten keys stay in memory until the file is open again: no more come than were on their way.
 * A write lock held by another process allows lookups: claims are refused from MOST_UNWRITTEN keys on.
 */

/** How long a key may stay after its window, unless many run out at once. */
const TRIM_MS = 1000
/** Pause between two slices of expired keys, for commits. */
const TRIM_SLICE_MS = 5
const MOST_UNWRITTEN = 50_000
/** Pause before a journal that could not be read is read again. */
const REREAD_MS = 500

/** Keeps keys in a file of a folder, which is created if missing. One process at a time can. */
export class SqliteKeys implements KeyStore {
  readonly #directory: string
  readonly #title: string
  readonly #log: Logger
  readonly #writer: DurableWriter<KeyDatabase>
  readonly #lookups: KeyLookups
  readonly #writes: KeyWrites
  #now: () => number = Date.now
  /** Why the journal can't be read; undefined: it can, is being read, or there is none. */
  #journalProblem: string | undefined
  /** Counts readings of journals, each of which ends the one before. */
  #readings = 0
  #dropped = 0
  readonly #sweep: () => void
  #trimming: Timer | undefined
  #closing: Promise<void> | undefined

  /** @throws HooklineError `log_locked`, `log_io` */
  constructor(directory: string, { log, unopened }: Pick<WriterDependencies, "log" | "unopened">) {
    const location = dedupeFileIn(directory)
    this.#directory = resolve(directory)
    this.#title = location.title
    this.#log = log
    const probe = (): void => {
      const database = new KeyDatabase(location)
      this.#now = continuedFrom(database.clock.reading)
      database.close()
    }
    this.#writer = new DurableWriter<KeyDatabase>(location, probe, {
      log,
      unopened,
      failed: (failure) => {
        this.#lookups.rejectAll(storeUnavailable(failure))
        this.#writes.refuseAll()
      },
      recovered: (clock) => {
        this.#now = continuedFrom(clock as ClockReading)
        this.#writes.write()
      },
    })
    this.#writes = new KeyWrites(this.#writer)
    this.#lookups = new KeyLookups(this.#writer, this.#title, (key, untilMs) =>
      this.#claimOf(Math.max(this.#writes.untilOf(key), untilMs)),
    )
    this.#sweep = sweepDeadlines(() => {
      const nowMs = steadyMs()
      const isLookedUp = this.#lookups.expire(nowMs)
      return this.#writes.expire(nowMs) || isLookedUp
    })
    if (this.#writer.failure === undefined) log.info("the Deduplicator's store is open")
    this.#trimIn(0)
  }

  claim(key: string, deadlineMs: number): KeyClaim | Promise<KeyClaim> {
    if (this.#closing !== undefined) throw new HooklineError("unavailable", `${this.#title} is closing`)
    const { failure } = this.#writer
    if (failure !== undefined) throw storeUnavailable(failure)
    if (this.#journalProblem !== undefined) throw new HooklineError("unavailable", this.#journalProblem)
    if (this.#claimOf(this.#writes.untilOf(key)) === "duplicate") return "duplicate"
    if (this.#writes.size >= MOST_UNWRITTEN)
      throw new HooklineError("unavailable", `${this.#title}: ${MOST_UNWRITTEN} keys wait to be written`)
    const claim = this.#lookups.claim(key, deadlineMs)
    this.#sweep()
    return claim
  }

  add(key: string, windowMs: number, deadlineMs: number): Promise<boolean> | boolean {
    const writes = this.#writes
    const untilMs = this.#now() + windowMs
    if (writes.isJournaled(key) && this.#claimOf(writes.untilOf(key)) === "duplicate") return true
    const added = writes.add(key, untilMs, deadlineMs)
    if (added !== false) this.#sweep()
    return added
  }

  withRecord(key: string, windowMs: number): DedupeKey {
    const untilMs = this.#now() + windowMs
    return {
      directory: this.#directory,
      key,
      untilMs,
      committed: (id, at) => this.#writes.addJournaled({ key, untilMs, id, at }),
    }
  }

  useJournal(journal: KeyJournal): void {
    if (journal === this.#writes.journal) return
    this.#writes.journal = journal
    this.#readJournalAnew(journal)
    journal.onReopening(() => {
      if (journal === this.#writes.journal) this.#readJournalAnew(journal)
    })
  }

  release(): void {}

  dropped(): number {
    return this.#dropped
  }

  ready(): true | string {
    return this.#closing === undefined ? (this.#writer.problem ?? true) : `${this.#title} is closing`
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#end())
  }

  async #end(): Promise<void> {
    clearTimeout(this.#trimming)
    await this.#writes.drain()
    await this.#writer.close()
    const { notDurable: lost } = this.#writes
    if (lost > 0) this.#log.error({ keys: lost }, `${this.#title} lacks keys of published events`)
  }

  #readJournalAnew(journal: KeyJournal): void {
    this.#journalProblem = undefined
    this.#lookups.hold()
    void this.#readJournal(journal, ++this.#readings)
  }

  async #readJournal(journal: KeyJournal, reading: number): Promise<void> {
    while (reading === this.#readings && this.#closing === undefined) {
      const keys = await this.#readOnce(journal).catch((error: HooklineError) => error)
      if (reading !== this.#readings) return
      this.#journalProblem = keys instanceof HooklineError ? keys.message : undefined
      if (!(keys instanceof HooklineError)) {
        for (const key of keys) this.#writes.addJournaled(key)
        return this.#lookups.resume()
      }
      this.#lookups.rejectAll(keys)
      await Bun.sleep(REREAD_MS)
    }
  }

  /** The journal's keys, once those without a record in the log are dropped. */
  async #readOnce(journal: KeyJournal): Promise<readonly JournaledKey[]> {
    const keys = await journal.read()
    // with the places of those that wait
    this.#writes.write()
    const places = await answerOf(this.#writer, "places")
    const found = await journal.lost(places)
    if (found.lost.length === 0 && places.every(({ gaps }) => gaps >= found.gaps)) return keys
    const dropped = await answerOf(this.#writer, "drop", found)
    this.#dropped += dropped
    if (dropped > 0)
      this.#log.warn(
        { keys: dropped },
        "the log does not have the records of these keys: another log, an earlier copy or a rescued one is in its place; they are dropped, and their events are published if they are sent again",
      )
    return keys
  }

  #claimOf(untilMs: number): KeyClaim {
    return untilMs >= this.#now() ? "duplicate" : "first"
  }

  #trimIn(ms: number): void {
    this.#trimming = setTimeout(() => {
      this.#writer.do("trim", [], (answer) => {
        if (this.#closing === undefined)
          this.#trimIn(answer.kind === "done" && answer.value ? TRIM_SLICE_MS : TRIM_MS)
      })
    }, ms)
  }
}
