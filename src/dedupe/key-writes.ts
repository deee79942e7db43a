// Hot path: every key of a pipeline with an embedded store passes here.
import { steadyMs, within } from "../clock/clock.ts"
import type { JournaledKey, KeyJournal, KeyPlace, RecordPlace } from "../pipeline/record.ts"
import type { DurableWriter } from "../storage/durable-writer.ts"
import { BUSY_RETRY_MS } from "../storage/serve-database.ts"
import type { KeyDatabase, PlacedKey } from "./key-database.ts"

/*
 * Keys on their way into the file, one transaction at a time:
 *
 *   idle      nothing is unwritten.
 *   lazy      only keys of a log's journal are unwritten, which are durable there: they are written after LAZY_MS.
 *   writing   the thread has a batch; the next one gathers meanwhile. Events of one batch of the broker are acknowledged at
 *             once, so that their keys are one batch, too, and their answers go out together.
 *   retrying  another process holds the write lock: the batch is repeated after a pause.
 *   failed    the file is closed: keys stay in memory, and are written once it is open again.
 *
 * A close drains: all is written at once, until the file fails, or is locked and nobody waits.
 *
 * Whoever waits for a key is answered when it is durable, at its deadline, or when the file fails. The key is still written.
 */

/** How long a key of a log's journal may be missing in the file. */
const LAZY_MS = 50
/** The most keys of one transaction. */
const SLICE_KEYS = 2000
/** How long a close writes keys that nobody waits for. */
const DRAIN_MS = 2000
/** Longer than any delivery_timeout. */
const LONGEST_WAIT_MS = 3_600_000

/** A key that is not in the file yet. */
interface Unwritten {
  readonly untilMs: number
  readonly deadlineMs: number
  /** In the journal of a log, where the key is durable. */
  readonly journalId?: number
  readonly at?: RecordPlace | undefined
  /** Answers whether the key is durable; undefined: nobody waits. */
  answer?: ((isDurable: boolean) => void) | undefined
}

export class KeyWrites {
  /** The journal of a log in the store's folder. */
  journal: KeyJournal | undefined
  readonly #writer: DurableWriter<KeyDatabase>
  readonly #keys = new Map<string, Unwritten>()
  #isWriting = false
  #later: Timer | undefined
  /** Resolves when no key is left to write, or none can be. */
  #drained: PromiseWithResolvers<void> | undefined

  constructor(writer: DurableWriter<KeyDatabase>) {
    this.#writer = writer
  }

  get size(): number {
    return this.#keys.size
  }

  /** Unwritten keys that no log's journal has. */
  get notDurable(): number {
    return this.#keys.values().reduce((n, { journalId }) => n + Number(journalId === undefined), 0)
  }

  /** A key's expiry, in milliseconds since 1970; 0: it is not unwritten. */
  untilOf(key: string): number {
    return this.#keys.get(key)?.untilMs ?? 0
  }

  /** Whether a key is in a log's journal. */
  isJournaled(key: string): boolean {
    return this.#keys.get(key)?.journalId !== undefined
  }

  /** @returns whether the key is durable by the deadline */
  add(key: string, untilMs: number, deadlineMs: number): Promise<boolean> | false {
    if (this.#writer.failure !== undefined) {
      this.#keys.set(key, { untilMs, deadlineMs })
      return false
    }
    // not in a later turn of the event loop, which would split the answers' senders into two groups
    if (!this.#isWriting) process.nextTick(this.write)
    return new Promise((answer) => this.#keys.set(key, { untilMs, deadlineMs, answer }))
  }

  /** Takes a key of a log's journal, after the others: its id is the highest. */
  addJournaled({ key, untilMs, id: journalId, at }: JournaledKey): void {
    this.#keys.get(key)?.answer?.(true)
    this.#keys.delete(key)
    this.#keys.set(key, { untilMs, deadlineMs: 0, journalId, at })
    this.#writeIn(LAZY_MS)
  }

  readonly write = (): void => {
    clearTimeout(this.#later)
    this.#later = undefined
    if (this.#isWriting) return
    const batch = [...this.#keys.entries().take(SLICE_KEYS)]
    if (batch.length === 0 || this.#writer.failure !== undefined) return this.#drained?.resolve()
    this.#isWriting = true
    const places = new Map<KeyPlace, number>()
    const keys = batch.map(([key, { untilMs, at }]): PlacedKey => {
      if (at === undefined) return [key, untilMs, -1, -1]
      return [key, untilMs, places.getOrInsert(at.place, places.size), at.offset]
    })
    this.#writer.do("write", [keys, [...places.keys()]], (answer) => {
      this.#isWriting = false
      if (answer.kind === "failed") return this.#drained?.resolve()
      if (answer.kind === "busy") {
        if (!this.#isAwaited) this.#drained?.resolve()
        return this.#writeIn(BUSY_RETRY_MS)
      }
      this.#written(batch)
      if (this.#drained !== undefined || this.#isAwaited) this.write()
      else if (this.#keys.size > 0) this.#writeIn(LAZY_MS)
    })
  }

  /** Answers those that wait past their deadline. @returns whether anything is left */
  expire(nowMs: number): boolean {
    let isLeft = false
    for (const one of this.#keys.values()) {
      if (one.answer === undefined) continue
      if (one.deadlineMs > nowMs) isLeft = true
      else refuse(one)
    }
    return isLeft
  }

  /** The file has failed. */
  refuseAll(): void {
    for (const one of this.#keys.values()) refuse(one)
  }

  /** Writes what is left, for as long as anybody waits for it and a while longer. */
  async drain(): Promise<void> {
    this.#drained = Promise.withResolvers()
    const nowMs = steadyMs()
    const latestMs = this.#keys.values().reduce((ms, it) => Math.max(ms, it.deadlineMs), nowMs)
    const waitMs = Math.min(latestMs - nowMs, LONGEST_WAIT_MS) + DRAIN_MS
    this.write()
    await within(waitMs, this.#drained.promise, () => {})
    clearTimeout(this.#later)
  }

  #writeIn(ms: number): void {
    this.#later ??= setTimeout(this.write, ms)
  }

  get #isAwaited(): boolean {
    return this.#keys.values().some((it) => it.answer !== undefined)
  }

  #written(batch: readonly (readonly [key: string, one: Unwritten])[]): void {
    let journalId = 0
    for (const [key, one] of batch) {
      one.answer?.(true)
      if (this.#keys.get(key) === one) this.#keys.delete(key)
      journalId = Math.max(journalId, one.journalId ?? 0)
    }
    if (journalId > 0) this.journal?.forget(journalId)
  }
}

function refuse(one: Unwritten): void {
  one.answer?.(false)
  one.answer = undefined
}
