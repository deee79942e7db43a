// Hot path: `publish`. Measured by `npm run bench`.
import { PublishError } from "../../errors.ts"
import type { Receipt, Record } from "../../pipeline/record.ts"
import { steadyMs } from "../../clock.ts"
import { DeadlineSweep } from "../../storage/deadlines.ts"
import { BUSY_RETRY_MS } from "../../storage/durable-writer.ts"
import type { Answer, Failure } from "../../storage/serve-database.ts"
import { packBatch, type PackedBatch } from "./batch.ts"
import { PublishQueue, tooLargeFor, type PendingRecord } from "./pending-records.ts"
import type { Committed } from "./writer.ts"

/*
 * Gathers records into batches, one of which is being committed at a time. Its states:
 *
 *   idle       nothing waits.
 *   gathering  records wait for their batch, which is committed at the end of the event loop's turn. A small batch waits for
 *              a few turns: senders that were answered together send again together, and would else fall into two groups
 *              that take turns, with twice as many commits.
 *   committing the thread has a batch; what comes meanwhile is the next one, so that batches are as large as the disk is
 *              slow.
 *   retrying   another process holds the file: the batch is at the front of the queue again, and is tried every few
 *              milliseconds.
 *
 * A record whose deadline passes is rejected, in whatever state. One that waits in the queue is never published then; of one
 * that the thread has, nobody knows until the disk answers. When the file has failed, all that waits is rejected.
 */
type State = "idle" | "gathering" | "committing" | "retrying"

export interface PublisherDependencies {
  /** `The log in <directory>`, for errors. */
  readonly title: string
  /** A commit is held to about this size. */
  readonly batchBytes: number
  /** Has a batch committed. */
  readonly commit: (
    batch: PackedBatch,
    records: readonly PendingRecord[],
    then: (answer: Answer<Committed>) => void,
  ) => void
  /** Why the file is closed, if it is. */
  readonly failure: () => Failure | undefined
  /** Records were committed, in so many milliseconds. */
  readonly committed?: (records: number, ms: number) => void
}

/** For how many turns of the event loop a batch waits to have so many records; idle turns take microseconds. */
const TURNS = 3
const ENOUGH = 64
/** Memory of a batch that is larger is not kept for the next one. */
const SPARE_BYTES = 1024 * 1024

export class Publisher {
  readonly #deps: PublisherDependencies
  readonly #queue: PublishQueue
  readonly #sweep = new DeadlineSweep(() => this.#expire())
  #state: State = "idle"
  /** The batch that the thread has. */
  #out: readonly PendingRecord[] = []
  #turnsLeft = 0
  /** Memory to pack the next batch into. */
  #spare: ArrayBuffer | undefined
  #closing: PromiseWithResolvers<void> | undefined

  constructor(deps: PublisherDependencies) {
    this.#deps = deps
    this.#queue = new PublishQueue(deps.title)
  }

  /** Resolves when the record is durable; as `Broker.publish`. */
  publish(record: Record, deadlineMs: number): Promise<Receipt> {
    const { title, failure } = this.#deps
    if (this.#closing !== undefined) return Promise.reject(new PublishError("closing", `${title} is closing`))
    const failed = failure()
    if (failed !== undefined) return Promise.reject(unavailable(failed))
    const tooLarge = tooLargeFor(record, title)
    if (tooLarge !== undefined) return Promise.reject(tooLarge)
    return new Promise((resolve, reject) => {
      this.#queue.push({ record, deadlineMs, resolve, reject })
      this.#sweep.start()
      if (this.#state === "idle") this.#setState("gathering")
    })
  }

  /** The file was closed after a failure. */
  rejectAll(failure: Failure): void {
    this.#queue.rejectAll(unavailable(failure))
    this.#endIfDone()
  }

  /** Resolves when all that waits was answered. */
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
    const batch = this.#queue.take(steadyMs(), this.#deps.batchBytes)
    if (batch.length === 0) {
      this.#setState("idle")
      return this.#endIfDone()
    }
    const packed = packBatch(batch, this.#spare)
    this.#spare = undefined
    this.#out = batch
    this.#setState("committing")
    this.#deps.commit(packed, batch, this.#answered)
  }

  readonly #answered = (answer: Answer<Committed>): void => {
    const batch = this.#out
    this.#out = []
    if (answer.kind === "busy") {
      this.#queue.putBack(batch)
      return this.#setState("retrying")
    }
    if (answer.kind === "done") {
      const { offsets, ms, transfer } = answer.value
      if (transfer[0]!.byteLength <= SPARE_BYTES) this.#spare = transfer[0]
      this.#deps.committed?.(batch.length, ms)
      for (let at = 0; at < batch.length; at++) batch[at]!.resolve({ partition: 0, offset: offsets[at]! })
    } else for (const { reject } of batch) reject(unavailable(answer))
    this.#setState(this.#queue.isEmpty ? "idle" : "gathering")
    this.#endIfDone()
  }

  /** Rejects what is past its deadline; returns whether anything still waits. */
  #expire(): boolean {
    const nowMs = steadyMs()
    this.#queue.expire(nowMs)
    let waits = !this.#queue.isEmpty
    for (const one of this.#out) {
      if (one.deadlineMs <= nowMs) one.reject(this.#queue.late())
      else waits = true
    }
    if (!waits) this.#closing?.resolve()
    return waits
  }

  #endIfDone(): void {
    if (this.#closing !== undefined) this.#expire()
  }
}

const unavailable = ({ reason, cause }: Failure): PublishError =>
  new PublishError("unavailable", reason, { cause })
