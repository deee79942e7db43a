import {
  PRODUCE,
  readProduce,
  readProduceAnswer,
  refusedPartition,
  writeProduce,
  writeProduceAnswer,
} from "./kafka-frames.ts"
import type { Handling, Interceptor } from "./kafka-interceptor.ts"

/**
 * Has a broker answer the batches of some partitions with error codes. Those are not appended; the other batches of the
 * same requests are.
 *
 * @param codeOf the code that a partition gets; 0: none, its batches pass
 */
export function answerWithCodes(
  interceptor: Interceptor,
  codeOf: (topic: string, partition: number) => number,
): void {
  interceptor.handle = ({ apiKey, body }): Handling => {
    if (apiKey !== PRODUCE) return "pass"
    const request = readProduce(body)
    const refused = request.topics.map(({ name, partitions }) => ({
      name,
      partitionResponses: partitions.flatMap(({ index }) => {
        const code = codeOf(name, index)
        return code === 0 ? [] : refusedPartition(index, code)
      }),
    }))
    const topics = request.topics
      .map(({ name, partitions }) => ({
        name,
        partitions: partitions.filter(({ index }) => codeOf(name, index) === 0),
      }))
      .filter(({ partitions }) => partitions.length > 0)
    if (topics.length === 0) {
      return { answer: writeProduceAnswer({ responses: refused, throttleTimeMs: 0, nodeEndpoints: [] }) }
    }
    if (refused.every(({ partitionResponses }) => partitionResponses.length === 0)) return "pass"
    return {
      body: writeProduce({ ...request, topics }),
      change: (bytes) => {
        const answer = readProduceAnswer(bytes)
        const responses = refused.map(({ name, partitionResponses }) => {
          const taken = answer.responses.find((topic) => topic.name === name)?.partitionResponses ?? []
          return { name, partitionResponses: [...partitionResponses, ...taken] }
        })
        return writeProduceAnswer({ ...answer, responses })
      },
    }
  }
}
