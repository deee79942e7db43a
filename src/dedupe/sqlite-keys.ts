// Hot path: every event of a pipeline with an embedded store passes here.
import { resolve } from "node:path"
import { sweepDeadlines } from "../clock/deadlines.ts"
import { DurableWriter, type WriterDependencies } from "../storage/durable-writer.ts"
import { BUSY_RETRY_MS, type Failure } from "../storage/serve-database.ts"
import { HooklineError } from "../errors.ts"
import { steadyMs } from "../clock/clock.ts"
import type { DedupeKey, KeyJournal } from "../pipeline/record.ts"
import type { Logger } from "../telemetry/log.ts"
import type { KeyClaim, KeyStore } from "./key-store.ts"
import { dedupeFileIn, KeyDatabase } from "./key-database.ts"

/*
 * Keys in a file, whose modes are those of storage/durable-writer.ts:
 *
 *   lookups  are gathered while the thread works on the last ones; those of one turn of the event loop are one request.
 *   writes   are gathered likewise, each batch in one transaction. Events of one batch of the broker are acknowledged at once,
 *            so that their keys are one batch, too, and their answers go out together. Keys that a log has committed with
 *            their records are durable already, and are written after LAZY_MS.
 *
 * Claims wait while the journal of a log in the folder is read, and are refused while it can't be.
 *
 * While another process holds a lock, or the disk stalls, claims and writes are answered at their deadlines. After a failure
 * claims are refused, and unwritten keys stay in memory until the file is open again: no more come than were on their way.
 * A write lock held by another process allows lookups: claims are refused from MOST_UNWRITTEN keys on.
 */

/** How long a key may stay after its window, unless many run out at once. */
const TRIM_MS = 1000
/** Between two slices of expired keys, for commits. */
const TRIM_SLICE_MS = 5
/** How long a key of a log's journal may be missing in the file. */
const LAZY_MS = 50
/** Of one transaction. */
const SLICE_KEYS = 2000
const MOST_UNWRITTEN = 50_000
const REREAD_JOURNAL_MS = 500
/** How long a close writes keys that nobody waits for. */
const DRAIN_MS = 2000
/** Longer than any delivery_timeout. */
const LONGEST_WAIT_MS = 3_600_000

interface Lookup {
  readonly key: string
  readonly deadlineMs: number
  readonly resolve: (claim: KeyClaim) => void
  readonly reject: (error: HooklineError) => void
}

/** A key that is not in the file yet. */
interface Unwritten {
  readonly untilMs: number
  readonly deadlineMs: number
  /** In the journal of a log, where the key is durable. */
  readonly journalId?: number
  /** Answers whether the key is durable; undefined: nobody waits. */
  answer?: ((isDurable: boolean) => void) | undefined
}

/** Keeps keys in a file of a folder, which is created if missing. One process at a time can. */
export class SqliteKeys implements KeyStore {
  readonly #directory: string
  readonly #title: string
  readonly #log: Logger
  readonly #now: () => number
  readonly #writer: DurableWriter<KeyDatabase>
  readonly #sweep = sweepDeadlines(() => this.#expire())
  #lookups: Lookup[] = []
  /** In the thread. */
  #lookingUp: Lookup[] = []
  readonly #unwritten = new Map<string, Unwritten>()
  #isWriting = false
  #writingLater: Timer | undefined
  #journal: KeyJournal | undefined
  #isReadingJournal = false
  #journalProblem: string | undefined
  #trimming: Timer | undefined
  /** Resolves when no key is left to write, or none can be. */
  #drained: PromiseWithResolvers<void> | undefined
  #closing: Promise<void> | undefined

