import { metadataV12, produceV11, Reader, Writer } from "../../src/brokers/kafka/client-library.ts"
import { responseOf } from "../../src/brokers/kafka/failure.ts"

/**
 * Frames of the Kafka protocol (https://kafka.apache.org/41/design/protocol/) for a test that stands between a client and
 * a broker.
 *
 *     request:  length int32 | apiKey int16 | apiVersion int16 | correlationId int32 | clientId string, none
 *               | tags, in flexible versions | body
 *     response: length int32 | correlationId int32 | tags, in flexible versions | body
 */
export const PRODUCE = 0
export const METADATA = 3

/** From which version on requests and responses have tags in their headers, for the APIs that a test looks into. */
const FLEXIBLE_FROM: { readonly [apiKey: number]: number } = { [PRODUCE]: 9, [METADATA]: 9 }

export interface KafkaRequest {
  readonly apiKey: number
  readonly apiVersion: number
  readonly correlationId: number
  /** The whole of it, its length too. */
  readonly frame: Buffer
  /** What follows the header, of an API that a test looks into; else empty. */
  readonly body: Buffer
}

/** Cuts a stream into frames. */
export class FrameSplitter {
  #chunks: Buffer[] = []
  #bytes = 0

  /** Takes bytes as they come; returns the frames that are whole by now. */
  push(chunk: Buffer): Buffer[] {
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    const frames: Buffer[] = []
    for (;;) {
      if (this.#bytes < 4) return frames
      if (this.#chunks[0]!.length < 4) this.#chunks = [Buffer.concat(this.#chunks)]
      const length = 4 + this.#chunks[0]!.readInt32BE(0)
      if (this.#bytes < length) return frames
      const all = Buffer.concat(this.#chunks)
      frames.push(all.subarray(0, length))
      this.#chunks = [all.subarray(length)]
      this.#bytes -= length
    }
  }
}

export function readRequest(frame: Buffer): KafkaRequest {
  const apiKey = frame.readInt16BE(4)
  const apiVersion = frame.readInt16BE(6)
  const request = { apiKey, apiVersion, correlationId: frame.readInt32BE(8), frame }
  const flexibleFrom = FLEXIBLE_FROM[apiKey]
  if (flexibleFrom === undefined) return { ...request, body: Buffer.alloc(0) }
  if (apiVersion < flexibleFrom) throw new Error(`version ${apiVersion} of API ${apiKey} is not read here`)
  return { ...request, body: frame.subarray(headerBytes(frame)) }
}

/** The request with another body. */
export function withBody({ frame }: KafkaRequest, body: Buffer): Buffer {
  return framed(Buffer.concat([frame.subarray(4, headerBytes(frame)), body]))
}

/** An answer to a request of an API that a test looks into. */
export function answerTo({ correlationId }: KafkaRequest, body: Buffer): Buffer {
  return framed(Writer.create().appendInt32(correlationId).appendTaggedFields().append(body).buffer)
}

/** The body of an answer to such a request. */
export const answerBody = (frame: Buffer): Buffer => frame.subarray(9)

const headerBytes = (frame: Buffer): number => 4 + 8 + 2 + Math.max(0, frame.readInt16BE(12)) + 1

function framed(content: Buffer): Buffer {
  return Writer.create().append(content).prependLength().buffer
}

export type Metadata = ReturnType<typeof metadataV12.parseResponse>
export type ProduceAnswer = ReturnType<typeof produceV11.parseResponse>
type PartitionAnswer = ProduceAnswer["responses"][number]["partitionResponses"][number]

/** The library throws answers with errors in them. */
function orWithErrors<Answer>(parse: () => Answer): Answer {
  try {
    return parse()
  } catch (error) {
    const answer = responseOf<Answer>(error)
    if (answer === undefined) throw error
    return answer
  }
}

/** Reads a metadata answer, version 12. */
export function readMetadata(body: Buffer): Metadata {
  return orWithErrors(() => metadataV12.parseResponse(0, METADATA, 12, Reader.from(body)))
}

export function writeMetadata({
  throttleTimeMs,
  brokers,
  clusterId,
  controllerId,
  topics,
}: Metadata): Buffer {
  return Writer.create()
    .appendInt32(throttleTimeMs)
    .appendArray(brokers, (writer, { nodeId, host, port, rack }) => {
      writer.appendInt32(nodeId).appendString(host).appendInt32(port).appendString(rack)
    })
    .appendString(clusterId)
    .appendInt32(controllerId)
    .appendArray(topics, (writer, topic) => {
      writer
        .appendInt16(topic.errorCode)
        .appendString(topic.name)
        .appendUUID(topic.topicId)
        .appendBoolean(topic.isInternal)
        .appendArray(topic.partitions, (_, partition) => {
          writer
            .appendInt16(partition.errorCode)
            .appendInt32(partition.partitionIndex)
            .appendInt32(partition.leaderId)
            .appendInt32(partition.leaderEpoch)
          for (const ids of [partition.replicaNodes, partition.isrNodes, partition.offlineReplicas])
            writer.appendArray(ids, (_, id) => writer.appendInt32(id), true, false)
        })
        .appendInt32(topic.topicAuthorizedOperations)
    })
    .appendTaggedFields().buffer
}

/** A produce request, version 9 to 12. */
export interface ProduceRequest {
  readonly acks: number
  readonly timeoutMs: number
  readonly topics: readonly {
    readonly name: string
    readonly partitions: readonly { readonly index: number; readonly records: Buffer }[]
  }[]
}

export function readProduce(body: Buffer): ProduceRequest {
  const reader = Reader.from(body)
  reader.readNullableString()
  return {
    acks: reader.readInt16(),
    timeoutMs: reader.readInt32(),
    topics: reader.readArray(() => ({
      name: reader.readString(),
      partitions: reader.readArray(() => ({ index: reader.readInt32(), records: reader.readBytes() })),
    })),
  }
}

export function writeProduce({ acks, timeoutMs, topics }: ProduceRequest): Buffer {
  return Writer.create()
    .appendString(null)
    .appendInt16(acks)
    .appendInt32(timeoutMs)
    .appendArray([...topics], (writer, { name, partitions }) => {
      writer.appendString(name).appendArray([...partitions], (_, { index, records }) => {
        writer.appendInt32(index).appendBytes(records)
      })
    })
    .appendTaggedFields().buffer
}

/** Reads the answer to a produce request, version 9 to 12. */
export function readProduceAnswer(body: Buffer): ProduceAnswer {
  return orWithErrors(() => produceV11.parseResponse(0, PRODUCE, 11, Reader.from(body)))
}

/** An answer without the addresses of leaders. */
export function writeProduceAnswer({ responses, throttleTimeMs }: ProduceAnswer): Buffer {
  return Writer.create()
    .appendArray(responses, (writer, { name, partitionResponses }) => {
      writer.appendString(name).appendArray(partitionResponses, (_, partition) => {
        writer
          .appendInt32(partition.index)
          .appendInt16(partition.errorCode)
          .appendInt64(partition.baseOffset)
          .appendInt64(partition.logAppendTimeMs)
          .appendInt64(partition.logStartOffset)
          .appendArray(partition.recordErrors, (_, { batchIndex, batchIndexErrorMessage }) => {
            writer.appendInt32(batchIndex).appendString(batchIndexErrorMessage)
          })
          .appendString(partition.errorMessage)
      })
    })
    .appendInt32(throttleTimeMs)
    .appendTaggedFields().buffer
}

/** What a broker says of a partition's batch that it did not take. */
export function refusedPartition(index: number, errorCode: number): PartitionAnswer {
  return {
    index,
    errorCode,
    baseOffset: -1n,
    logAppendTimeMs: -1n,
    logStartOffset: -1n,
    recordErrors: [],
    errorMessage: null,
    currentLeader: { leaderId: -1, leaderEpoch: -1 },
  }
}
