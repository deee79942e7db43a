// Hot path: `publish`. Measured by `npm run bench`.
import { PublishError } from "../errors.ts"
import type { Receipt, Record } from "../pipeline/record.ts"
import { steadyMs } from "../clock/clock.ts"
import { DeadlineQueue, sweepDeadlines } from "../clock/deadlines.ts"
import { BUSY_RETRY_MS } from "../storage/serve-database.ts"

/*
 * Commits records in batches, one at a time. Its states:
 *
 *   idle       the queue is empty.
 *   gathering  the queue is committed at the end of the event loop's turn. A small batch waits for a few turns: senders that
 *              were answered together send again together, and would otherwise split into two alternating groups, with twice
 *              as many commits.
 *   committing the database has a batch; the next one gathers meanwhile.
 *   retrying   the database can't take one now, as while another process has locked it: the batch is back at the front of the
 *              queue, for another try.
 *
 * At its deadline a record is rejected in any state. If it was still queued it is never published; if the database has it, it
 * may be. When the database fails all are rejected.
 */
type State = "idle" | "gathering" | "committing" | "retrying"

/** A record that is not durable yet. */
export interface UncommittedRecord {
  readonly record: Record
  readonly deadlineMs: number
  readonly resolve: (receipt: Receipt) => void
  readonly reject: (error: PublishError) => void
}

/** The records of a batch as they were committed, by their order in it. */
export interface CommittedRecords {
  readonly offsets: readonly number[]
  /** Absent: all are in partition 0. */
  readonly partitions?: readonly number[]
  /** Duration of the transaction. */
  readonly ms: number
}

interface CommitFailure {
  readonly reason: string
  readonly cause?: unknown
}

export type CommitAnswer =
  | { readonly kind: "done"; readonly value: CommittedRecords }
  /** Nothing was committed: the batch is tried again. */
  | { readonly kind: "busy" }
  | ({ readonly kind: "failed" } & CommitFailure)

export interface PublisherDependencies {
  /** `The log in <directory>`, for errors. */
  readonly title: string
  /** The bytes of about the largest commit. */
  readonly batchBytes: number
  readonly commit: (records: readonly UncommittedRecord[], then: (answer: CommitAnswer) => void) => void
  /** The reason that nothing can be committed; undefined: it can. */
  readonly failure: () => CommitFailure | undefined
  /** The reason that nothing is written now, if that is known. */
  readonly problem?: () => string | undefined
  readonly committed?: (records: number, ms: number) => void
}

/** Turns of the event loop, of microseconds each when idle, that a batch waits for to have ENOUGH records. */
const TURNS = 3
const ENOUGH = 64

export class BatchPublisher {
  readonly #deps: PublisherDependencies
  readonly #queue: DeadlineQueue<UncommittedRecord>
  readonly #sweep = sweepDeadlines(() => this.#expire())
  #state: State = "idle"
  /** The batch that is being committed. */
  #out: readonly UncommittedRecord[] = []
  #turnsLeft = 0
  #closing: PromiseWithResolvers<void> | undefined

  constructor(deps: PublisherDependencies) {
    this.#deps = deps
    this.#queue = new DeadlineQueue((one) => one.reject(this.#late()))
  }

  /** Publishes as `Broker.publish`. */
  publish(record: Record, deadlineMs: number): Promise<Receipt> {
    const { title, failure } = this.#deps
    if (this.#closing !== undefined) return Promise.reject(new PublishError("closing", `${title} is closing`))
    const failed = failure()
    if (failed !== undefined) return Promise.reject(unavailable(failed))
    const tooLarge = tooLargeFor(record, title)
    if (tooLarge !== undefined) return Promise.reject(tooLarge)
    return new Promise((resolve, reject) => {
      this.#queue.push({ record, deadlineMs, resolve, reject })
      this.#sweep()
      if (this.#state === "idle") this.#setState("gathering")
    })
  }

  rejectAll(failure: CommitFailure): void {
    for (const { reject } of this.#queue.take()) reject(unavailable(failure))
    this.#endIfDone()
  }

  /** Resolves when all records were answered. */
  close(): Promise<void> {
    this.#closing ??= Promise.withResolvers()
    this.#endIfDone()
    return this.#closing.promise
  }

  /** The only place where the state changes. */
  #setState(state: State): void {
    this.#state = state
    if (state === "gathering") {
      this.#turnsLeft = TURNS
      setImmediate(this.#gather)
    } else if (state === "retrying") setTimeout(this.#commit, BUSY_RETRY_MS)
  }

  readonly #gather = (): void => {
    if (this.#queue.length < ENOUGH && --this.#turnsLeft > 0) setImmediate(this.#gather)
    else this.#commit()
  }

  readonly #commit = (): void => {
    const batch = this.#next()
    if (batch.length === 0) {
      this.#setState("idle")
      return this.#endIfDone()
    }
    this.#out = batch
    this.#setState("committing")
    this.#deps.commit(batch, this.#answered)
  }

  /** Takes the next records, of just over a commit's bytes in all. Those past their deadlines are rejected. */
  #next(): UncommittedRecord[] {
    this.#queue.expire(steadyMs())
    let count = 0
    for (let bytes = 0; count < this.#queue.length && bytes < this.#deps.batchBytes; count++)
      bytes += sizeOf(this.#queue.items[count]!.record)
    return this.#queue.take(count)
  }

  readonly #answered = (answer: CommitAnswer): void => {
    const batch = this.#out
    this.#out = []
    if (answer.kind === "busy") {
      this.#queue.putBack(batch)
      return this.#setState("retrying")
    }
    if (answer.kind === "done") {
      const { offsets, partitions, ms } = answer.value
      this.#deps.committed?.(batch.length, ms)
      for (let at = 0; at < batch.length; at++)
        batch[at]!.resolve({ partition: partitions?.[at] ?? 0, offset: offsets[at]! })
    } else for (const { reject } of batch) reject(unavailable(answer))
    this.#setState(this.#queue.length === 0 ? "idle" : "gathering")
    this.#endIfDone()
  }

  /** Rejects what is past its deadline; returns whether anything still waits. */
  #expire(): boolean {
    const nowMs = steadyMs()
    this.#queue.expire(nowMs)
    let waits = this.#queue.length > 0
    for (const one of this.#out) {
      if (one.deadlineMs <= nowMs) one.reject(this.#late())
      else waits = true
    }
    if (!waits) this.#closing?.resolve()
    return waits
  }

  #late(): PublishError {
    const problem = this.#deps.problem?.()
    const why = problem === undefined ? "" : `: ${problem}`
    return new PublishError("deadline", `${this.#deps.title} did not take the record in time${why}`)
  }

  #endIfDone(): void {
    if (this.#closing !== undefined) this.#expire()
  }
}

const unavailable = ({ reason, cause }: CommitFailure): PublishError =>
  new PublishError("unavailable", reason, { cause })

/** Well below SQLite's limit for a row (1e9 bytes), and that of a value in PostgreSQL (1 GB). */
const MAX_RECORD_BYTES = 256 * 1024 * 1024

function tooLargeFor(record: Record, title: string): PublishError | undefined {
  if (sizeOf(record) <= MAX_RECORD_BYTES) return undefined
  return new PublishError("record_too_large", `${title} takes records up to ${MAX_RECORD_BYTES} bytes`)
}

/** Bytes of a record's key and value. */
export const sizeOf = ({ key, value }: Record): number => value.length + (key === undefined ? 0 : key.length)