  /**
   * @param deps `now` is in milliseconds since 1970
   * @throws HooklineError `log_locked`, `log_io`
   */
  constructor(
    directory: string,
    { log, unopened, now = Date.now }: Pick<WriterDependencies, "log" | "unopened"> & { now?: () => number },
  ) {
    const location = dedupeFileIn(directory)
    this.#directory = resolve(directory)
    this.#title = location.title
    this.#log = log
    this.#now = now
    this.#writer = new DurableWriter<KeyDatabase>(location, () => new KeyDatabase(location).close(), {
      log,
      unopened,
      failed: (failure) => this.#failed(failure),
      recovered: () => this.#write(),
    })
    if (this.#writer.failure === undefined) log.info("the Deduplicator's store is open")
    this.#trimIn(0)
  }

  claim(key: string, deadlineMs: number): KeyClaim | Promise<KeyClaim> {
    if (this.#closing !== undefined) throw new HooklineError("unavailable", `${this.#title} is closing`)
    const { failure } = this.#writer
    if (failure !== undefined) throw unavailable(failure)
    if (this.#journalProblem !== undefined) throw new HooklineError("unavailable", this.#journalProblem)
    if (this.#judge(this.#unwritten.get(key)?.untilMs) === "duplicate") return "duplicate"
    if (this.#unwritten.size >= MOST_UNWRITTEN)
      throw new HooklineError("unavailable", `${this.#title}: ${MOST_UNWRITTEN} keys wait to be written`)
    return new Promise((resolve, reject) => {
      if (this.#lookups.push({ key, deadlineMs, resolve, reject }) === 1) setImmediate(this.#lookUp)
      this.#sweep()
    })
  }

  add(key: string, untilMs: number, deadlineMs: number): Promise<boolean> | boolean {
    const unwritten = this.#unwritten.get(key)
    if (unwritten?.journalId !== undefined && this.#judge(unwritten.untilMs) === "duplicate") return true
    if (this.#writer.failure !== undefined) {
      this.#unwritten.set(key, { untilMs, deadlineMs })
      return false
    }
    this.#sweep()
    // not in a later turn of the event loop, which would split the answers' senders into two groups
    if (!this.#isWriting) process.nextTick(this.#write)
    return new Promise((answer) => this.#unwritten.set(key, { untilMs, deadlineMs, answer }))
  }

  withRecord(key: string, untilMs: number): DedupeKey {
    return {
      directory: this.#directory,
      key,
      untilMs,
      committed: (journalId) => this.#journaled(key, untilMs, journalId),
    }
  }

  useJournal(journal: KeyJournal): void {
    if (journal === this.#journal) return
    this.#journal = journal
    this.#isReadingJournal = true
    void this.#readJournal(journal)
  }

  release(): void {}

  ready(): true | string {
    return this.#closing === undefined ? (this.#writer.problem ?? true) : `${this.#title} is closing`
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#end())
  }

  async #end(): Promise<void> {
    clearTimeout(this.#trimming)
    this.#drained = Promise.withResolvers()
    const nowMs = steadyMs()
    const latestMs = this.#unwritten.values().reduce((ms, it) => Math.max(ms, it.deadlineMs), nowMs)
    const givingUp = setTimeout(this.#drained.resolve, Math.min(latestMs - nowMs, LONGEST_WAIT_MS) + DRAIN_MS)
    this.#write()
    await this.#drained.promise
    clearTimeout(givingUp)
    clearTimeout(this.#writingLater)
    await this.#writer.close()
    const lost = [...this.#unwritten.values()].filter(({ journalId }) => journalId === undefined)
    if (lost.length > 0)
      this.#log.error({ keys: lost.length }, `${this.#title} lacks keys of published events`)
  }

  /** Takes the keys that an earlier process left in a log's journal, before the log adds others. */
  async #readJournal(journal: KeyJournal): Promise<void> {
    while (journal === this.#journal && this.#closing === undefined) {
      const keys = await journal.read().catch((error: HooklineError) => error)
      if (journal !== this.#journal) return
      if (keys instanceof HooklineError) {
        this.#journalProblem = keys.message
        for (const { reject } of this.#lookups.splice(0)) reject(keys)
        await Bun.sleep(REREAD_JOURNAL_MS)
        continue
      }
      this.#journalProblem = undefined
      this.#isReadingJournal = false
      for (const { id, key, untilMs } of keys) this.#journaled(key, untilMs, id)
      return this.#lookUp()
    }
  }

  /** Takes a key of a log's journal, behind the others: its id is the highest. */
  #journaled(key: string, untilMs: number, journalId: number): void {
    this.#unwritten.get(key)?.answer?.(true)
    this.#unwritten.delete(key)
    this.#unwritten.set(key, { untilMs, deadlineMs: 0, journalId })
    this.#writingLater ??= setTimeout(this.#write, LAZY_MS)
  }

  #judge(untilMs = 0): KeyClaim {
    return untilMs >= this.#now() ? "duplicate" : "first"
  }

  readonly #lookUp = (): void => {
    const lookups = this.#lookups
    if (lookups.length === 0 || this.#lookingUp.length > 0 || this.#isReadingJournal) return
    this.#lookups = []
    this.#lookingUp = lookups
    this.#writer.do("untilOf", [lookups.map(({ key }) => key)], (answer) => {
      this.#lookingUp = []
      if (answer.kind === "busy") {
        this.#lookups = [...lookups, ...this.#lookups]
        this.#expire()
        return void setTimeout(this.#lookUp, BUSY_RETRY_MS)
      }
      for (const [at, { key, resolve, reject }] of lookups.entries()) {
        if (answer.kind === "failed") reject(unavailable(answer))
        else resolve(this.#judge(Math.max(this.#unwritten.get(key)?.untilMs ?? 0, answer.value[at] ?? 0)))
      }
      if (this.#lookups.length > 0) this.#lookUp()
    })
  }

  readonly #write = (): void => {
    clearTimeout(this.#writingLater)
    this.#writingLater = undefined
    if (this.#isWriting) return
    const batch = [...this.#unwritten.entries().take(SLICE_KEYS)]
    if (batch.length === 0 || this.#writer.failure !== undefined) return this.#drained?.resolve()
    this.#isWriting = true
    const keys = batch.map(([key, { untilMs }]) => [key, untilMs] as const)
    this.#writer.do("write", [keys], (answer) => {
      this.#isWriting = false
      if (answer.kind === "failed") return this.#drained?.resolve()
      if (answer.kind === "busy") {
        if (!this.#isAwaited) this.#drained?.resolve()
        this.#writingLater ??= setTimeout(this.#write, BUSY_RETRY_MS)
        return
      }
      this.#written(batch)
      if (this.#drained !== undefined || this.#isAwaited) this.#write()
      else if (this.#unwritten.size > 0) this.#writingLater ??= setTimeout(this.#write, LAZY_MS)
    })
  }

  get #isAwaited(): boolean {
    return this.#unwritten.values().some((it) => it.answer !== undefined)
  }

  #written(batch: readonly (readonly [key: string, one: Unwritten])[]): void {
    let journalId = 0
    for (const [key, one] of batch) {
      one.answer?.(true)
      if (this.#unwritten.get(key) === one) this.#unwritten.delete(key)
      journalId = Math.max(journalId, one.journalId ?? 0)
    }
    if (journalId > 0) this.#journal?.forget(journalId)
  }

  /** Answers what is past its deadline; keys are still to be written. @returns whether anything is left */
  #expire(): boolean {
    const nowMs = steadyMs()
    let waits = false
    for (const { deadlineMs, reject } of [...this.#lookups, ...this.#lookingUp]) {
      if (deadlineMs > nowMs) waits = true
      else reject(new HooklineError("unavailable", `${this.#title} did not answer in time`))
    }
    this.#lookups = this.#lookups.filter(({ deadlineMs }) => deadlineMs > nowMs)
    for (const one of this.#unwritten.values()) {
      if (one.answer === undefined) continue
      if (one.deadlineMs > nowMs) waits = true
      else refuse(one)
    }
    return waits
  }

  #trimIn(ms: number): void {
    this.#trimming = setTimeout(() => {
      this.#writer.do("trim", [this.#now()], (answer) => {
        if (this.#closing === undefined)
          this.#trimIn(answer.kind === "done" && answer.value ? TRIM_SLICE_MS : TRIM_MS)
      })
    }, ms)
  }

  #failed(failure: Failure): void {
    for (const { reject } of this.#lookups.splice(0)) reject(unavailable(failure))
    for (const one of this.#unwritten.values()) refuse(one)
  }
}

function refuse(one: Unwritten): void {
  one.answer?.(false)
  one.answer = undefined
}

const unavailable = ({ reason, cause }: Failure): HooklineError =>
  new HooklineError("unavailable", reason, { cause })
