// Hot path: every event of a pipeline with an embedded store passes here.
import { resolve } from "node:path"
import { DeadlineSweep } from "../storage/deadlines.ts"
import { BUSY_RETRY_MS, DurableWriter } from "../storage/durable-writer.ts"
import type { Failure } from "../storage/serve-database.ts"
import { HooklineError } from "../errors.ts"
import { steadyMs } from "../clock.ts"
import type { DedupeKey, KeyJournal } from "../pipeline/record.ts"
import type { Logger } from "../telemetry/log.ts"
import type { KeyClaim, KeyStore } from "./key-store.ts"
import { dedupeFileIn, KeyDatabase } from "./key-database.ts"

/*
 * What an embedded store does with its file, whose states are those of storage/durable-writer.ts:
 *
 *   looking up  claims gather while the thread looks up those before; a turn of the event loop is one request.
 *   writing     keys gather likewise, and each batch is one transaction. The events of one batch of the broker were
 *               acknowledged at once, so that their keys are one batch, too, and their answers go out together.
 *               Keys that a log has committed with their records are durable already: they are written when they are
 *               many, or after LAZY_MS, and nobody waits for it.
 *
 * Claims wait while the journal of a log in the folder is read, and are refused while that can't be done.
 *
 * While another process holds the file, or the disk stalls, whoever waits is answered at the deadline. After a failure claims
 * are refused, and keys that could not be written stay here until the file is open again: no more can come than were on their
 * way. Where another process holds the write lock keys can still be looked up: claims are refused when MOST_UNWRITTEN wait.
 */

/** How long a key may lie there after its window, when not many run out at once. */
const TRIM_MS = 1000
/** Between two slices of what ran out, commits have their turn. */
const TRIM_SLICE_MS = 5
/** How long a key that is in the log's journal may not be in the store's file. */
const LAZY_MS = 50
/** Keys of one transaction. */
const SLICE_KEYS = 2000
const MOST_UNWRITTEN = 50_000
/** Between two tries to read a log's journal. */
const READ_JOURNAL_MS = 500
/** How long a close waits for keys to be written, after everybody who waited for them was answered. */
const DRAIN_MS = 2000

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
  /** Its id in the journal of a log, where it is durable; undefined: in none. */
  readonly journalId: number | undefined
  /** Answers whether it is durable; undefined: nobody waits. */
  answer: ((isDurable: boolean) => void) | undefined
}

/** Keeps keys in a file of a folder, which is made when it is not there. One process at a time can. */
export class SqliteKeys implements KeyStore {
  readonly #directory: string
  readonly #title: string
  readonly #log: Logger
  readonly #now: () => number
  readonly #writer: DurableWriter<KeyDatabase>
  readonly #sweep = new DeadlineSweep(() => this.#expire())
  #lookups: Lookup[] = []
  /** Those that the thread has. */
  #lookingUp: Lookup[] = []
  readonly #unwritten = new Map<string, Unwritten>()
  #isWriting = false
  #writingLater: Timer | undefined
  #journal: KeyJournal | undefined
  #isReadingJournal = false
  /** Why the journal can't be read now. */
  #journalProblem: string | undefined
  #trimming: Timer | undefined
  /** Resolves when nothing is left to write, or it can't be. */
  #drained: PromiseWithResolvers<void> | undefined
  #closing: Promise<void> | undefined

  /**
   * @param deps `now` is in milliseconds since 1970
   * @throws HooklineError `log_locked`, `log_io`
   */
  constructor(directory: string, { log, now = Date.now }: { log: Logger; now?: () => number }) {
    const location = dedupeFileIn(directory)
    this.#directory = resolve(directory)
    this.#title = location.title
    this.#log = log
    this.#now = now
    this.#writer = new DurableWriter<KeyDatabase>(location, (it) => new KeyDatabase(it).close(), {
      log,
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
      this.#lookups.push({ key, deadlineMs, resolve, reject })
      this.#sweep.start()
      if (this.#lookups.length === 1 && this.#lookingUp.length === 0) setImmediate(this.#lookUp)
    })
  }

  add(key: string, untilMs: number, deadlineMs: number): Promise<boolean> | boolean {
    const unwritten = this.#unwritten.get(key)
    if (unwritten?.journalId !== undefined && this.#judge(unwritten.untilMs) === "duplicate") return true
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const isOpen = this.#writer.failure === undefined
    this.#unwritten.set(key, {
      untilMs,
      deadlineMs,
      journalId: undefined,
      answer: isOpen ? resolve : undefined,
    })
    if (isOpen) {
      this.#sweep.start()
      this.#writeSoon()
    } else resolve(false)
    return promise
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
    const givingUp = setTimeout(this.#drained.resolve, Math.min(latestMs - nowMs, MOST_MS) + DRAIN_MS)
    this.#write()
    await this.#drained.promise
    clearTimeout(givingUp)
    clearTimeout(this.#writingLater)
    await this.#writer.close()
    const lost = [...this.#unwritten.values()].filter(({ journalId }) => journalId === undefined)
    if (lost.length > 0)
      this.#log.error({ keys: lost.length }, `${this.#title} lacks keys of published events`)
  }

  /** Takes what an earlier process left in a log's journal. It is ahead of whatever the log adds. */
  async #readJournal(journal: KeyJournal): Promise<void> {
    while (journal === this.#journal && this.#closing === undefined) {
      const keys = await journal.read().catch((error: HooklineError) => error)
      if (journal !== this.#journal) return
      if (keys instanceof HooklineError) {
        this.#journalProblem = keys.message
        for (const { reject } of this.#lookups.splice(0)) reject(keys)
        await Bun.sleep(READ_JOURNAL_MS)
        continue
      }
      this.#journalProblem = undefined
      this.#isReadingJournal = false
      for (const { id, key, untilMs } of keys)
        if (this.#judge(untilMs) === "duplicate") this.#journaled(key, untilMs, id)
      return this.#lookUp()
    }
  }

  /** Takes a key that is durable in a log's journal, behind all others: its id is the highest. */
  #journaled(key: string, untilMs: number, journalId: number): void {
    this.#unwritten.get(key)?.answer?.(true)
    this.#unwritten.delete(key)
    this.#unwritten.set(key, { untilMs, deadlineMs: 0, journalId, answer: undefined })
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

  /** When all that is to run now has: a turn of the event loop later the answers' senders would fall into two groups. */
  #writeSoon(): void {
    if (!this.#isWriting) process.nextTick(this.#write)
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

  /** Whether anybody waits for a key to be written. */
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

  /** Answers whoever is past the deadline; their keys stay to be written. Returns whether anybody still waits. */
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
      else answerFalse(one)
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
    for (const one of this.#unwritten.values()) if (one.answer !== undefined) answerFalse(one)
  }
}

/** Longer than any delivery_timeout. */
const MOST_MS = 3_600_000

function answerFalse(one: Unwritten): void {
  one.answer?.(false)
  one.answer = undefined
}

const unavailable = ({ reason, cause }: Failure): HooklineError =>
  new HooklineError("unavailable", reason, { cause })
