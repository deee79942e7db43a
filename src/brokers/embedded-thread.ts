import { unpackBatch, type PackedBatch } from "./embedded-batch.ts"
import { describeFailure, isBusy, type LogPlace } from "./embedded-file.ts"
import { TrimmingWriter, type Deletions, type Limits } from "./embedded-trimmer.ts"

/*
 * The thread that has the embedded log's file open: a Worker, which takes one demand after the other and answers each.
 * Whatever the disk does, it is this thread that waits for it.
 *
 *   open    opens the file; it must not be open
 *   append  writes a batch in one transaction; the answer follows its fsync. Before the next batch comes, a slice of upkeep is
 *           done: the WAL is carried over when it is due, else records are deleted that retention does not keep, else free
 *           space is given back to the disk
 *   prepare makes topics
 *   trim    says what retention keeps from now on; a slice of upkeep is done for it where no batches come
 *   close   closes the file
 *
 * A demand that finds the file held by another process changes nothing and is answered `busy`. After any other failure the
 * file is closed; what comes until it is open again is answered `failed`, too.
 */
export type Demand =
  | { readonly kind: "open"; readonly place: LogPlace }
  | { readonly kind: "append"; readonly batch: PackedBatch; readonly timestampMs: number }
  | { readonly kind: "prepare"; readonly topics: readonly string[] }
  | { readonly kind: "trim"; readonly limits: Limits }
  | { readonly kind: "close" }

export type Answer =
  | { readonly kind: "done" }
  | {
      readonly kind: "appended"
      /** Of each record. */
      readonly offsets: readonly number[]
      /** How long the transaction took. */
      readonly ms: number
      /** The memory that the batch came in, to be used again. */
      readonly spare: ArrayBuffer
    }
  | {
      readonly kind: "trimmed"
      /** Whether there may be more to delete, or to give back. */
      readonly more: boolean
      /** Since the last such answer. */
      readonly deleted: Deletions
      /** As `TrimmingWriter.heldBytes`. */
      readonly heldBytes: number
    }
  | { readonly kind: "busy" }
  | { readonly kind: "failed"; readonly reason: string; readonly cause: unknown }

/** Batches come when the last one is not longer ago; upkeep is done behind them then. */
const QUIET_MS = 20
/** What is deleted behind a batch: more than it brought, little enough for the next one to wait for. */
const LEAST_RECORDS = 50
const MOST_RECORDS = 500

declare const self: Worker

let place: LogPlace | undefined
let writer: TrimmingWriter | undefined
let limits: Limits | undefined
let deleted = noDeletions()
/** When the last batch was written. */
let appendedAtMs = Number.NEGATIVE_INFINITY

/** Why there is no writer. */
let broken: Answer = { kind: "failed", reason: "the file is not open", cause: undefined }

function answer(demand: Demand): Answer {
  if (demand.kind === "open") {
    place = demand.place
    writer = new TrimmingWriter(place)
    writer.recover()
    return { kind: "done" }
  }
  if (demand.kind === "close") {
    writer?.close()
    writer = undefined
    return { kind: "done" }
  }
  if (writer === undefined) return broken
  switch (demand.kind) {
    case "append": {
      const { batch, timestampMs } = demand
      const startedAtMs = performance.now()
      if (limits !== undefined && timestampMs < limits.nowMs) limits = setBack(limits, timestampMs)
      const offsets = writer.append(unpackBatch(batch), timestampMs)
      return { kind: "appended", offsets, ms: performance.now() - startedAtMs, spare: batch.bytes }
    }
    case "prepare":
      writer.prepare(demand.topics)
      return { kind: "done" }
    case "trim": {
      limits = demand.limits
      if (writer.heldBytes > 0) writer.recover()
      const more =
        performance.now() - appendedAtMs < QUIET_MS ? writer.isDue(limits) : upkeep(writer, MOST_RECORDS)
      const told = { kind: "trimmed", more, deleted, heldBytes: writer.heldBytes } as const
      deleted = noDeletions()
      return told
    }
  }
}

/**
 * Does one slice of what commits leave to be done.
 *
 * @returns whether there may be more
 */
function upkeep(writer: TrimmingWriter, records: number): boolean {
  if (writer.checkpoint()) return true
  const slice = limits === undefined ? undefined : writer.trim(limits, records)
  if (slice === undefined) return writer.giveBack()
  for (const reason of ["age", "size"] as const) {
    deleted[reason].records += slice[reason].records
    deleted[reason].bytes += slice[reason].bytes
  }
  return true
}

/** What retention keeps by a clock that was set back since it was told. */
function setBack({ beforeMs, nowMs, maxBytes }: Limits, toMs: number): Limits {
  return { beforeMs: beforeMs - (nowMs - toMs), nowMs: toMs, maxBytes }
}

function noDeletions(): { [reason in keyof Deletions]: { records: number; bytes: number } } {
  return { age: { records: 0, bytes: 0 }, size: { records: 0, bytes: 0 } }
}

function failed(error: unknown): Answer {
  if (isBusy(error)) {
    // one that could not be opened for it is as busy for what comes next
    if (writer === undefined) broken = { kind: "busy" }
    return { kind: "busy" }
  }
  const reason = describeFailure(error, place!)
  try {
    writer?.close()
  } catch {
    // what was acknowledged is in the WAL, wherever it lies; the failure that is told came first
  }
  writer = undefined
  return (broken = { kind: "failed", reason, cause: error })
}

self.addEventListener("message", ({ data: demand }: MessageEvent<Demand>): void => {
  let told: Answer
  try {
    told = answer(demand)
  } catch (error) {
    told = failed(error)
  }
  self.postMessage(told, told.kind === "appended" ? [told.spare] : [])
  if (told.kind !== "appended") return
  try {
    upkeep(writer!, Math.min(MOST_RECORDS, Math.max(LEAST_RECORDS, 2 * told.offsets.length)))
    appendedAtMs = performance.now()
  } catch (error) {
    // the next demand is told
    failed(error)
  }
})
