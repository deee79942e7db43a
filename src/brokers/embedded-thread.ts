import { unpackBatch, type PackedBatch } from "./embedded-batch.ts"
import { describeFailure, isBusy, type LogPlace } from "./embedded-file.ts"
import { TrimmingWriter, type Deletions, type Limits } from "./embedded-trimmer.ts"
import { Upkeep } from "./embedded-upkeep.ts"

/*
 * The thread that has the embedded log's file open: a Worker, which takes one demand after the other and answers each.
 * Whatever the disk does, it is this thread that waits for it.
 *
 *   open    opens the file; it must not be open
 *   append  writes a batch in one transaction; the answer follows its fsync. Upkeep comes behind it, see embedded-upkeep.ts
 *   prepare makes topics
 *   trim    says what retention keeps from now on, and does some of it
 *   ask     asks for the write lock and gives it back
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
  | { readonly kind: "ask" }
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

declare const self: Worker

let place: LogPlace | undefined
let writer: TrimmingWriter | undefined
const upkeep = new Upkeep()

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
      upkeep.begins(timestampMs)
      const offsets = writer.append(unpackBatch(batch), timestampMs)
      return { kind: "appended", offsets, ms: performance.now() - startedAtMs, spare: batch.bytes }
    }
    case "prepare":
      writer.prepare(demand.topics)
      return { kind: "done" }
    case "ask":
      writer.askForLock()
      return { kind: "done" }
    case "trim": {
      const more = upkeep.round(writer, demand.limits)
      return { kind: "trimmed", more, deleted: upkeep.take(), heldBytes: writer.heldBytes }
    }
  }
}

function failed(error: unknown): Answer {
  if (isBusy(error)) {
    // one that could not be opened for it is as busy for what comes next
    if (writer === undefined) broken = { kind: "busy" }
    return { kind: "busy" }
  }
  const reason = describeFailure(error, place!)
  try {
    writer?.closeFailed()
  } catch {
    // what was acknowledged is in the WAL, wherever it lies; the failure that is told came first
  }
  writer = undefined
  return (broken = { kind: "failed", reason, cause: error })
}

self.addEventListener("message", ({ data: demand }: MessageEvent<Demand>): void => {
  const bytesBefore = writer?.bytes ?? 0
  let told: Answer
  try {
    told = answer(demand)
  } catch (error) {
    told = failed(error)
  }
  self.postMessage(told, told.kind === "appended" ? [told.spare] : [])
  if (told.kind !== "appended") return
  try {
    upkeep.behind(writer!, writer!.bytes - bytesBefore)
  } catch (error) {
    // the next demand is told
    failed(error)
  }
})
