import { HooklineError } from "../errors.ts"
import { ERROR } from "../kafka-protocol/error-codes.ts"
import { KeptBatches } from "./kept-batches.ts"
import {
  type CommittedOffset,
  Unreadable,
  type Log,
  type Offsets,
  type PartitionOf,
  type UnreadRecords,
} from "./log.ts"
import { encodeRecordBatch, setEpoch, type RecordBatch } from "./record-batch.ts"
import type { SharedCounters } from "./shared-counters.ts"
import { Topics, type ClientTopic } from "./topics.ts"

/** A partition as a request names it. */
export interface PartitionOfTopic extends PartitionOf {
  readonly topic: ClientTopic
}

/**
 * The log as requests read it: its topics with the ids that clients use, and batches of its records, of which some are kept for
 * the consumers that ask next. While the log is recovered, which is not possible with readers, the view is closed, and requests
 * wait for `whenOpen`.
 */
export class LogView {
  readonly #openLog: () => Log
  #log: Log | undefined
  #opened = Promise.withResolvers<void>()
  readonly #topics = new Topics()
  readonly #counters: SharedCounters
  readonly #damaged: (records: UnreadRecords) => void
  /** As of the change `#offsetsAt` of the log, by partition. */
  readonly #offsets = new Map<string, Offsets>()
  #offsetsAt = 0
  /** The batch that was last read at the end of each partition, which consumers that follow a topic share. */
  readonly #recent = new KeptBatches()
  /** Batches that consumers will ask for next, by partition and first offset, read while they process the ones before. */
  readonly #ahead = new KeptBatches()

  /** The disk has not read the log: it is opened anew for the next request. */
  #isUnread = false
  readonly #unread: (reason: string) => void

  /**
   * @param damaged called with records that a client asked for, each time
   * @param unread called with the reason where the disk does not read, each time
   */
  constructor(
    openLog: () => Log,
    counters: SharedCounters,
    damaged: (records: UnreadRecords) => void = () => {},
    unread: (reason: string) => void = () => {},
  ) {
    this.#openLog = openLog
    this.#damaged = damaged
    this.#unread = unread
    this.#counters = counters
  }

