import type { PendingRecord } from "./pending-queue.ts"

/** A batch as it is sent, and sent again. Its bytes never change, so that the broker knows it by its sequence. */
export class EncodedBatch<P> {
  /** It was sent and may be in the log: the broker has not said. */
  isUncertain = false
  inFlight = false
  /** Its records were cancelled: it is not sent again, nor are they. */
  isCancelled = false
  /** How often the broker answered it with an error that a bounded number of retries is for. */
  attempts = 0
  /** How often the broker closed the connection on a request that held nothing else. */
  closes = 0
  /** The first deadline of its records, after which it is not sent again. */
  readonly deadlineMs: number
  readonly partition: P
  readonly records: readonly PendingRecord[]
  /** As sent; while it is compressed, the plain ones. */
  bytes: Buffer
  /** Resolves when its bytes are compressed, before it is first sent; undefined: they are. */
  compressing: Promise<void> | undefined

  constructor(partition: P, records: readonly PendingRecord[], bytes: Buffer) {
    this.partition = partition
    this.records = records
    this.bytes = bytes
    this.deadlineMs = Math.min(...records.map(({ deadlineMs }) => deadlineMs))
  }
}

export function bytesOf(batches: readonly EncodedBatch<unknown>[]): number {
  let sum = 0
  for (const { bytes } of batches) sum += bytes.length
  return sum
}
