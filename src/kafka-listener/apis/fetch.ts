// Hot path: every record that a consumer reads.
import { steadyMs } from "../../clock/clock.ts"
import type { CommitWait } from "../commits.ts"
import type { LogView, PartitionOfTopic } from "../log-view.ts"
import type { ClientTopic } from "../topics.ts"
import { ERROR } from "../../kafka-protocol/error-codes.ts"
import type { RequestOf, ResponseOf } from "../../kafka-protocol/fields.ts"
import { Fetch } from "../../kafka-protocol/messages.ts"
import { checkEpoch, served } from "./context.ts"

/** The largest answer, but for a larger record, which comes alone. */
const MAX_ANSWER_BYTES = 1024 * 1024
/** A client that waits longer asks again. */
const MAX_WAIT_MS = 60_000

type Request = RequestOf<typeof Fetch>
type AskedTopic = Request["topics"][number]
type FetchedTopic = NonNullable<ResponseOf<typeof Fetch>["responses"]>[number]
type Fetched = NonNullable<FetchedTopic["partitions"]>[number]

/**
 * Answers with what there is from the asked offsets on; while that is less than `minBytes`, waits for commits. There are no
 * fetch sessions: id 0 tells clients to name their partitions each time.
 */
export const fetch = served(Fetch, async (request, { log, commits, version, signal }) => {
  if (request.sessionId !== 0) return { errorCode: ERROR.FETCH_SESSION_ID_NOT_FOUND }
  const untilMs = steadyMs() + Math.min(request.maxWaitMs, MAX_WAIT_MS)
  const minBytes = Math.min(request.minBytes, MAX_ANSWER_BYTES)
  let wait: CommitWait | undefined
  for (;;) {
    while (log.whenOpen() !== undefined) await log.whenOpen()
    const { topics } = request
    const turn = turns++
    const maxBytes = Math.min(request.maxBytes, MAX_ANSWER_BYTES)
    const reading = new Reading(log, version, maxBytes, Math.floor(turn / topics.length))
    const responses = log.source.atOnce(() => rotated(topics, turn).map((topic) => reading.topic(topic)))
    if (reading.bytes >= minBytes || reading.hasFailed || steadyMs() >= untilMs || signal.aborted) {
      wait?.cancel()
      reading.readAhead()
      return { responses }
    }
    if (wait === undefined) wait = commits.wait(reading.names, untilMs)
    else {
      await wait.ended
      wait = undefined
    }
  }
})

/** One pass over the partitions of a request. */
class Reading {
  readonly #log: LogView
  readonly #version: number
  readonly #turn: number
  #bytesLeft: number
  /** Partitions that were asked for. */
  #asked = 0
  /** The last batch that has records after it. */
  #next: { readonly of: PartitionOfTopic; readonly offset: number; readonly maxBytes: number } | undefined
  bytes = 0
  hasFailed = false
  readonly names = new Set<string>()

  /** @param turn which partition of a topic comes first */
  constructor(log: LogView, version: number, maxBytes: number, turn: number) {
    this.#log = log
    this.#version = version
    this.#turn = turn
    this.#bytesLeft = maxBytes
  }

  topic({ topic: name, topicId, partitions }: AskedTopic): FetchedTopic {
    const isById = this.#version >= 13
    const topic = isById ? this.#log.topicById(topicId) : this.#log.topic(name)
    if (topic !== undefined) this.names.add(topic.name)
    const unknown = isById ? ERROR.UNKNOWN_TOPIC_ID : ERROR.UNKNOWN_TOPIC_OR_PARTITION
    return {
      topic: name,
      topicId,
      partitions: rotated(partitions, this.#turn).map((asked) => {
        this.#asked++
        if (topic === undefined) return this.#failed(asked.partition, unknown)
        const errorCode = checkEpoch(asked.currentLeaderEpoch, this.#log.source)
        if (errorCode !== ERROR.NONE) return this.#failed(asked.partition, errorCode)
        try {
          return this.#partition(topic, asked)
        } catch (error) {
          const code = this.#log.codeOf(error)
          if (code === undefined) throw error
          return this.#failed(asked.partition, code)
        }
      }),
    }
  }

  /** Has the next batch read, unless another partition will come first the next time. */
  readAhead(): void {
    if (this.#asked === 1 && this.#next !== undefined)
      this.#log.readAhead(this.#next.of, this.#next.offset, this.#next.maxBytes)
  }

  #partition(topic: ClientTopic, asked: AskedTopic["partitions"][number]): Fetched {
    const { partition, fetchOffset, partitionMaxBytes } = asked
    const of = { topic, partition }
    const maxBytes = Math.min(partitionMaxBytes, this.#bytesLeft)
    const offsets = this.#log.offsets(of)
    if (offsets === undefined) return this.#failed(partition, ERROR.UNKNOWN_TOPIC_OR_PARTITION)
    const { first, end } = offsets
    if (fetchOffset < first || fetchOffset > end)
      return {
        ...this.#failed(partition, ERROR.OFFSET_OUT_OF_RANGE),
        highWatermark: -1,
        logStartOffset: first,
      }
    let batch =
      fetchOffset < end && (this.bytes === 0 || this.#bytesLeft > 0)
        ? this.#log.batch(of, fetchOffset, maxBytes)
        : undefined
    // the first record of an answer is in it however large, others if they fit
    if (batch !== undefined && this.bytes > 0 && batch.bytes.length > this.#bytesLeft) batch = undefined
    if (batch !== undefined && batch.endOffset < end) this.#next = { of, offset: batch.endOffset, maxBytes }
    const bytes = batch?.bytes.length ?? 0
    this.bytes += bytes
    this.#bytesLeft -= bytes
    const highWatermark = Math.max(end, batch?.endOffset ?? 0)
    return {
      partitionIndex: partition,
      highWatermark,
      lastStableOffset: highWatermark,
      logStartOffset: first,
      records: batch?.bytes ?? NOTHING,
    }
  }

  #failed(partitionIndex: number, errorCode: number): Fetched {
    this.hasFailed = true
    return { partitionIndex, errorCode, highWatermark: -1, records: NOTHING }
  }
}

const NOTHING = new Uint8Array(0)

let turns = 0

/** From another one each time: a topic or partition with much to read would keep the others from being read. */
function rotated<T>(all: readonly T[], turn: number): readonly T[] {
  if (all.length < 2) return all
  const from = turn % all.length
  return [...all.slice(from), ...all.slice(0, from)]
}