  /** @throws as the log that can't be opened */
  open(): void {
    if (this.#log !== undefined) return
    this.#log = this.#openLog()
    this.#opened.resolve()
  }

  close(): void {
    if (this.#log === undefined) return
    this.#offsets.clear()
    this.#recent.clear()
    this.#ahead.clear()
    this.#log.close()
    this.#log = undefined
    this.#opened = Promise.withResolvers()
  }

  /** undefined: it is open. */
  whenOpen(): Promise<void> | undefined {
    if (this.#isUnread) this.#openAnew()
    return this.#log === undefined ? this.#opened.promise : undefined
  }

  /** The protocol's code for what kept the log from being read; undefined: the error is another one. */
  codeOf(thrown: unknown): number | undefined {
    const error = this.#log?.explain(thrown) ?? thrown
    if (error instanceof Unreadable) return ERROR.CORRUPT_MESSAGE
    if (!(error instanceof HooklineError && error.code === "log_io")) return undefined
    this.#isUnread = true
    this.#unread(error.message)
    return ERROR.KAFKA_STORAGE_ERROR
  }

  #openAnew(): void {
    this.#isUnread = false
    if (this.#log === undefined) return
    try {
      const log = this.#openLog()
      this.#log.close()
      this.#log = log
    } catch {
      // the request that reads it says why it can't be read
    }
  }

  /** The log itself, for what needs no keeping. */
  get source(): Log {
    if (this.#log === undefined) throw new Error("the log is not open")
    return this.#log
  }

  /** Up to where an offset committed in an epoch is of this log's records, and the newest epoch there. */
  lastCommittable(
    topicName: string,
    partition: number,
    epoch: number,
  ): Pick<CommittedOffset, "offset" | "leaderEpoch"> {
    const of = { topic: this.topic(topicName) ?? NO_TOPIC, partition }
    const log = this.source
    const offset = log.epochEnd(of, epoch) ?? log.offsets(of)?.end ?? 0
    return { offset, leaderEpoch: log.epochUpTo(epoch) }
  }

  topics(): readonly ClientTopic[] {
    return this.#topics.all(this.source)
  }

  topic(name: string): ClientTopic | undefined {
    return this.#topics.named(name) ?? (this.#topics.refresh(this.source), this.#topics.named(name))
  }

  topicById(uuid: string): ClientTopic | undefined {
    return this.#topics.byId(uuid) ?? (this.#topics.refresh(this.source), this.#topics.byId(uuid))
  }

  /** The numbers of a topic's partitions. */
  partitions(topic: ClientTopic): readonly number[] {
    this.#topics.refresh(this.source)
    return [...Array(topic.partitions).keys()]
  }

  has({ topic, partition }: PartitionOfTopic): boolean {
    if (partition >= topic.partitions) this.#topics.refresh(this.source)
    return partition >= 0 && partition < topic.partitions
  }

  /** undefined: the topic has no such partition. */
  offsets(of: PartitionOfTopic): Offsets | undefined {
    if (!this.has(of)) return undefined
    const { changes } = this.#counters
    if (changes !== this.#offsetsAt) this.#offsets.clear()
    this.#offsetsAt = changes
    const key = keyOf(of)
    const known = this.#offsets.get(key)
    if (known !== undefined) return known
    const offsets = this.source.offsets(of)
    if (offsets !== undefined) this.#offsets.set(key, offsets)
    return offsets
  }

  /**
   * The records from an offset on, as one batch, which may have some before it.
   *
   * @param maxBytes as `encodeRecordBatch`
   * @throws Unreadable
   */
  batch(of: PartitionOfTopic, offset: number, maxBytes: number): RecordBatch | undefined {
    const key = keyOf(of)
    const { end = 0 } = this.offsets(of) ?? {}
    const recent = this.#recent.get(key)
    if (recent !== undefined && isFor(recent, offset, end, maxBytes)) return recent
    const batch = this.#ahead.take(`${key} ${offset}`, maxBytes) ?? this.#read(of, offset, end, maxBytes)
    // it has what was committed since, and the consumer will ask for what comes after it
    if (batch !== undefined && batch.endOffset > end) this.#offsets.delete(key)
    if (batch !== undefined && batch.endOffset >= end) this.#recent.add(key, batch)
    return batch
  }

  /** Reads what will be asked for next, after the answers of this turn of the event loop. */
  readAhead(of: PartitionOfTopic, offset: number, maxBytes: number): void {
    setImmediate(() => {
      if (this.#log === undefined || !this.#ahead.hasRoom(maxBytes)) return
      try {
        const batch = this.#encode(this.#log, of, offset, offset, maxBytes)
        if (batch !== undefined) this.#ahead.add(`${keyOf(of)} ${batch.firstOffset}`, batch)
      } catch {
        // the request for it reads it again, and answers with the error
      }
    })
  }

  #read(of: PartitionOfTopic, offset: number, end: number, maxBytes: number): RecordBatch | undefined {
    try {
      return this.#encode(this.source, of, offset, end, maxBytes)
    } catch (thrown) {
      const error = this.source.explain(thrown)
      const { topic, partition } = of
      if (error instanceof Unreadable) this.#damaged({ topic: topic.name, partition, ...error.records })
      throw error
    }
  }

  #encode(log: Log, of: PartitionOf, offset: number, end: number, maxBytes: number): RecordBatch | undefined {
    const batch = encodeRecordBatch(log.records(of, offset, end), maxBytes)
    if (batch !== undefined && log.epoch > 0) setEpoch(batch, log.epochAt(of, batch.endOffset - 1))
    return batch
  }
}

/** A topic that no log has. */
const NO_TOPIC = { id: 0 }

const keyOf = ({ topic: { id }, partition }: PartitionOf): string => `${id}-${partition}`

/**
 * Whether a consumer gets a batch that others have read: all of it, of which it skips what precedes its offset, at most as
 * many records as it asks for. From then on it is where the others are.
 *
 * @param end of the partition: a batch that ends before it would keep the consumer from what follows
 */
function isFor(
  { firstOffset, endOffset, bytes }: RecordBatch,
  offset: number,
  end: number,
  maxBytes: number,
) {
  const skipped = offset - firstOffset
  return endOffset >= end && bytes.length <= maxBytes && skipped >= 0 && skipped <= endOffset - offset
}
